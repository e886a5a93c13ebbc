/**
 * Logins over HTTP that cost more to read than to send, and many at once: only their sender waits for them.
 */
import { expect, test } from 'vitest'
import { attackedSidecar, bareServer, posting, report, under } from '../support/attack/attack-scene.ts'
import { GOALS, isTooLong } from '../support/attack/goals.ts'
import type { Bodies } from '../support/attack/poster.ts'
import { scenario } from '../support/attack/scenario.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'

type Contents = Extract<Bodies, { of: string }>['of']

/** Rounds of the comparison with a bare server. The medians count. */
const ROUNDS = 5
const ROUND_MS = 1_500

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

const bare = await bareServer()

test.each([1, 4, 16])(
  '%i connections that are refused with 1.9 MB each cost a neighbour little more than beside a bare server',
  async (inFlight) => {
    const bodies = { inFlight, refusedBytes: 1_900_000 }
    const p99s: { bare: number[]; sidecar: number[] } = { bare: [], sidecar: [] }
    await scene.neighbour(ROUND_MS)
    for (let round = 0; round < ROUNDS; round++)
      for (const [attacked, address] of Object.entries({ bare, sidecar: scene.served.ready.http }) as [
        keyof typeof p99s,
        string,
      ][]) {
        const { result } = await under(scene, posting(bodies, address), () => scene.neighbour(ROUND_MS))
        expect(result.failures).toEqual([])
        p99s[attacked].push(result.p99)
      }
    const medians = { bare: median(p99s.bare), sidecar: median(p99s.sidecar) }
    const times = medians.sidecar / medians.bare
    report(`${inFlight} connections refused with 1.9 MB`, { ...medians, times })
    expect(isTooLong(medians.sidecar, medians.bare, GOALS.checkP99RatioMax)).toBe(false)
  },
)

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
