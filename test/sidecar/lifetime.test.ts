/** The lifetime of tokens (§8), and how long answers may be reused. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Reason } from '../../engine/index.ts'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'

const LIFETIME_MS = 86_400_000
/** A whole second, because tokens have times in seconds. */
const clock = { nowMs: Math.floor(Date.now() / 1000) * 1000 }
const running = await runSidecar({ now: () => clock.nowMs })
const box = new BlackBox(running.address)
const secrets = await populate(running)
const account = (await issued(running, secrets)).value
const { staticToken } = secrets
const revoked = (await issued(running, secrets)).value
await running.client.revoke({ value: revoked })
const operator = running.connect({
  callerToken: readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim(),
})

/** Sets the clock for one action, and sets it back. */
async function at<T>(nowMs: number, action: () => Promise<T>): Promise<T> {
  const before = clock.nowMs
  clock.nowMs = nowMs
  try {
    return await action()
  } finally {
    clock.nowMs = before
  }
}

const allowed = { allowed: true, reason: 'REASON_ALLOWED' }
const denied = (reason: Reason) => ({ allowed: false, reason: `REASON_${reason}` })

test.each([
  // §8: an IAM token is valid for 24 hours.
  { when: 'in its last millisecond', offsetMs: LIFETIME_MS - 1, expected: allowed },
  { when: 'after 24 hours', offsetMs: LIFETIME_MS, expected: denied('CREDENTIAL_EXPIRED') },
  { when: 'after a year', offsetMs: 365 * LIFETIME_MS, expected: denied('CREDENTIAL_EXPIRED') },
  // The clocks of hosts differ a little. A token from further in the future is not genuine.
  { when: 'a minute before it was issued', offsetMs: -60_000, expected: allowed },
  {
    when: 'more than a minute before it was issued',
    offsetMs: -60_001,
    expected: denied('CREDENTIAL_INVALID'),
  },
])('an IAM token $when', async ({ offsetMs, expected }) => {
  const question = credentialQuestion('balance', 'X-Auth-Token', account)
  const answer = await at(clock.nowMs + offsetMs, () => box.ask('check', question))
  expect(answer).toMatchObject(expected)
})

test.each([
  { what: 'an expired token that was revoked', value: revoked, expected: denied('CREDENTIAL_EXPIRED') },
  { what: 'a static token, which never expires', value: staticToken, expected: allowed },
])('after 24 hours: $what', async ({ value, expected }) => {
  const header = value === staticToken ? 'X-Token' : 'X-Auth-Token'
  const question = credentialQuestion('balance', header, value)
  expect(await at(clock.nowMs + LIFETIME_MS, () => box.ask('check', question))).toMatchObject(expected)
})

test('an answer may not be reused after the expiry of the token', async () => {
  const question = credentialQuestion('balance', 'X-Auth-Token', account)
  const answer = await at(clock.nowMs + LIFETIME_MS - 1_500, () => box.ask('check', question))
  expect(answer).toMatchObject({ allowed: true, cache_for: { seconds: 1, nanos: 500_000_000 } })
})

test('a denial because of the credential itself may not be reused', async () => {
  const question = credentialQuestion('balance', 'X-Auth-Token', revoked)
  expect(await box.ask('check', question)).toMatchObject({ allowed: false, cache_for: null })
})

test('an IAM token is issued for exactly 24 hours', async () => {
  const { issuedAt, expiresAt } = await running.client.issue({
    password: { userName: 'account', account: ACCOUNT, password: secrets.passwordOf('account') },
    scope: { account: ACCOUNT },
  })
  expect(issuedAt).toEqual(new Date(clock.nowMs))
  expect(expiresAt).toEqual(new Date(clock.nowMs + LIFETIME_MS))
})

test('a revocation is kept when the clock jumps ahead and back', async () => {
  // A wrong time from the network must not make a revoked token active again.
  const { value } = await issued(running, secrets)
  await running.client.revoke({ value })
  await at(clock.nowMs + 2 * LIFETIME_MS, () => operator.revoke({ value: staticToken }))
  const question = credentialQuestion('balance', 'X-Auth-Token', value)
  expect(await box.ask('check', question)).toMatchObject(denied('CREDENTIAL_REVOKED'))
})
