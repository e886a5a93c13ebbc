/**
 * Logins over HTTP that cost more to read than to send, and many at once: only their sender waits for them.
 */
import { expect, test } from 'vitest'
import type { Bodies } from '../support/attack/poster.ts'
import { scenario } from '../support/attack/scenario.ts'
import { attackedSidecar, posting } from '../support/attack/scene.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'

type Contents = Extract<Bodies, { of: string }>['of']

const scene = await attackedSidecar({ http: { connect: true } })

test.each<[name: string, of: Contents]>([
  ['40 logins of 114 kB in flight, with one key again and again', 'one key again and again'],
  ['40 logins of 114 kB in flight, whose last key repeats', 'keys of which the last one repeats'],
  ['40 logins of 114 kB in flight, with numbers alone', 'numbers'],
])('%s are refused, and do not block others', async (name, of) => {
  const { outcome } = await scenario(scene, name, posting({ inFlight: 40, of }))
  expect(Object.keys(outcome)).toEqual(['400'])
})

test('1,000 logins at once on one connection do not block others', async () => {
  const user = { name: 'account', domain: { name: ACCOUNT }, password: scene.secrets.passwordOf('account') }
  const identity = { methods: ['password'], password: { user } }
  const body = JSON.stringify({ auth: { identity, scope: { domain: { name: ACCOUNT } } } })
  await scenario(scene, '1,000 logins at once on one connection', posting({ pipelined: 1_000, body }))
})

test.each(['plain', 'gzip'] as const)(
  '16 connections with batches of 2.5 MB in JSON, %s, do not block others',
  async (batches) => {
    const name = `16 connections with batches of 2.5 MB in JSON, ${batches}`
    const { outcome } = await scenario(scene, name, posting({ inFlight: 16, batches }))
    expect(Object.keys(outcome)).toEqual(['200'])
  },
)
