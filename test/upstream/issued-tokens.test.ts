/** The cache of issued tokens, with clocks of the test: what it obtains when, and what it never gives. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { IssuedToken } from '../../sidecar/authority/authority.ts'
import { IssuedTokens, type Wish } from '../../sidecar/authority/upstream/issued-tokens.ts'
import { tokenDigest } from '../../sidecar/authority/verifiers.ts'
import { type CallError, callError } from '../../sidecar/base/call-error.ts'
import { Secret } from '../../sidecar/base/secret.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Both clocks of the host, and the clock of the issuer, which is never set. */
let wallMs: number
let monotonicMs: number
let issuerMs: number
/** Between 0 and 1: where in the window a token is renewed. */
let random: number
/** How many logins there were, and what the next ones answer. */
let logins: number
let answer: () => Promise<void>
let tokens: IssuedTokens
let tokenLifeMs: number
/** When each token expires. */
const endsOf = new Map<string, number>()

beforeEach(() => {
  issuerMs = Date.parse('2026-11-21T12:00:00Z')
  wallMs = issuerMs
  monotonicMs = 1_000_000
  random = 0
  logins = 0
  answer = () => Promise.resolve()
  tokenLifeMs = DAY_MS
  tokens = newTokens()
})

const newTokens = (options: Partial<ConstructorParameters<typeof IssuedTokens>[0]> = {}) =>
  new IssuedTokens({ now: () => wallMs, monotonicMs: () => monotonicMs, random: () => random, ...options })

/** Time that passes everywhere. */
const pass = (ms: number) => {
  wallMs += ms
  monotonicMs += ms
  issuerMs += ms
}

const refusal = () => callError('UPSTREAM_LOGIN_REFUSED', { upstream: 'provider', profile: 'job' })
const outage = () => callError('UPSTREAM_UNAVAILABLE', { upstream: 'provider', problem: 'is out of order' })

/** Asks for the token of these parts, and returns its text. */
const get = (parts: readonly string[] = ['key'], more: Partial<Wish> = {}): Promise<string> =>
  Promise.resolve(
    tokens.get({
      parts,
      obtain: async () => {
        const number = ++logins
        await answer()
        return issued(`token ${number}`)
      },
      isActive: () => true,
      rememberFailures: true,
      ...more,
    }),
  ).then(({ value }) => value.reveal())

const issued = (value: string): IssuedToken => {
  endsOf.set(value, issuerMs + tokenLifeMs)
  if (issuerMs + tokenLifeMs <= wallMs)
    throw callError('UPSTREAM_BAD_ANSWER', {
      upstream: 'provider',
      url: 'https://provider.example',
      expected: 'a clock',
    })
  return {
    value: new Secret(value),
    token: {
      kind: 'iam_token_account_scoped',
      scope: { account: '123456' },
      subject: { id: '1', name: 'robot', type: 'user' },
      tokenId: value,
      issuedAtMs: issuerMs,
      expiresAtMs: issuerMs + tokenLifeMs,
    },
  }
}

