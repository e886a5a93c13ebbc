/**
 * Passkeys: what an authenticator answers is accepted where all of it is as expected, and refused where one
 * thing is not.
 */
import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  CHALLENGE_LIMIT,
  type ChallengeFor,
  Challenges,
} from '../../sidecar/authority/control-panel/challenges.ts'
import { hasPasskeys, Passkeys } from '../../sidecar/authority/control-panel/passkeys.ts'
import { CLOCK_SKEW_MS } from '../../sidecar/base/time-limit.ts'
import type { PasskeyRecord } from '../../sidecar/directory/factor-records.ts'
import { Authenticator, type Lies } from '../support/identity/authenticator.ts'

const NOW = 1_800_000_000_000
const ORIGIN = 'https://panel.example:8443'
const at = { origin: ORIGIN, nowMs: NOW }
const LOGIN: ChallengeFor = { purpose: 'login' }
const CONFIRM: ChallengeFor = { purpose: 'confirm', session: 'a session' }

const pepper = createSecretKey(randomBytes(32))
const passkeys = new Passkeys(new Challenges(pepper))
const alice = { id: randomBytes(16).toString('hex'), account: '123456', name: 'alice' }

/** Adds the authenticator's passkey. */
async function added(authenticator: Authenticator, lies: Lies = {}): Promise<PasskeyRecord> {
  const options = await passkeys.optionsOfNew(alice, [], 'a session', at)
  const made = await passkeys.verifyNew(authenticator.create(options, ORIGIN, lies), 'a session', at)
  const { id, publicKey, counter, transports } = made
  const record = { userId: alice.id, name: 'a key', createdAtMs: NOW, lastUsedDay: undefined }
  return { ...record, id, publicKey, counter, transports }
}

async function answered(
  authenticator: Authenticator,
  passkey: PasskeyRecord,
  { what = LOGIN, to = what, lies = {}, asked = at, answeredAt = asked }: Partial<Answering> = {},
) {
  const response = authenticator.get(await passkeys.options(what, [], asked), asked.origin, lies)
  return passkeys.verify(response, to, passkey, answeredAt)
}

interface Answering {
  readonly what: ChallengeFor
  readonly to: ChallengeFor
  readonly lies: Lies
  readonly asked: typeof at
  readonly answeredAt: typeof at
}

const REFUSED = { reason: 'PASSKEY_REFUSED', code: 'UNAUTHENTICATED' }

describe.each(['ES256', 'EdDSA'] as const)('with %s', (algorithm) => {
  test.each([LOGIN, CONFIRM])('a passkey that was added answers for $purpose', async (what) => {
    const authenticator = new Authenticator(algorithm)
    const passkey = await added(authenticator)
    expect(passkey).toMatchObject({ id: authenticator.id, counter: 0, transports: ['hybrid', 'internal'] })
    const { counter, challenge } = await answered(authenticator, passkey, { what })
    expect(counter).toBe(1)
    expect(challenge).toEqual({ hash: expect.any(Buffer), endsAtMs: NOW + CHALLENGE_LIMIT.ms })
  })

  test('it is added with the signature of the authenticator itself, too', async () => {
    const authenticator = new Authenticator(algorithm)
    const passkey = await added(authenticator, { attestation: 'self' })
    expect((await answered(authenticator, passkey)).counter).toBe(1)
  })
})

test('the options ask for what the server checks, and say nothing about the user but the name', async () => {
  const existing = await added(new Authenticator())
  const creation = await passkeys.optionsOfNew(alice, [existing], 'a session', at)
  expect(creation).toMatchObject({
    rp: { id: 'panel.example', name: 'Portcullis' },
    user: { id: Buffer.from(alice.id, 'hex').toString('base64url'), name: 'alice (123456)' },
    pubKeyCredParams: [{ alg: -8 }, { alg: -7 }, { alg: -257 }],
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    ...{ attestation: 'none', timeout: CHALLENGE_LIMIT.ms },
    excludeCredentials: [{ id: existing.id, transports: existing.transports }],
  })
  const stranger = await passkeys.options(LOGIN, [], at)
  expect(stranger).toMatchObject({ rpId: 'panel.example', userVerification: 'required' })
  expect(stranger.allowCredentials).toBeUndefined()
  expect(await passkeys.options(CONFIRM, [existing], at)).toMatchObject({
    allowCredentials: [{ id: existing.id, transports: existing.transports }],
  })
})

