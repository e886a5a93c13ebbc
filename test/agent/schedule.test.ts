/** The agent and the cache of the sidecar together: what the file holds while time passes on both. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { IssuedToken } from '../../clients/typescript/index.ts'
import { IssuedTokens } from '../../sidecar/authority/upstream/issued-tokens.ts'
import { callError } from '../../sidecar/base/call-error.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { Keeper } from '../../sidecar/cli/agent/keeper.ts'
import { newFolder } from '../support/suite/resources.ts'

const HOUR_MS = 3_600_000
const SCOPE = { account: '123456' }
const ISSUED = {
  header: 'X-Auth-Token',
  scheme: '',
  kind: 'iam_token_account_scoped',
  scope: SCOPE,
  conflicts: [],
}

/** An agent before a sidecar, whose upstream gives tokens of this life. Chance decides both the same way. */
function agentAndSidecar(lifeMs: number, chance: number) {
  const clock = {
    wallMs: Date.parse('2026-11-22T00:00:00Z'),
    now: () => clock.wallMs,
    monotonicMs: () => clock.wallMs - 1_000_000,
    sleep: async () => {},
  }
  const random = () => chance
  const upstream = { answers: true, logins: 0, endsOf: new Map<string, number>() }
  const tokens = new IssuedTokens({ now: clock.now, monotonicMs: clock.monotonicMs, random })
  const logIn = async () => {
    upstream.logins++
    if (!upstream.answers) throw callError('UPSTREAM_UNAVAILABLE', { upstream: 'cloud', problem: 'is gone' })
    const value = `token-${upstream.logins}`
    const times = { issuedAtMs: clock.wallMs, expiresAtMs: clock.wallMs + lifeMs }
    upstream.endsOf.set(value, times.expiresAtMs)
    const subject = { id: '1', name: 'robot', type: 'user' }
    return {
      value: new Secret(value),
      token: { kind: ISSUED.kind, scope: SCOPE, subject, tokenId: value, ...times },
    }
  }
  const source = {
    issue: async (): Promise<IssuedToken> => {
      const { value, token } = await tokens.get({
        parts: ['job'],
        obtain: logIn,
        isActive: () => true,
        rememberFailures: true,
      })
      const { tokenId, issuedAtMs, expiresAtMs } = token
      const [issuedAt, expiresAt] = [new Date(Number(issuedAtMs)), new Date(Number(expiresAtMs))]
      return { ...ISSUED, value: value.reveal(), headerValue: value.reveal(), tokenId, issuedAt, expiresAt }
    },
    check: () => Promise.reject(new Error('no check was expected')),
    close: () => {},
  }
  const file = join(newFolder(), 'token')
  const access = { mode: 0o600, uid: undefined, gid: undefined }
  const kept = {
    profile: 'job',
    purpose: { scope: SCOPE },
    file,
    format: 'value',
    command: undefined,
  } as const
  const token = {
    ...{ ...kept, mode: 0o600, owner: undefined, group: undefined, commandTimeoutMs: 60_000 },
    ...{ signal: undefined, onExpiry: 'keep' as const },
  }
  const log = pino({ level: 'silent' })
  const keeper = new Keeper({ token, access, source, clock, random, checkIntervalMs: 0, log })
  /** The least life that the token of the file had left while this much time passed. */
  const leastLeft = async (ms: number) => {
    let leastMs = Number.POSITIVE_INFINITY
    for (const endMs = clock.wallMs + ms; clock.wallMs < endMs; ) {
      const pauseMs = await keeper.step()
      clock.wallMs += pauseMs
      // Just before the agent wakes.
      const held = readFileSync(file, 'utf8').trim()
      leastMs = Math.min(leastMs, Number(upstream.endsOf.get(held)) - clock.wallMs)
    }
    return leastMs
  }
  return { upstream, leastLeft }
}

test.each(
  [12_000, 15_000, 60_000, 10 * 60_000, HOUR_MS, 24 * HOUR_MS, 30 * 24 * HOUR_MS].flatMap((lifeMs) =>
    [0, 0.5, 0.999].map((chance) => [lifeMs, chance] as const),
  ),
)(
  'a token of %d ms, chance %f: the file holds one with a seventh of its life left',
  async (lifeMs, chance) => {
    const { upstream, leastLeft } = agentAndSidecar(lifeMs, chance)
    const longMs = 5 * Math.min(lifeMs, 24 * HOUR_MS)
    expect(await leastLeft(longMs)).toBeGreaterThan(lifeMs / 7)
    // One login for each token: the agent causes no others.
    expect(upstream.logins).toBeLessThanOrEqual(11)
  },
)

test('the new token is in the file a minute after an outage at the most', async () => {
  const { upstream, leastLeft } = agentAndSidecar(HOUR_MS, 0.5)
  await leastLeft(0.7 * HOUR_MS)
  upstream.answers = false
  expect(await leastLeft(0.25 * HOUR_MS)).toBeGreaterThan(0)
  upstream.answers = true
  await leastLeft(2 * 60_000)
  expect(await leastLeft(1)).toBeGreaterThan(0.9 * HOUR_MS)
})
