/**
 * Names and passwords are compared byte for byte: no folding, no truncation, and no character confuses a
 * store.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Passwords } from '../../sidecar/authority/password.ts'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { ACCOUNT, loginBody, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'

const sidecar = await startIdentity()
const { ask, passwordOf } = sidecar

const logIn = async (body: object) => (await ask({ method: 'POST', path: TOKENS, body })).status
const store = new DirectoryStore(openSqlite(join(sidecar.running.folder, 'directory.sqlite')), Date.now)
whenTheFileEnds(() => store.close())

/** Sets a chosen password, as an import could. Normally Portcullis makes all passwords. */
async function setPassword(password: string): Promise<void> {
  const hash = await new Passwords({ concurrent: 1, waiting: 1, rememberMs: 0 }).hash(password, 'test')
  const user = await sidecar.running.sidecar.run(TESTER, 'getServiceUser', {
    account: ACCOUNT,
    name: 'account',
  })
  await store.change('test', (change) => change.setPassword(user, hash))
}

const PREFIX = 'p'.repeat(72)

test.each<[claim: string, password: string, others: string[]]>([
  ['that is longer than 72 bytes', `${PREFIX}one`, [PREFIX, `${PREFIX}two`, `${PREFIX}one\0`, `${PREFIX}on`]],
  [
    'whose 72 bytes end within a character',
    `${PREFIX.slice(1)}é-one`,
    [`${PREFIX.slice(1)}é-two`, `${PREFIX.slice(1)}Ã`],
  ],
  ['that contains a NUL', 'before\0after', ['before', 'before\0', 'before\0other', 'beforeafter']],
  ['of four-byte characters', '🔑🔒', ['🔑', '🔒🔑', '\ud83d\udd11', '🔑🔒 ']],
  ['with two forms in Unicode', 'caf\u00e9', ['cafe\u0301', 'cafe', 'CAF\u00c9']],
  ['of control characters', '\u0001\u001b[2J\r\n', ['', '\u0001', '\u0001\u001b[2J\n']],
  ['of a thousand characters', 'x'.repeat(1000), ['x'.repeat(999), 'x'.repeat(1001), 'x'.repeat(72)]],
  ['that is a space', ' ', ['', '  ', '\u00a0']],
])('a password %s differs from similar passwords', async (_claim, password, others) => {
  await setPassword(password)
  expect(await logIn(loginBody({ password }))).toBe(201)
  for (const other of others)
    expect(await logIn(loginBody({ password: other })), JSON.stringify(other)).toBe(401)
})

test('a user whose name has several alphabets and four-byte characters can log in, and the name is returned unchanged', async () => {
  const user = 'колобок 🥐'
  const body = loginBody({ user, password: passwordOf(user) })
  const { status, json } = await ask({ method: 'POST', path: TOKENS, body })
  expect(status).toBe(201)
  expect(json.token.user.name).toBe(user)
  for (const other of ['КОЛОБОК 🥐', 'колобок', 'колобок 🥐\0', 'колобок\u00a0🥐'])
    expect(await logIn(loginBody({ user: other, password: passwordOf(user) })), JSON.stringify(other)).toBe(
      401,
    )
})

test('half a surrogate pair is not equal to the character that stores replace it with', async () => {
  const password = passwordOf('half \ufffd')
  expect(await logIn(loginBody({ user: 'half \ufffd', password }))).toBe(201)
  expect(await logIn(loginBody({ user: 'half \ud800', password }))).toBe(400)
})