const LIES: readonly { readonly what: string; readonly lies: Lies }[] = [
  { what: 'of another origin', lies: { origin: 'https://evil.example' } },
  { what: 'of another port', lies: { origin: 'https://panel.example' } },
  { what: 'of the same host without TLS', lies: { origin: 'http://panel.example:8443' } },
  { what: 'for another host', lies: { host: 'evil.example' } },
  { what: 'for a part of the host', lies: { host: 'example' } },
  { what: 'in a frame', lies: { crossOrigin: true } },
  { what: 'to a challenge of another issuer', lies: { challenge: randomBytes(56).toString('base64url') } },
  { what: 'to no challenge', lies: { challenge: '' } },
  { what: 'without user verification', lies: { userVerified: false } },
  { what: 'without a user', lies: { userPresent: false } },
]

test.each([
  ...LIES,
  { what: 'of another kind', lies: { type: 'webauthn.get' } },
  { what: 'with a certificate', lies: { attestation: 'certificate' } as const },
])('no passkey is added by an answer $what', async ({ lies }) => {
  await expect(added(new Authenticator(), lies)).rejects.toMatchObject(REFUSED)
})

test.each([
  ...LIES,
  { what: 'of another kind', lies: { type: 'webauthn.create' } },
  { what: 'that another key signed', lies: { signer: new Authenticator() } },
  { what: 'with the counter of the time before', lies: { counter: 5 } },
  { what: 'with a counter that was set back', lies: { counter: 4 } },
  { what: 'with a counter that is gone', lies: { counter: 0 } },
  { what: 'for another user', lies: { userHandle: randomBytes(16).toString('base64url') } },
  { what: 'for no user', lies: { userHandle: undefined } },
])('no user logs in by an answer $what', async ({ lies }) => {
  const authenticator = new Authenticator()
  const passkey = { ...(await added(authenticator)), counter: 5 }
  await expect(answered(authenticator, passkey, { lies })).rejects.toMatchObject(REFUSED)
  expect((await answered(authenticator, passkey, { lies: { counter: 6 } })).counter).toBe(6)
})

test('a passkey that its authenticator does not find by itself is not added', async () => {
  const options = await passkeys.optionsOfNew(alice, [], 'a session', at)
  const response = new Authenticator().create(options, ORIGIN)
  const lost = { ...response, clientExtensionResults: { credProps: { rk: false } } }
  await expect(passkeys.verifyNew(lost, 'a session', at)).rejects.toMatchObject(REFUSED)
})

test('an authenticator that does not count is used again and again', async () => {
  const authenticator = new Authenticator('EdDSA', false)
  const passkey = await added(authenticator)
  for (const counter of [0, 0]) expect(await answered(authenticator, passkey)).toMatchObject({ counter })
})

test('the answer of one passkey does not count for another one', async () => {
  const [authenticator, another] = [new Authenticator(), new Authenticator()]
  await added(authenticator)
  await expect(answered(authenticator, await added(another))).rejects.toMatchObject(REFUSED)
})

const ELSEWHERE: ChallengeFor = { purpose: 'confirm', session: 'another session' }
const ADD: ChallengeFor = { purpose: 'add', session: 'a session' }

test.each<{ asked: ChallengeFor; to: ChallengeFor }>([
  { asked: LOGIN, to: CONFIRM },
  { asked: CONFIRM, to: LOGIN },
  { asked: CONFIRM, to: ELSEWHERE },
  { asked: ADD, to: CONFIRM },
  { asked: ADD, to: LOGIN },
])('a challenge counts for one purpose: $asked does not answer $to', async ({ asked, to }) => {
  const authenticator = new Authenticator()
  const passkey = await added(authenticator)
  await expect(answered(authenticator, passkey, { what: asked, to })).rejects.toMatchObject(REFUSED)
})

test.each([
  { what: 'in its last moment', ms: CHALLENGE_LIMIT.ms - 1, counts: true },
  { what: 'after five minutes', ms: CHALLENGE_LIMIT.ms, counts: false },
  { what: 'by a clock that is behind by less than a minute', ms: -CLOCK_SKEW_MS, counts: true },
  { what: 'before it was made', ms: -CLOCK_SKEW_MS - 1, counts: false },
])('a challenge that is answered $what counts: $counts', async ({ ms, counts }) => {
  const authenticator = new Authenticator()
  const passkey = await added(authenticator)
  const answer = answered(authenticator, passkey, { answeredAt: { ...at, nowMs: NOW + ms } })
  if (counts) expect(await answer).toMatchObject({ challenge: { endsAtMs: NOW + CHALLENGE_LIMIT.ms } })
  else await expect(answer).rejects.toMatchObject(REFUSED)
})

