/** The questions to the hub, and the answers that are remembered. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { DescribedTokens } from '../../sidecar/authority/hub/described-tokens.ts'
import { HubAuthority } from '../../sidecar/authority/hub/hub-authority.ts'
import { HubChanges } from '../../sidecar/authority/hub/hub-changes.ts'
import type { Described } from '../../sidecar/authority/hub/hub-messages.ts'
import { eventually } from '../support/suite/resources.ts'

const KINDS = compile(supportMatrix).tokenKinds
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const at = (sequence: number) => ({ sequence, atMs: 1_000 + sequence })
const IAM = `eyJ${'a'.repeat(40)}.${'b'.repeat(40)}.${'c'.repeat(86)}`
const STATIC = 'static-token'

function start(spread = 0) {
  const clock = { nowMs: 10 * DAY_MS, ownMs: 0 }
  const changes = new HubChanges({ stalenessMs: 5_000, spread: () => spread, now: () => clock.ownMs })
  const calls: (readonly string[])[] = []
  const hub = {
    of: { position: at(100), basis: 'keys' } as Described['of'],
    active: true,
    addresses: [] as string[],
    known: true,
    token: {},
    /** Before it answers. */
    waits: undefined as Promise<void> | undefined,
  }
  const tokenOf = (value: string) => ({
    kind: 'iam_token_account_scoped',
    scope: { account: 'a' },
    subject: { id: 'u', name: 'job', type: 'service_user' },
    tokenId: value.slice(-5),
    issuedAtMs: clock.nowMs - MINUTE_MS,
    expiresAtMs: value === STATIC ? undefined : clock.nowMs + MINUTE_MS,
    ...hub.token,
  })
  const tokens = new DescribedTokens(async (values) => {
    calls.push(values)
    const status = { active: hub.active, addresses: hub.addresses }
    const { of } = hub
    await hub.waits
    return {
      of,
      tokens: values.map((value) => (hub.known ? { token: tokenOf(value), status } : undefined)),
    }
  })
  const authority = new HubAuthority({
    ...{ changes, tokens, rememberedMax: 1_000, now: () => clock.nowMs },
    monotonic: () => clock.ownMs,
    issue: () => Promise.reject(new Error('nothing is issued here')),
  })
  const hear = (sequence: number, touched: Parameters<HubChanges['hear']>[0]['touched'] = []) =>
    changes.hear({ position: at(sequence), touched, validForMs: 5_000, sentAtMs: clock.ownMs, basis: 'keys' })
  changes.begin()
  hear(100, [undefined])
  const verify = async (value = IAM, from = {}) => {
    const { ok, ...found } = await authority.verify(value, KINDS, from)
    return ok ? 'OK' : 'reason' in found && found.reason
  }
  /** Whether the followers of this sidecar may remember what it answers. */
  const isPlaced = async () => {
    const [verification, described] = [
      await authority.verify(IAM, KINDS),
      await authority.describe(IAM, KINDS),
    ]
    const once = [verification.token, described?.token].map((token) => token?.countsOnce)
    expect(once[0]).toBe(once[1])
    return once[0] === undefined
  }
  return { clock, changes, calls, hub, authority, hear, verify, isPlaced }
}

test('a token is asked about once, and again when what it depends on is touched', async () => {
  const { calls, hub, hear, verify } = start()
  for (let time = 0; time < 3; time++) expect(await verify()).toBe('OK')
  expect(calls).toHaveLength(1)
  hear(101, [{ thing: 'user', id: 'other' }])
  expect(await verify()).toBe('OK')
  expect(calls).toHaveLength(1)
  hear(102, [{ thing: 'user', id: 'u' }])
  hub.active = false
  hub.of = { position: at(102), basis: 'keys' }
  expect(await verify()).toBe('CREDENTIAL_REVOKED')
  expect(calls).toHaveLength(2)
})

