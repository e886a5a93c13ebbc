/**
 * `Issue` by profile: which caller may use which credential of the configuration (the problem of the confused
 * deputy).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox, type Message, type Refusal, refusal, refused } from '../support/contract/black-box.ts'
import { ACCOUNT, PEOPLE, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const BILLING_TOKEN = 'billing-caller-token-0123456789abcdef'
const NOBODY_TOKEN = 'nobody-caller-token-0123456789abcdef'
const folder = join(newFolder(), 'data')
// The configuration names files with secrets, which exist only after the users were created.
const secrets = await populate(await runSidecar({ folder }), PEOPLE)
const running = await runSidecar({
  folder,
  config: newFile(
    JSON.stringify({
      profiles: {
        billing: {
          account: ACCOUNT,
          user_name: 'account',
          password_file: newFile(`${secrets.passwordOf('account')}\nsecond line\n`),
          static_token_file: newFile(`${secrets.staticToken}\r\n`),
        },
        'other-job': {
          account: ACCOUNT,
          user_name: 'alpha',
          password_file: newFile(secrets.passwordOf('alpha')),
        },
        stale: { account: ACCOUNT, user_name: 'account', password_file: newFile('an earlier password') },
      },
      callers: [
        { name: 'billing-service', token_file: newFile(BILLING_TOKEN), profiles: ['billing', 'stale'] },
        { name: 'nobody', token_file: newFile(NOBODY_TOKEN) },
      ],
    }),
    'portcullis.json',
  ),
})
const box = new BlackBox(running.address)
const administratorToken = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()

const own = { scope: { account: ACCOUNT } }
const byProfile = (profile: string, purpose: Message, callerToken?: string) =>
  box.ask('issue', { profile, ...purpose }, callerToken === undefined ? {} : { callerToken })

describe('a caller that is bound to the profile', () => {
  test('gets a token of its user', async () => {
    const token = await byProfile('billing', { apis: { apis: ['cdn'], project: 'beta' } }, BILLING_TOKEN)
    expect(token).toMatchObject({ kind: 'iam_token_project_scoped', header: 'X-Auth-Token' })
    const question = credentialQuestion('cdn', token.header as string, token.value as string)
    expect(await box.ask('check', question)).toMatchObject({
      allowed: true,
      token: { subject: { name: 'account' } },
    })
  })

  test('gets the static token of the profile for APIs that only accept static tokens (§4.2)', async () => {
    const token = await byProfile('billing', { apis: { apis: ['reports', 'tickets'] } }, BILLING_TOKEN)
    expect(token).toMatchObject({
      header: 'X-Token',
      value: secrets.staticToken,
      kind: 'static_token',
      scope: { account: ACCOUNT, project: '' },
      expires_at: null,
    })
    expect(
      await box.ask('check', credentialQuestion('tickets', 'X-Token', token.value as string)),
    ).toMatchObject({ allowed: true })
  })
})

test('the operator of the data folder may use every profile', async () => {
  const alpha = { scope: { account: ACCOUNT, project: 'alpha' } }
  expect(await byProfile('other-job', alpha, administratorToken)).toMatchObject({
    kind: 'iam_token_project_scoped',
  })
})

const NO_TOKEN = refusal(
  'UNAUTHENTICATED',
  'CALLER_TOKEN_MISSING',
  'issuing by profile needs a caller token: `authorization: Bearer …`',
)
const WRONG_TOKEN = refusal(
  'UNAUTHENTICATED',
  'CALLER_TOKEN_INVALID',
  'the caller token is unknown, expired or withdrawn; expected one `authorization: Bearer …`',
)
const notBound = (caller: string) =>
  refusal('PERMISSION_DENIED', 'PROFILE_NOT_ALLOWED', `caller \`${caller}\` may not use that profile`)

test.each<[claim: string, profile: string, callerToken: string | undefined, Refusal]>([
  ['no caller token', 'billing', undefined, NO_TOKEN],
  ['no caller token, for a profile that does not exist', 'nothing', undefined, NO_TOKEN],
  ['an unknown caller token', 'billing', `${BILLING_TOKEN}x`, WRONG_TOKEN],
  ['a caller that is bound to no profile', 'billing', NOBODY_TOKEN, notBound('nobody')],
  ['a caller that is bound to other profiles', 'other-job', BILLING_TOKEN, notBound('billing-service')],
  // The same answer, so that it does not reveal which profiles exist.
  ['a profile that does not exist', 'nothing', BILLING_TOKEN, notBound('billing-service')],
  [
    'a profile whose password was replaced meanwhile',
    'stale',
    BILLING_TOKEN,
    refusal('UNAUTHENTICATED', 'LOGIN_FAILED', 'the name of the user or the password is wrong'),
  ],
])('%s is refused', async (_claim, profile, callerToken, expected) => {
  expect(await refused(byProfile(profile, own, callerToken))).toEqual(expected)
})

test('guessing the password of a profile’s user does not throttle the profile', async () => {
  const guessed = await runSidecar({
    folder,
    flags: { 'login_throttle.failures': 2, 'login_throttle.pause_ms': 3_600_000 },
    config: newFile(
      JSON.stringify({
        profiles: {
          job: {
            account: ACCOUNT,
            user_name: 'account',
            password_file: newFile(secrets.passwordOf('account')),
          },
        },
      }),
      'portcullis.json',
    ),
  })
  const there = new BlackBox(guessed.address)
  const guess = { user_name: 'account', account: ACCOUNT, password: 'wrong' }
  for (const reason of ['LOGIN_FAILED', 'LOGIN_FAILED', 'LOGIN_THROTTLED'])
    expect(await refused(there.ask('issue', { password: guess, ...own }))).toMatchObject({ reason })
  const token = await there.ask('issue', { profile: 'job', ...own }, { callerToken: administratorToken })
  expect(token).toMatchObject({ kind: 'iam_token_account_scoped' })
})

test('a caller token is not needed for a question, and one that is presented must be valid', async () => {
  const question = credentialQuestion('tickets', 'X-Token', secrets.staticToken)
  expect(await box.ask('check', question)).toMatchObject({ allowed: true })
  expect(await refused(box.ask('check', question, { callerToken: 'wrong' }))).toMatchObject({
    code: 'UNAUTHENTICATED',
    reason: 'CALLER_TOKEN_INVALID',
  })
})
