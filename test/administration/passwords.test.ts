/**
 * Passwords: what they cost, what new ones look like, and those that were hashed with other parameters than
 * today's.
 */
import { argon2Sync, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { newPassword } from '../../sidecar/authority/password.ts'
import { PASSWORD_COST as REAL_COST } from '../../sidecar/authority/password-cost.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { PASSWORD_COST } from '../support/suite/cheap-password-cost.ts'

test('a hash costs what OWASP recommends for argon2id', () => {
  expect(REAL_COST).toEqual({ memory: 19_456, passes: 2, parallelism: 1 })
})

const running = await runSidecar()
const secrets = await populate(running)
const password = secrets.passwordOf('account')

/** Runs one statement about the user `account`, as another process would. */
function stored(sql: string, ...values: string[]): Record<string, unknown>[] {
  const database = new DatabaseSync(join(running.folder, 'directory.sqlite'))
  try {
    return database.prepare(sql).all(...values)
  } finally {
    database.close()
  }
}

const hashes = () =>
  stored("SELECT password_hash FROM users WHERE name = 'account'").map((row) => String(row.password_hash))

/** As an earlier version may have stored it. */
function weakHash(message: string): string {
  const nonce = randomBytes(16)
  const tag = argon2Sync('argon2id', { message, nonce, memory: 64, passes: 1, parallelism: 1, tagLength: 32 })
  const unpadded = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
  return `$argon2id$v=19$m=64,t=1,p=1$${unpadded(nonce)}$${unpadded(tag)}`
}

const rehashed = async () => {
  const records = await running.sidecar.administration.records.audit(ACCOUNT, { after: '', size: 1000 })
  return records.filter(({ action }) => action === 'service_user.rehash_password')
}

test('a login with the right password stores it under parameters of today; tokens stand as before', async () => {
  const before = await issued(running, secrets)
  stored("UPDATE users SET password_hash = ? WHERE name = 'account'", weakHash(password))
  const wrong = { userName: 'account', account: ACCOUNT, password: 'wrong' }
  await expect(running.client.issue({ password: wrong, scope: { account: ACCOUNT } })).rejects.toMatchObject({
    reason: 'LOGIN_FAILED',
  })
  expect(hashes()).toEqual([expect.stringMatching(/^\$argon2id\$v=19\$m=64,/)])

  await issued(running, secrets)
  const [hash] = hashes()
  const { memory, passes, parallelism } = PASSWORD_COST
  expect(hash?.startsWith(`$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`)).toBe(true)
  expect(await rehashed()).toMatchObject([{ subject: 'account', account: ACCOUNT, details: {} }])

  // Once.
  await issued(running, secrets)
  expect(hashes()).toEqual([hash])
  expect(await rehashed()).toHaveLength(1)
  const check = { api: 'iam', credentials: [['X-Auth-Token', before.value]] } as const
  expect((await running.client.check(check)).reason).toBe('ALLOWED')
})

test('a password that is replaced meanwhile stays replaced', async () => {
  stored("UPDATE users SET password_hash = ? WHERE name = 'account'", weakHash(password))
  // Whichever comes first: the old password is never stored again.
  const [, { password: value }] = await Promise.all([
    Promise.allSettled(Array.from({ length: 8 }, () => issued(running, secrets))),
    running.sidecar.run(TESTER, 'replaceServiceUserPassword', { account: ACCOUNT, name: 'account' }),
  ])
  await expect(issued(running, secrets)).rejects.toMatchObject({ reason: 'LOGIN_FAILED' })
  const login = { userName: 'account', account: ACCOUNT, password: value.reveal() }
  await running.client.issue({ password: login, scope: { account: ACCOUNT } })
})

test('a new one is not an option of a command, and has no character that a shell or a URL would change', () => {
  for (let times = 0; times < 2_000; times++) expect(newPassword()).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{23}$/)
})