test('many callers that ask at the same moment share one question, and one call', async () => {
  const { calls, verify } = start()
  const others = Array.from({ length: 5 }, (_, index) => IAM.replace(/.$/, String(index)))
  await Promise.all([...Array.from({ length: 50 }, () => verify()), ...others.map((value) => verify(value))])
  expect(calls).toHaveLength(1)
  expect(calls[0]).toEqual([IAM, ...others])
})

test('a connection with many unknown tokens neither delays nor refuses another one', async () => {
  const calls: { tokens: readonly string[]; answer: () => void }[] = []
  const described = new DescribedTokens(
    (values) =>
      new Promise((resolve) => {
        const answer = () =>
          resolve({ of: { position: undefined, basis: '' }, tokens: values.map(() => undefined) })
        calls.push({ tokens: values, answer })
      }),
  )
  const ask = (connection: object, ...values: string[]) =>
    values.map((value) =>
      described
        .describe(value, () => {}, connection)
        .then(
          () => 'answered',
          (error) => error.reason,
        ),
    )
  const flood = {}
  const asked = ask(flood, ...Array.from({ length: 30_000 }, (_, index) => `garbage ${index}`))
  await eventually(() => calls.length === 1)
  const own = ask({}, 'of another connection')
  for (let next = 0; next < calls.length; next++) {
    calls[next]?.answer()
    await turn()
    await turn()
  }
  expect(await Promise.all(own)).toEqual(['answered'])
  // The call that was under way is answered before, and one token of the flood.
  const place = calls.flatMap(({ tokens }) => tokens).indexOf('of another connection')
  expect(place).toBeLessThan((calls[0]?.tokens.length ?? 0) + 2)
  const refused = (await Promise.all(asked)).filter((each) => each !== 'answered')
  expect(new Set(refused)).toEqual(new Set(['VERIFICATIONS_EXHAUSTED']))
  expect(refused).toHaveLength(30_000 - 20_000 - (calls[0]?.tokens.length ?? 0) + 1)
})

test.each<[what: string, of: Partial<Described['of']>]>([
  ['a position that the stream has not named yet', { position: at(101) }],
  ['a position of another directory', { position: { sequence: 100, atMs: 7 } }],
  ['no position', { position: undefined }],
  ['the keys of a process that has not read of a withdrawal', { basis: 'keys before' }],
  ['no basis', { basis: '' }],
])('an answer with %s counts once', async (_what, of) => {
  const { calls, hub, verify, isPlaced } = start()
  hub.of = { ...hub.of, ...of }
  for (let time = 0; time < 3; time++) expect(await verify()).toBe('OK')
  expect(calls).toHaveLength(3)
  expect(await isPlaced()).toBe(false)
  hub.of = { position: at(100), basis: 'keys' }
  expect(await isPlaced()).toBe(true)
})

test('an answer of a process that is behind the stream counts once, and for those who asked before it', async () => {
  const { calls, hub, hear, verify } = start()
  hear(101, [{ thing: 'user', id: 'u' }])
  // Behind the address of the hub is another process, which has not heard of that change.
  const { promise, resolve } = Promise.withResolvers<void>()
  hub.waits = promise
  const before = [verify(), verify()]
  await eventually(() => calls.length === 1)
  const later = [verify(), verify(), verify()]
  resolve()
  expect(await Promise.all([...before, ...later])).toEqual(['OK', 'OK', 'OK', 'OK', 'OK'])
  // The others ask after it, together.
  expect(calls).toEqual([[IAM], [IAM]])
  Object.assign(hub, { active: false, of: { position: at(101), basis: 'keys' } })
  expect(await verify()).toBe('CREDENTIAL_REVOKED')
  expect(await verify()).toBe('CREDENTIAL_REVOKED')
  expect(calls).toHaveLength(3)
})

