/** The memory of an upstream's answers about tokens, with clocks of the test. */
import { beforeEach, expect, test } from 'vitest'
import type { TokenKind } from '../../engine/index.ts'
import type { DescribedToken } from '../../sidecar/authority/upstream/token-answer.ts'
import { type Validation, verifiedToken } from '../../sidecar/authority/upstream/upstream-authority.ts'
import { UpstreamVerifier } from '../../sidecar/authority/upstream/upstream-verifier.ts'
import type { VerifiedToken } from '../../sidecar/authority/verified-token.ts'
import { tokenDigest, Verifiers } from '../../sidecar/authority/verifiers.ts'
import { callError } from '../../sidecar/base/call-error.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'

const HOUR_MS = 3_600_000
const START_MS = Date.parse('2026-11-21T12:00:00Z')
const DESCRIBED: DescribedToken = {
  id: '0123456789012345678901',
  scope: { account: '123456' },
  projectId: undefined,
  subject: { id: '1', name: 'robot' },
  issuedAtMs: START_MS,
  expiresAtMs: START_MS + HOUR_MS,
  roles: ['member'],
  catalog: undefined,
}
const GENUINE: Validation = { type: 'genuine', described: DESCRIBED }
const UNKNOWN: Validation = { type: 'unknown' }

let wallMs: number
let monotonicMs: number
let questions: number
let answer: () => Promise<Validation>
let own: () => Promise<{ readonly value: Secret }>
/** The questions that the profiles heard, and the token that one of them had. */
let unknown: unknown[]
let issued: VerifiedToken | undefined
let verifiers: Verifiers
let verifier: UpstreamVerifier

beforeEach(() => {
  wallMs = START_MS
  monotonicMs = 1_000
  questions = 0
  unknown = []
  issued = undefined
  answer = () => Promise.resolve(GENUINE)
  own = () => Promise.resolve({ value: new Secret('own') })
  verifier = new UpstreamVerifier({
    authority: {
      name: 'provider',
      validate: () => {
        questions++
        return answer()
      },
    },
    cacheMs: 60_000,
    negativeCacheMs: 5_000,
    tokenPrefixes: [],
    vouchesFor: () => true,
    ownToken: () => own(),
    onUnknown: (...found) => {
      unknown.push(found)
      return issued
    },
    events: { onRefused: () => {}, onForeignAccount: () => {} },
    now: () => wallMs,
    monotonicMs: () => monotonicMs,
  })
  verifiers = new Verifiers({
    recognize: () => undefined,
    verify: () => ({ ok: false, reason: 'CREDENTIAL_INVALID' }),
  })
  verifiers.replace([verifier])
})

const pass = (ms: number) => {
  wallMs += ms
  monotonicMs += ms
}
const verify = (value = 'token', kinds = engine.tokenKinds) => verifiers.verify(value, kinds)
const settle = () => new Promise((resolve) => setImmediate(resolve))
const unusable = () =>
  callError('UPSTREAM_BAD_ANSWER', {
    upstream: 'provider',
    url: 'https://provider.example',
    expected: 'a token',
  })
const outage = () =>
  Promise.reject(callError('UPSTREAM_UNAVAILABLE', { upstream: 'provider', problem: 'is gone' }))

test('a token is asked about once, then answered at once, for the time of the cache', async () => {
  expect(await verify()).toMatchObject({ ok: true, token: { authority: 'provider', roles: ['member'] } })
  const warm = verify()
  expect(warm).toMatchObject({ ok: true })
  expect(warm).not.toBeInstanceOf(Promise)
  pass(60_000)
  expect(verify()).toBeInstanceOf(Promise)
  await settle()
  expect(questions).toBe(2)
})

test('a token in use is asked about again beside the calls, ahead of the end of that time', async () => {
  await verify()
  pass(50_000)
  expect(verify()).toMatchObject({ ok: true })
  await settle()
  expect(questions).toBe(2)
  pass(50_000)
  expect(verify()).not.toBeInstanceOf(Promise)
})

test('during an outage a known token is believed for that time and no longer', async () => {
  await verify()
  answer = outage
  pass(59_999)
  expect(verify()).toMatchObject({ ok: true })
  await settle()
  pass(1)
  await expect(verify()).rejects.toMatchObject({ reason: 'UPSTREAM_UNAVAILABLE' })
  await expect(verify('unknown')).rejects.toMatchObject({ reason: 'UPSTREAM_UNAVAILABLE' })
})

test('a known token is unknown after an answer about it that cannot be used', async () => {
  await verify()
  answer = () => Promise.resolve({ type: 'unusable', error: unusable() })
  pass(50_000)
  expect(verify()).toMatchObject({ ok: true })
  await settle()
  await expect(verify()).rejects.toMatchObject({ reason: 'UPSTREAM_BAD_ANSWER' })
  answer = () => Promise.resolve(GENUINE)
  expect(await verify()).toMatchObject({ ok: true })
})

