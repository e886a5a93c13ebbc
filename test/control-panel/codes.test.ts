/**
 * One-time codes: what an app shows is accepted, for as long as it shows it and a little longer, and nothing
 * else is.
 */
import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { Codes, type NewCode } from '../../sidecar/authority/control-panel/codes.ts'
import { fingerprintOf } from '../../sidecar/authority/static-token.ts'
import { codeAt, wrongCodeAt } from '../support/identity/totp.ts'

const NOW = 1_800_000_015_000
const STEP_MS = 30_000
const pepper = createSecretKey(randomBytes(32))
const codes = new Codes(pepper)
const alice = { id: 'a'.repeat(32), account: '123456', name: 'alice: "the owner"' }
const bob = { ...alice, id: 'b'.repeat(32) }

async function setUp(): Promise<{ secret: string; stored: NewCode }> {
  const { secret, sealed } = await codes.begin(alice, 'a session', NOW)
  const code = codeAt(secret.reveal(), NOW)
  const stored = await codes.finish(alice, 'a session', { sealed, code }, NOW)
  return { secret: secret.reveal(), stored }
}

test('the tests have the same codes as RFC 6238', () => {
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
  const shown = [59, 1_111_111_109, 1_234_567_890, 20_000_000_000].map((at) => codeAt(secret, at * 1_000))
  expect(shown).toEqual(['287082', '081804', '005924', '353130'])
})

test('an app gets what it needs, by address and in base32', async () => {
  const { secret, uri } = await codes.begin(alice, 'a session', NOW)
  const { protocol, host, pathname, searchParams } = new URL(uri.reveal())
  expect({
    protocol,
    host,
    label: decodeURIComponent(pathname),
    ...Object.fromEntries(searchParams),
  }).toEqual({
    ...{ protocol: 'otpauth:', host: 'totp', label: '/Portcullis:alice: "the owner" (123456)' },
    ...{ issuer: 'Portcullis', secret: secret.reveal(), algorithm: 'SHA1', digits: '6', period: '30' },
  })
  expect(secret.reveal()).toMatch(/^[A-Z2-7]{32}$/)
})

test.each([
  { what: 'the present code', ms: 0, steps: 0 },
  { what: 'the code before', ms: -STEP_MS, steps: -1 },
  { what: 'the next code', ms: STEP_MS, steps: 1 },
  { what: 'one that was shown a minute ago', ms: -2 * STEP_MS, steps: undefined },
  { what: 'one that will be shown in a minute', ms: 2 * STEP_MS, steps: undefined },
])('$what is of step $steps', async ({ ms, steps }) => {
  const { secret, stored } = await setUp()
  const now = NOW + 100 * STEP_MS
  const step = await codes.stepOf(alice.id, stored, codeAt(secret, now + ms), now)
  expect(step).toBe(steps === undefined ? undefined : Math.floor(now / STEP_MS) + steps)
})

test('another code is wrong', async () => {
  const { secret, stored } = await setUp()
  expect(await codes.stepOf(alice.id, stored, wrongCodeAt(secret, NOW), NOW)).toBeUndefined()
})

test.each(['', '12345', '1234567', '12345a', '١٢٣٤٥٦', ' 123456', '123456\n', '1e5000'])(
  'a text of other than six digits is not a code: %j',
  async (code) => {
    const { stored } = await setUp()
    await expect(codes.stepOf(alice.id, stored, code, NOW)).rejects.toMatchObject({
      ...{ reason: 'INVALID_ARGUMENT', message: 'code: expected 6 digits' },
    })
  },
)

test('the step of the code that finishes the setup is known, so that it is used up', async () => {
  const { stored } = await setUp()
  expect(stored.step).toBe(Math.floor(NOW / STEP_MS))
})

test('a setup with a wrong code is not finished', async () => {
  const { secret, sealed } = await codes.begin(alice, 'a session', NOW)
  const code = wrongCodeAt(secret.reveal(), NOW)
  await expect(codes.finish(alice, 'a session', { sealed, code }, NOW)).rejects.toMatchObject({
    reason: 'CODE_WRONG',
  })
})

test.each([
  { what: 'for another user', user: bob },
  { what: 'in another session', session: 'another session' },
  { what: 'after ten minutes', ms: 600_000 },
  { what: 'before it was begun', ms: -60_001 },
  { what: 'with what another host sealed', host: new Codes(createSecretKey(randomBytes(32))) },
  { what: 'with a changed bit', damage: (sealed: Buffer) => sealed.fill((sealed[20] ?? 0) ^ 1, 20, 21) },
  { what: 'with a part', damage: (sealed: Buffer) => sealed.subarray(0, 20) },
  { what: 'with nothing', damage: () => Buffer.alloc(0) },
])('a setup is not finished $what', async (row) => {
  const { user = alice, session = 'a session', ms = 0, host = codes, damage = (all: Buffer) => all } = row
  const begun = await host.begin(alice, 'a session', NOW)
  const sealed = damage(Buffer.from(begun.sealed, 'base64url')).toString('base64url')
  const code = codeAt(begun.secret.reveal(), NOW + ms)
  await expect(codes.finish(user, session, { sealed, code }, NOW + ms)).rejects.toMatchObject({
    ...{ reason: 'INVALID_ARGUMENT', violations: [{ field: 'sealed' }] },
  })
})

test('a stored code has the fingerprint of the pepper, not the secret, and never the same bytes twice', async () => {
  const { secret, sealed } = await codes.begin(alice, 'a session', NOW)
  const answer = { sealed, code: codeAt(secret.reveal(), NOW) }
  const [one, other] = [
    await codes.finish(alice, 'a session', answer, NOW),
    await codes.finish(alice, 'a session', answer, NOW),
  ]
  expect(one.sealedWith).toBe(fingerprintOf(pepper))
  expect(one.secret.equals(other.secret)).toBe(false)
  expect(await codes.stepOf(alice.id, one, answer.code, NOW)).toBe(one.step)
  expect(await codes.stepOf(alice.id, other, answer.code, NOW)).toBe(one.step)
})

test('a host with another pepper says so, and accepts no code', async () => {
  const { secret, stored } = await setUp()
  const elsewhere = new Codes(createSecretKey(randomBytes(32)))
  await expect(elsewhere.stepOf(alice.id, stored, codeAt(secret, NOW), NOW)).rejects.toMatchObject({
    reason: 'CODE_UNREADABLE',
  })
})

test.each([
  { what: 'of another user', id: bob.id, damage: (secret: Buffer) => secret },
  {
    what: 'with a flipped bit',
    id: alice.id,
    damage: (secret: Buffer) => secret.fill((secret[15] ?? 0) ^ 1, 15, 16),
  },
])('a record $what accepts no code', async ({ id, damage }) => {
  const { secret, stored } = await setUp()
  const record = { ...stored, secret: damage(Buffer.from(stored.secret)) }
  await expect(codes.stepOf(id, record, codeAt(secret, NOW), NOW)).rejects.toMatchObject({
    reason: 'CODE_UNREADABLE',
  })
})