test.each<[when: string, happens: (started: ReturnType<typeof start>) => void]>([
  ['changes come meanwhile', ({ hear }) => hear(101, [{ thing: 'user', id: 'other' }])],
  ['the hub is silent', ({ clock }) => Object.assign(clock, { ownMs: 5_000 })],
])('one question about a token is under way, and one waits, however many ask: %s', async (_when, happens) => {
  const started = start()
  const { calls, hub, verify } = started
  const { promise, resolve } = Promise.withResolvers<void>()
  hub.waits = promise
  const asked = [verify()]
  await eventually(() => calls.length === 1)
  happens(started)
  for (let time = 0; time < 50; time++) {
    asked.push(verify())
    await turn()
  }
  expect(calls).toHaveLength(1)
  resolve()
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['OK']))
  expect(calls).toHaveLength(2)
})

test('a token that is refused because a connection asks too much is asked about for another one', async () => {
  const { authority, hub } = start()
  hub.waits = new Promise(() => {})
  const flood = {}
  const ask = async (value: string, connection: object) => authority.verify(value, KINDS, { connection })
  const outcome = (asked: Promise<unknown>) =>
    asked.then(
      () => 'answered',
      (error) => error.reason,
    )
  for (const value of tokens(16 + 20_000)) void outcome(ask(value, flood))
  hub.waits = undefined
  const refused = outcome(ask(IAM, flood))
  const other = outcome(ask(IAM, {}))
  expect(await refused).toBe('VERIFICATIONS_EXHAUSTED')
  expect(await other).toBe('answered')
})

test('an expired token is not asked about again while its key is not withdrawn', async () => {
  const { clock, calls, changes, hear, verify } = start()
  await verify()
  clock.nowMs += MINUTE_MS
  hear(101, [{ thing: 'user', id: 'u' }])
  expect(await verify()).toBe('CREDENTIAL_EXPIRED')
  // Nor without word from the hub.
  clock.ownMs += 5_000
  expect(await verify()).toBe('CREDENTIAL_EXPIRED')
  expect(calls).toHaveLength(1)
  changes.hear({
    ...{ position: at(102), touched: [undefined], validForMs: 5_000, sentAtMs: clock.ownMs },
    basis: 'other keys',
  })
  await verify()
  expect(calls).toHaveLength(2)
})

test('a denial that counts once makes a token unknown', async () => {
  for (const denied of [{ active: false }, { known: false }]) {
    const { clock, calls, hub, hear, verify } = start()
    expect(await verify()).toBe('OK')
    // Without word from the stream, another process is asked, which is ahead of it.
    clock.ownMs += 5_000
    Object.assign(hub, denied, { of: { position: at(101), basis: 'keys' } })
    expect(await verify()).not.toBe('OK')
    // A token that is not genuine is asked about again after five seconds.
    clock.ownMs += 5_000
    hear(100)
    expect(await verify()).not.toBe('OK')
    expect(calls).toHaveLength(3)
  }
})

test.each<[what: string, token: object]>([
  ['id', { tokenId: '' }],
  ['holder', { subject: { id: '', name: '', type: '' } }],
  ['account', { scope: { account: '' } }],
  ['id of its project', { scope: { account: 'a', project: 'p' } }],
])('an answer about a token without the %s counts once: no change could name it', async (_what, token) => {
  const { calls, hub, verify, isPlaced } = start()
  hub.token = token
  for (let time = 0; time < 2; time++) expect(await verify()).toBe('OK')
  expect(calls).toHaveLength(2)
  expect(await isPlaced()).toBe(false)
})

test('while everything is void and put off, an answer is remembered here and by no other sidecar', async () => {
  const { clock, calls, hub, hear, verify, isPlaced } = start(1)
  for (const ms of [2_000, 4_000, 6_000]) {
    clock.ownMs = ms
    hear(100)
  }
  hear(200, [undefined])
  hub.of = { position: at(200), basis: 'keys' }
  for (let time = 0; time < 3; time++) expect(await verify()).toBe('OK')
  expect(calls).toHaveLength(1)
  expect(await isPlaced()).toBe(false)
  // A process that has not read what the stream said since is not believed.
  hear(201, [{ thing: 'user', id: 'u' }])
  for (let time = 0; time < 3; time++) expect(await verify()).toBe('OK')
  expect(calls).toHaveLength(4)
  hub.of = { position: at(201), basis: 'keys' }
  clock.ownMs += 2_500
  for (let time = 0; time < 3; time++) expect(await verify()).toBe('OK')
  expect(calls).toHaveLength(5)
  expect(await isPlaced()).toBe(true)
})

