/**
 * `Revoke` over the wire: its answer, each status of a refusal, and that it takes effect immediately in every
 * process on the data folder. `test/usecases/revoke.test.ts` says who may revoke what.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { credentialQuestion } from '../support/contract/answers.ts'
import {
  BlackBox,
  invalid,
  type Message,
  type Refusal,
  refusal,
  refused,
} from '../support/contract/black-box.ts'
import { serve } from '../support/processes/processes.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const JOB_TOKEN = 'job-caller-token-0123456789abcdef'
const CLERK_TOKEN = 'clerk-caller-token-0123456789abcdef'
const clock = { nowMs: Math.floor(Date.now() / 1000) * 1000 }
const folder = join(newFolder(), 'data')
const running = await runSidecar({
  folder,
  now: () => clock.nowMs,
  config: newFile(
    `callers:
  - { name: job, token_file: ${newFile(JOB_TOKEN)} }
  - { name: clerk, token_file: ${newFile(CLERK_TOKEN)}, rights: [revoke] }
`,
    'portcullis.yaml',
  ),
})
const box = new BlackBox(running.address)
const secrets = await populate(running)
const administratorToken = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()

const revoke = (request: Message, callerToken?: string) =>
  box.ask('revoke', request, callerToken === undefined ? {} : { callerToken })
const check = (value: string, asked = box) =>
  asked.ask(
    'check',
    credentialQuestion('balance', value.startsWith('eyJ') ? 'X-Auth-Token' : 'X-Token', value),
  )
const timestamp = (ms: number) => ({ seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 })
const ALLOWED = { allowed: true, reason: 'REASON_ALLOWED' }
const REVOKED = { allowed: false, reason: 'REASON_CREDENTIAL_REVOKED' }

describe('by its value', () => {
  test('an IAM token revokes itself, and the next check denies', async () => {
    const { value, tokenId } = await issued(running, secrets)
    expect(await check(value)).toMatchObject(ALLOWED)
    expect(await revoke({ value })).toEqual({
      token_id: tokenId,
      revoked_at: timestamp(clock.nowMs),
    })
    expect(await check(value)).toMatchObject({ ...REVOKED, token: { token_id: tokenId } })
  })

  test('a second revocation is not an error, and the time of the first one is kept', async () => {
    const { value, tokenId } = await issued(running, secrets)
    const first = await revoke({ value })
    clock.nowMs += 1_500
    expect(await revoke({ value })).toEqual(first)
    expect(await revoke({ token_id: tokenId }, administratorToken)).toEqual(first)
  })

  test('an expired token can still be revoked', async () => {
    const { value, tokenId } = await issued(running, secrets)
    clock.nowMs += 86_400_000
    expect(await revoke({ value })).toMatchObject({ token_id: tokenId })
    clock.nowMs -= 86_400_000
    expect(await check(value)).toMatchObject(REVOKED)
  })
})

test('by its id an operator may revoke a token, from the configuration or from the data folder', async () => {
  for (const callerToken of [CLERK_TOKEN, administratorToken]) {
    const { value, tokenId } = await issued(running, secrets)
    expect(await revoke({ token_id: tokenId }, callerToken)).toMatchObject({ token_id: tokenId })
    expect(await check(value)).toMatchObject(REVOKED)
  }
})

const NOT_FOUND = refusal(
  'NOT_FOUND',
  'CREDENTIAL_INVALID',
  'the token is unknown or not genuine, so there is nothing to revoke',
)
const NOT_ALONE = invalid([
  'value',
  'expected a token alone, without a scheme: visible ASCII characters and no white space',
])
const genuine = await issued(running, secrets)

test.each<[claim: string, request: Message, callerToken: string | undefined, Refusal]>([
  ['a word', { value: 'gibberish' }, undefined, NOT_FOUND],
  ['an IAM token behind a scheme', { value: `Bearer ${genuine.value}` }, undefined, NOT_ALONE],
  [
    'a static token with a wrong end, from an unknown requester',
    { value: `${secrets.staticToken.slice(0, -6)}000000` },
    undefined,
    refusal(
      'UNAUTHENTICATED',
      'REQUESTER_NOT_AUTHENTICATED',
      'expected a caller token (`authorization: Bearer …`), or an IAM token of the holder or of an administrator of the account (`x-auth-token`)',
    ),
  ],
  [
    'a token id by a caller without the right',
    { token_id: genuine.tokenId },
    JOB_TOKEN,
    refusal(
      'PERMISSION_DENIED',
      'CALLER_RIGHT_MISSING',
      'caller `job` may not revoke by token id: it needs the right `revoke`',
    ),
  ],
])('%s is refused, and nothing is revoked', async (_claim, request, callerToken, expected) => {
  expect(await refused(revoke(request, callerToken))).toEqual(expected)
  expect(await check(genuine.value)).toMatchObject(ALLOWED)
})

test('a revoked token is denied immediately in another process on the same data folder', async () => {
  const other = await serve(['--data', folder])
  const elsewhere = new BlackBox(other.ready.grpc)
  const iam = await issued(running, secrets)
  for (const value of [iam.value, secrets.staticToken])
    expect(await check(value, elsewhere)).toMatchObject(ALLOWED)

  await revoke({ value: iam.value })
  expect(await check(iam.value, elsewhere)).toMatchObject(REVOKED)

  // A static token never expires (§8), so its revocation is kept forever.
  await elsewhere.ask('revoke', { value: secrets.staticToken }, { callerToken: administratorToken })
  expect(await check(secrets.staticToken)).toMatchObject(REVOKED)
  clock.nowMs += 365 * 86_400_000
  expect(await check(secrets.staticToken)).toMatchObject(REVOKED)
  clock.nowMs -= 365 * 86_400_000

  await running.sidecar.run(TESTER, 'replaceServiceUserPassword', { account: ACCOUNT, name: 'account' })
  expect(await check(genuine.value, elsewhere)).toMatchObject(REVOKED)
})