/** Lets what runs beside the calls finish. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('a token', () => {
  test('is obtained once, and given without waiting from then on', async () => {
    expect(await get()).toBe('token 1')
    const wish: Wish = {
      parts: ['key'],
      obtain: () => Promise.reject(new Error('no login was expected')),
      isActive: () => true,
      rememberFailures: true,
    }
    expect(tokens.get(wish)).not.toBeInstanceOf(Promise)
  })

  test.each([
    [0, 0.7],
    [0.999, 0.7999],
  ])(
    'with jitter %d is replaced after %d of its life, and the old one is given meanwhile',
    async (jitter, part) => {
      random = jitter
      await get()
      pass(part * DAY_MS - 5_000)
      expect(await get()).toBe('token 1')
      pass(5_000)
      expect(await get()).toBe('token 1')
      await settle()
      expect(await get()).toBe('token 2')
      expect(logins).toBe(2)
    },
  )

  test('is not given in the last fifth of its life while there is a new one', async () => {
    await get()
    pass(0.8 * DAY_MS)
    expect(await get()).toBe('token 2')
  })

  test.each([
    ['has little left', 24 * HOUR_MS, 4.8 * HOUR_MS],
    ['lives for minutes', 120_000, 60_000],
    ['lives for seconds', 10_000, 5_000],
  ])(
    'that %s waits for the new one, and has as much left as is promised: %d ms',
    async (_what, lifeMs, leftMs) => {
      tokenLifeMs = lifeMs
      for (let call = 0; call < 200; call++, pass(lifeMs / 97)) {
        const given = await get()
        expect(Number(endsOf.get(given)) - wallMs).toBeGreaterThan(leftMs - 1)
        await settle()
      }
    },
  )

  test('by the wall clock alone is replaced too: a machine that slept has a monotonic clock that stood still', async () => {
    await get()
    wallMs += 20 * HOUR_MS
    issuerMs += 20 * HOUR_MS
    expect(await get()).toBe('token 2')
  })

  test('is given where the new one takes too long, and no caller waits twice for the same login', async () => {
    tokens = newTokens({ waitMs: 1 })
    await get()
    pass(0.9 * DAY_MS)
    const gate = Promise.withResolvers<void>()
    answer = () => gate.promise
    expect(new Set(await Promise.all([get(), get()]))).toEqual(new Set(['token 1']))
    expect(await get()).toBe('token 1')
    expect(logins).toBe(2)
    gate.resolve()
    await settle()
    expect(await get()).toBe('token 2')
  })

  test('that ends while a new one is awaited is not given', async () => {
    await get()
    pass(0.9 * DAY_MS)
    const gate = Promise.withResolvers<void>()
    answer = () => gate.promise
    const waiting = get()
    tokens.drop(tokenDigest('token 1'))
    answer = () => Promise.resolve()
    gate.reject(outage())
    expect(await waiting.catch((error: CallError) => error.reason)).toBe('UPSTREAM_UNAVAILABLE')
  })

  test('is not given with less than ten seconds left, even where there is no new one', async () => {
    await get()
    answer = () => Promise.reject(outage())
    pass(DAY_MS - 11_000)
    expect(await get()).toBe('token 1')
    pass(1_000)
    await expect(get()).rejects.toMatchObject({ reason: 'UPSTREAM_UNAVAILABLE' })
  })

  test('leads to about one login a minute if its issuer gives it again in its last share', async () => {
    const same = issued('same')
    const obtain = () => {
      logins++
      return Promise.resolve(same)
    }
    const asked = () => get(['key'], { obtain })
    await asked()
    pass(0.8 * DAY_MS)
    for (let second = 0; second < 600; second++, pass(1_000)) expect(await asked()).toBe('same')
    expect(logins).toBeLessThanOrEqual(1 + 12)
  })

  test('that cannot be replaced is given to its end, and the attempts grow rare', async () => {
    const failures: string[] = []
    tokens = newTokens({
      onRenewalFailed: (_parts, error) => void failures.push((error as CallError).reason),
    })
    await get()
    answer = () => Promise.reject(outage())
    pass(0.9 * DAY_MS)
    for (; wallMs < issuerMs + 1; pass(1_000)) {
      if (logins > 60) break
      if (monotonicMs - 1_000_000 >= DAY_MS - 10_000) break
      expect(await get()).toBe('token 1')
      await settle()
    }
    // After the first minute there is one a minute, in a tenth of a day.
    expect(logins).toBeLessThan(1 + 8 + (DAY_MS / 10 / 60_000) * 1.4)
    expect(failures).toHaveLength(logins - 1)
    expect(new Set(failures)).toEqual(new Set(['UPSTREAM_UNAVAILABLE']))
    pass(DAY_MS)
    await expect(get()).rejects.toMatchObject({ reason: 'UPSTREAM_UNAVAILABLE' })
  })

  test('of another key is another token: no parts of one wish are taken for those of another', async () => {
    const keys = [
      ['a', 'bc'],
      ['ab', 'c'],
      ['abc'],
      ['a', 'b', 'c'],
      ['a,b', 'c'],
      ['a","b', 'c'],
      ['__proto__'],
    ]
    for (const [index, parts] of keys.entries()) expect(await get(parts)).toBe(`token ${index + 1}`)
    for (const [index, parts] of keys.entries()) expect(await get(parts)).toBe(`token ${index + 1}`)
  })

  test('is not given where its issuer does not verify it any more', async () => {
    await get()
    expect(await get(['key'], { isActive: (token) => token.value.reveal() !== 'token 1' })).toBe('token 2')
    expect(await get(['key'], { isActive: () => Promise.resolve(false) })).toBe('token 3')
  })

  test('is replaced if an API has just refused it, and one that was replaced before is not', async () => {
    await get()
    const rejected = { rejected: new Secret('token 1') }
    expect(await get(['key'], rejected)).toBe('token 2')
    expect(await get(['key'], rejected)).toBe('token 2')
    expect(logins).toBe(2)
  })

  test('is not replaced without end for a caller who rejects each one', async () => {
    for (let call = 0; call < 20; call++) await get(['key'], { rejected: new Secret(`token ${logins}`) })
    expect(logins).toBe(6)
    pass(60_000)
    expect(await get(['key'], { rejected: new Secret('token 6') })).toBe('token 7')
  })

  test('that was dropped is not given again, and neither is one whose profile is gone', async () => {
    await get(['one', 'version 1'])
    await get(['two', 'version 1'])
    expect(tokens.drop(tokenDigest('token 1'))?.value.reveal()).toBe('token 1')
    expect(tokens.size).toBe(1)
    tokens.retain(([name]) => name !== 'two')
    expect(tokens.size).toBe(0)
  })
})

test('a token that an issuer gave to two profiles is dropped from both, and for that issuer alone', async () => {
  const given = issued('shared')
  const shared = { ...given, token: { ...given.token, authority: 'provider' } }
  const obtain = () => Promise.resolve(shared)
  await get(['one'], { obtain })
  await get(['two'], { obtain })
  expect(tokens.drop(tokenDigest('shared'), 'another')).toBeUndefined()
  expect(tokens.size).toBe(2)
  expect(tokens.drop(tokenDigest('shared'), 'provider')).toBe(shared)
  expect(tokens.size).toBe(0)
})

describe('a jump of the clock', () => {
  test('of 25 hours forward gives no token that has expired by it, and no storm of logins', async () => {
    await get()
    wallMs += 25 * HOUR_MS
    // The issuer's own clock is right, so what it gives has expired by ours.
    for (let call = 0; call < 50; call++)
      await expect(get()).rejects.toMatchObject({ reason: 'UPSTREAM_BAD_ANSWER' })
    expect(logins).toBeLessThanOrEqual(2)
    wallMs -= 25 * HOUR_MS
    pass(60_000)
    expect(await get()).toMatch(/^token/)
  })

  test('of 25 hours back gives no token for longer than it lives', async () => {
    await get()
    wallMs -= 25 * HOUR_MS
    expect(await get()).toBe('token 1')
    pass(0.5 * DAY_MS)
    expect(await get()).toBe('token 1')
    pass(0.5 * DAY_MS)
    // By the wall clock the token has another day to live.
    expect(await get()).toBe('token 2')
    expect(logins).toBe(2)
  })

  test('leaves no timer behind, and sets none', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
    const before = timers()
    await get()
    wallMs -= 25 * HOUR_MS
    await get()
    expect(timers()).toBe(before)
  })
})

describe('many callers', () => {
  test('5,000 at the moment of expiry make one login, and all get its token', async () => {
    await get()
    pass(DAY_MS)
    const gate = Promise.withResolvers<void>()
    answer = () => gate.promise
    const waiting = Array.from({ length: 5_000 }, () => get())
    gate.resolve()
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['token 2']))
    expect(logins).toBe(2)
  })

  test('5,000 in the last share of a token make one login, and all get its token', async () => {
    await get()
    pass(0.95 * DAY_MS)
    expect(new Set(await Promise.all(Array.from({ length: 5_000 }, () => get())))).toEqual(
      new Set(['token 2']),
    )
    expect(logins).toBe(2)
  })

  test('5,000 when a renewal is due make one login beside them, and all get the old token at once', async () => {
    await get()
    pass(0.75 * DAY_MS)
    const given = await Promise.all(Array.from({ length: 5_000 }, () => get()))
    expect(new Set(given)).toEqual(new Set(['token 1']))
    await settle()
    expect(logins).toBe(2)
  })

  test('do not end the login for the others by giving up', async () => {
    const gate = Promise.withResolvers<void>()
    answer = () => gate.promise
    const impatient = Promise.race([get(), Promise.reject(new Error('gave up'))])
    const patient = get()
    await expect(impatient).rejects.toThrow('gave up')
    gate.resolve()
    expect(await patient).toBe('token 1')
    expect(logins).toBe(1)
  })

  test('with a wrong password make no storm: the refusal is remembered for a while that grows', async () => {
    answer = () => Promise.reject(refusal())
    const refused = async () => {
      const before = logins
      for (let call = 0; call < 100; call++)
        await expect(get()).rejects.toMatchObject({ reason: 'UPSTREAM_LOGIN_REFUSED' })
      return logins - before
    }
    expect(await refused()).toBe(1)
    pass(1_000)
    expect(await refused()).toBe(1)
    // Twice as long now.
    pass(1_000)
    expect(await refused()).toBe(0)
    pass(1_000)
    expect(await refused()).toBe(1)
    answer = () => Promise.resolve()
    pass(60_000)
    expect(await get()).toBe('token 4')
  })

  test('during an outage make one login a second, and hear of it no longer than it lasts', async () => {
    answer = () => Promise.reject(outage())
    for (let second = 0; second < 10; second++) {
      for (let call = 0; call < 100; call++)
        await expect(get()).rejects.toMatchObject({ reason: 'UPSTREAM_UNAVAILABLE' })
      pass(1_000)
    }
    expect(logins).toBe(10)
    answer = () => Promise.resolve()
    expect(await get()).toBe('token 11')
  })
})

test('there are never more tokens than there may be: the one that ends soonest makes room', async () => {
  tokens = newTokens({ tokensMax: 3 })
  for (const key of ['a', 'b', 'c', 'd']) {
    await get([key])
    pass(1_000)
  }
  expect(tokens.size).toBe(3)
  expect(await get(['d'])).toBe('token 4')
  expect(await get(['b'])).toBe('token 2')
  expect(await get(['a'])).toBe('token 5')
  expect(tokens.size).toBe(3)
})