test('a known token is believed on where the login of the sidecar has an answer that cannot be used', async () => {
  await verify()
  own = () => Promise.reject(unusable())
  pass(50_000)
  for (let time = 0; time < 2; time++) {
    expect(verify()).toMatchObject({ ok: true })
    await settle()
  }
})

test('a token that has expired is denied without a question, and so is one by a clock that jumps forward', async () => {
  await verify()
  wallMs += 25 * HOUR_MS
  expect(verify()).toMatchObject({
    ok: false,
    reason: 'CREDENTIAL_EXPIRED',
    token: { tokenId: expect.any(String) },
  })
  expect(questions).toBe(1)
})

test('a clock that jumps back keeps no token for longer than the time of the cache', async () => {
  await verify()
  wallMs -= 25 * HOUR_MS
  expect(verify()).toMatchObject({ ok: true })
  answer = () => Promise.resolve(UNKNOWN)
  monotonicMs += 60_000
  expect(await verify()).toMatchObject({ ok: false })
})

test('a token that the upstream no longer knows was revoked; one that it never knew is invalid, for a shorter time', async () => {
  await verify()
  answer = () => Promise.resolve(UNKNOWN)
  pass(60_000)
  expect(await verify()).toMatchObject({
    ok: false,
    reason: 'CREDENTIAL_REVOKED',
    token: { scope: { account: '123456' } },
  })
  expect(await verify('other')).toEqual({ ok: false, reason: 'CREDENTIAL_INVALID' })
  const before = questions
  expect(verify('other')).toEqual({ ok: false, reason: 'CREDENTIAL_INVALID' })
  pass(5_000)
  await verify('other')
  expect(questions - before).toBe(1)
})

test('a token that was revoked stays revoked, whatever is asked meanwhile, and the profiles hear of it', async () => {
  await verify()
  answer = () => Promise.resolve(UNKNOWN)
  pass(60_000)
  await verify()
  for (let number = 0; number < 12_000; number++) await verify(`garbage ${number}`)
  for (let call = 0; call < 3; call++, pass(5_000))
    expect(await verify()).toMatchObject({
      ok: false,
      reason: 'CREDENTIAL_REVOKED',
      token: { tokenId: expect.any(String) },
    })
  expect(unknown.slice(0, 2)).toEqual([
    ['provider', tokenDigest('token'), true],
    ['provider', tokenDigest('garbage 0'), false],
  ])
})

test('a token of a profile that no check had seen, and one that was revoked here, are revoked too', async () => {
  answer = () => Promise.resolve(UNKNOWN)
  issued = verifiedToken('provider', [...engine.tokenKinds.values()][0] as TokenKind, DESCRIBED)
  expect(await verify('of a profile')).toEqual({ ok: false, reason: 'CREDENTIAL_REVOKED', token: issued })
  issued = undefined
  pass(5_000)
  expect(await verify('of a profile')).toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
  answer = () => Promise.resolve(GENUINE)
  await verify('revoked here')
  verifiers.drop(tokenDigest('revoked here'))
  answer = () => Promise.resolve(UNKNOWN)
  expect(await verify('revoked here')).toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
})

test('a token that was revoked during a question about it is not remembered as genuine', async () => {
  const gate = Promise.withResolvers<Validation>()
  answer = () => gate.promise
  const asking = verify()
  await settle()
  verifiers.drop('nothing of this digest')
  verifiers.drop(tokenDigest('token'))
  gate.resolve(GENUINE)
  await asking
  answer = () => Promise.resolve(UNKNOWN)
  expect(await verify()).toMatchObject({ ok: false })
})

test('a new matrix gives a known token the kind that it has in that', async () => {
  await verify()
  const renamed = new Map(
    [...strictEngine.tokenKinds.values()].map((kind) => [
      `new_${kind.id}`,
      { ...kind, id: `new_${kind.id}` },
    ]),
  )
  expect(verifiers.verify('token', renamed)).toMatchObject({
    ok: true,
    token: { kind: 'new_iam_token_account_scoped' },
  })
  expect(verifiers.verify('token', new Map())).toMatchObject({ ok: false, reason: 'CREDENTIAL_INVALID' })
  expect(questions).toBe(1)
})

test('two upstreams: the first that knows the token is believed, and the token goes no further', async () => {
  const asked: string[] = []
  const remote = (name: string, ok: boolean) => ({
    name,
    fits: () => true,
    claims: () => false,
    known: () => undefined,
    ask: () => {
      asked.push(name)
      return Promise.resolve(
        ok
          ? ({ ok: true, token: { authority: name } } as never)
          : ({ ok: false, reason: 'CREDENTIAL_INVALID' } as const),
      )
    },
    drop: () => {},
  })
  verifiers.replace([remote('a', false), remote('b', true), remote('c', true)])
  expect(await verify()).toMatchObject({ token: { authority: 'b' } })
  expect(asked).toEqual(['a', 'b'])
})
