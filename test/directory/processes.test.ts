/** Two processes on one data folder: what one changes, the other's very next check knows (§8). */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OpenedAuthority } from '../../sidecar/authority/open.ts'
import { TESTER } from '../support/actor.ts'
import { type Host, startHost } from '../support/directory/host.ts'
import { ask, DENYING, issueTo, newFolder, newScene, openAuthority } from '../support/directory/scene.ts'

const folder = newFolder()
const data = join(folder.path, 'data')
let here: OpenedAuthority
let there: Host
beforeAll(async () => {
  ;[here, there] = await Promise.all([openAuthority(data), startHost(data)])
})
afterAll(async () => {
  await there?.stop()
  await here?.close()
  folder.remove()
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

test('thirty passwords one after the other: each ends the tokens of the one before, at once', async () => {
  const { account, password } = await newScene(here)
  let current = password
  for (let round = 0; round < 30; round++) {
    const token = await issueTo(here, account, current)
    expect(await ask(there, 'account', token)).toBe('ALLOWED')
    const { value } = await here.administration.users.replacePassword(TESTER, account, 'robot')
    expect(await ask(there, 'account', token)).toBe('CREDENTIAL_REVOKED')
    current = value.reveal()
  }
})

test('a process that is asked without a pause knows as soon', async () => {
  const { account, password, tokens } = await newScene(here)
  let asking = true
  // What was read a moment ago is always at hand there, so that relying on it too long would show.
  const lanes = Array.from({ length: 4 }, async () => {
    while (asking) await ask(there, 'static', tokens.static)
  })
  try {
    let current = password
    for (let round = 0; round < 30; round++) {
      const token = await issueTo(here, account, current)
      expect(await ask(there, 'account', token)).toBe('ALLOWED')
      const { value } = await here.administration.users.replacePassword(TESTER, account, 'robot')
      current = value.reveal()
      expect(await ask(there, 'account', token)).toBe('CREDENTIAL_REVOKED')
    }
  } finally {
    asking = false
    await Promise.all(lanes)
  }
})

test('what the sidecar revokes, the other process knows at once', async () => {
  const { tokens } = await newScene(here)
  await there.client.revoke({ value: tokens.account })
  const verification = await here.authority.verify(tokens.account, new Map())
  expect(verification).toMatchObject({ ok: false, reason: 'CREDENTIAL_REVOKED' })
})