test('an answer that was asked for before a change of its holder is not remembered', async () => {
  const { calls, hear, verify } = start()
  const asked = verify()
  hear(101, [{ thing: 'user', id: 'u' }])
  expect(await asked).toBe('OK')
  expect(await verify()).toBe('OK')
  expect(calls).toHaveLength(2)
})

test('without word from the hub, each question is asked', async () => {
  const { clock, calls, verify } = start()
  await verify()
  clock.ownMs = 5_000
  for (let time = 0; time < 3; time++) await verify()
  expect(calls).toHaveLength(4)
})

test('the time and the address are looked at here', async () => {
  const { clock, calls, hub, verify } = start()
  hub.addresses = ['10.0.0.0/8']
  expect(await verify(IAM, { clientAddress: '10.1.1.1' })).toBe('OK')
  expect(await verify(IAM, { clientAddress: '192.0.2.1' })).toBe('ADDRESS_NOT_ALLOWED')
  expect(await verify()).toBe('ADDRESS_NOT_ALLOWED')
  clock.nowMs += MINUTE_MS
  expect(await verify(IAM, { clientAddress: '10.1.1.1' })).toBe('CREDENTIAL_EXPIRED')
  expect(await verify(IAM, { clientAddress: '10.1.1.1', acceptExpired: true })).toBe('OK')
  expect(calls).toHaveLength(1)
})

test('a text that cannot be a token is not asked about', async () => {
  const { calls, verify } = start()
  expect(await verify('hello')).toBe('CREDENTIAL_INVALID')
  expect(calls).toEqual([])
})

test('a token that is not genuine is asked about once in a while', async () => {
  const { calls, hub, verify } = start()
  hub.known = false
  for (let time = 0; time < 3; time++) expect(await verify()).toBe('CREDENTIAL_INVALID')
  expect(calls).toHaveLength(1)
})

test('a hub that answers soon is asked about more and more tokens, at most 250 in a call', async () => {
  const { calls, authority } = start()
  const asked = tokens(3_000).map((value) => authority.verify(value, KINDS))
  await Promise.all(asked)
  const lengths = calls.map(({ length }) => length)
  expect(lengths.slice(0, 5)).toEqual([16, 32, 64, 128, 250])
  expect(Math.max(...lengths)).toBe(250)
})

test('while a hub is slow, fewer and fewer tokens are under way; the next time it is asked about few', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const lengths: number[] = []
  const described = new DescribedTokens(async (values) => {
    lengths.push(values.length)
    vi.advanceTimersByTime([1, 1, 1, 1_000, 1_000, 1_000][lengths.length - 1] ?? 1)
    return { of: { position: undefined, basis: '' }, tokens: values.map(() => undefined) }
  })
  const ask = (count: number) => Promise.all(tokens(count).map((each) => described.describe(each, () => {})))
  await ask(16 + 32 + 64 + 128 + 64 + 32 + 16 + 32)
  expect(lengths).toEqual([16, 32, 64, 128, 64, 32, 16, 32])
  await ask(20)
  expect(lengths.slice(8)).toEqual([16, 4])
})

test('at most 20,000 tokens wait', async () => {
  const { authority } = start()
  const asked = tokens(16 + 20_000 + 1).map(async (value) => authority.verify(value, KINDS))
  const results = await Promise.allSettled(asked)
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1)
  expect(results.at(-1)).toMatchObject({ reason: { reason: 'VERIFICATIONS_EXHAUSTED' } })
})

/** That many tokens. */
function tokens(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${IAM.slice(0, -5)}${String(index).padStart(5, '0')}`)
}
