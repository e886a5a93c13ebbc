/** Two processes on one data folder: a change by one takes effect at the next check of the other (§8). */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OpenedAuthority } from '../../sidecar/authority/open-authority.ts'
import { run } from '../../sidecar/usecases/administration/run.ts'
import { type Host, startHost } from '../support/directory/host.ts'
import { ask, DENYING, issueTo, newScene, openAuthority } from '../support/directory/scene.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { newFolder } from '../support/suite/resources.ts'

const data = join(newFolder(), 'data')
let here: OpenedAuthority
let there: Host
beforeAll(async () => {
  ;[here, there] = await Promise.all([openAuthority(data), startHost(data)])
})
afterAll(async () => {
  await there?.stop()
  await here?.close()
})

test.each(DENYING)(
  '%s in one process: the next check in the other denies',
  async (_change, sort, reason, apply) => {
    const scene = await newScene(here)
    expect(await ask(there, sort, scene.tokens[sort])).toBe('ALLOWED')
    await apply(here, scene)
    expect(await ask(there, sort, scene.tokens[sort])).toBe(reason)
  },
)

test('thirty new passwords in a row: each one revokes the tokens of the previous one immediately', async () => {
  const { account, password } = await newScene(here)
  let current = password
  for (let round = 0; round < 30; round++) {
    const token = await issueTo(here, account, current)
    expect(await ask(there, 'account', token)).toBe('ALLOWED')
    const { password: value } = await run(here.administration, TESTER, 'replaceServiceUserPassword', {
      account,
      name: 'robot',
    })
    expect(await ask(there, 'account', token)).toBe('CREDENTIAL_REVOKED')
    current = value.reveal()
  }
})

test('a process that checks without a pause notices a change just as soon', async () => {
  const { account, password, tokens } = await newScene(here)
  let asking = true
  // That process always has a recently read version, so using it for too long would be noticed.
  const lanes = Array.from({ length: 4 }, async () => {
    while (asking) await ask(there, 'static', tokens.static)
  })
  try {
    let current = password
    for (let round = 0; round < 30; round++) {
      const token = await issueTo(here, account, current)
      expect(await ask(there, 'account', token)).toBe('ALLOWED')
      const { password: value } = await run(here.administration, TESTER, 'replaceServiceUserPassword', {
        account,
        name: 'robot',
      })
      current = value.reveal()
      expect(await ask(there, 'account', token)).toBe('CREDENTIAL_REVOKED')
    }
  } finally {
    asking = false
    await Promise.all(lanes)
  }
})

test('a token that the sidecar revokes is revoked immediately for the other process', async () => {
  const { tokens } = await newScene(here)
  await there.client.revoke({ value: tokens.account })
  const verification = await here.authority.verify(tokens.account, new Map())
  expect(verification).toMatchObject({ ok: false, reason: 'CREDENTIAL_REVOKED' })
})