test('a passkey is added in the session that asked, and no challenge of another kind adds one', async () => {
  const options = await passkeys.optionsOfNew(alice, [], 'a session', at)
  const response = new Authenticator().create(options, ORIGIN)
  await expect(passkeys.verifyNew(response, 'another session', at)).rejects.toMatchObject(REFUSED)
  const { challenge } = await passkeys.options(CONFIRM, [], at)
  const other = new Authenticator().create({ ...options, challenge }, ORIGIN)
  await expect(passkeys.verifyNew(other, 'a session', at)).rejects.toMatchObject(REFUSED)
  await passkeys.verifyNew(response, 'a session', at)
})

test('no challenge is the same, each has its own hash, and another host with another pepper makes none', async () => {
  const challenges = new Challenges(pepper)
  const [one, other] = [challenges.create(LOGIN, NOW), challenges.create(LOGIN, NOW)]
  const hashOf = (challenge: Buffer) => challenges.answered(challenge.toString('base64url'), LOGIN, NOW)?.hash
  expect(hashOf(one)?.equals(hashOf(other) as Buffer)).toBe(false)
  expect(hashOf(new Challenges(createSecretKey(randomBytes(32))).create(LOGIN, NOW))).toBeUndefined()
  for (const byte of one.keys()) {
    const changed = Buffer.from(one)
    changed[byte] = (one[byte] ?? 0) ^ 1
    expect(hashOf(changed)).toBeUndefined()
  }
})

const HOSTILE: readonly unknown[] = [
  ...['', '!', 'AAAA', 'e30', 'bnVsbA', Buffer.alloc(3_000, 0x9f).toString('base64url'), 7, null, {}],
  ...[
    Buffer.from('{"challenge":1,"origin":[]}').toString('base64url'),
    Buffer.alloc(37).toString('base64url'),
  ],
]

test.each(HOSTILE)('hostile content is refused like any other: %j', async (content) => {
  const authenticator = new Authenticator()
  const passkey = await added(authenticator)
  const creation = authenticator.create(await passkeys.optionsOfNew(alice, [], 'a session', at), ORIGIN)
  const request = authenticator.get(await passkeys.options(LOGIN, [], at), ORIGIN)
  for (const field of ['clientDataJSON', 'attestationObject']) {
    const response = { ...creation, response: { ...creation.response, [field]: content } } as typeof creation
    await expect(passkeys.verifyNew(response, 'a session', at)).rejects.toMatchObject(REFUSED)
  }
  for (const field of ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle']) {
    const response = { ...request, response: { ...request.response, [field]: content } } as typeof request
    await expect(passkeys.verify(response, LOGIN, passkey, at)).rejects.toMatchObject(REFUSED)
  }
})

test.each([
  ['https://panel.example', true],
  ['https://panel.example:8443', true],
  ['http://localhost:8180', true],
  ['http://panel.localhost:8180', true],
  ['https://localhost', true],
  ['http://panel.example', false],
  ['http://127.0.0.1:8180', false],
  ['https://127.0.0.1', false],
  ['https://203.0.113.7', false],
  ['http://[::1]:8180', false],
  ['https://[2001:db8::1]', false],
  ['http://notlocalhost', false],
  ['null', false],
])('a page at %s can have passkeys: %s', async (origin, possible) => {
  expect(hasPasskeys(origin)).toBe(possible)
  const options = passkeys.options(LOGIN, [], { origin, nowMs: NOW })
  if (possible) expect((await options).rpId).toBe(new URL(origin).hostname)
  else await expect(options).rejects.toMatchObject({ reason: 'PASSKEYS_NOT_POSSIBLE' })
})

test('where a page can have none, the error says what would do', async () => {
  await expect(passkeys.options(LOGIN, [], { origin: 'http://127.0.0.1:8180', nowMs: NOW })).rejects.toThrow(
    'browsers do not allow passkeys at `http://127.0.0.1:8180`; expected https with a host name, or `http://localhost:8180`',
  )
})
