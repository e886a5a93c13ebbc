/** The agent asks for a token, writes it, notifies the application, and tries again. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { IssuedToken } from '../../clients/typescript/index.ts'
import type { Clock } from '../../sidecar/cli/agent/agent-clock.ts'
import { Keeper } from '../../sidecar/cli/agent/keeper.ts'
import type { TokenSource } from '../../sidecar/cli/agent/token-source.ts'
import type { AgentToken } from '../../sidecar/config/agent-config.ts'
import { newFolder } from '../support/suite/resources.ts'

const HOUR = 3_600_000
const START = Date.parse('2026-11-22T00:00:00Z')

/** A day passes at once, because time passes only where a test says so. */
class FakeClock implements Clock {
  wallMs = START
  elapsedMs = 1000
  now = () => this.wallMs
  monotonicMs = () => this.elapsedMs
  sleep = async () => {}
}

class FakeSource implements TokenSource {
  readonly #clock: FakeClock
  lifetimeMs: number | undefined = 24 * HOUR
  /** Why no token is given. */
  failure: { code: string; reason: string; message: string; metadata?: Record<string, string> } | undefined
  denied = new Set<string>()
  /** Gives the same token again, as a sidecar with a cache does. */
  same = false
  issued = 0
  checks = 0
  rejected: (string | undefined)[] = []

  constructor(clock: FakeClock) {
    this.#clock = clock
  }

  async issue(_token: AgentToken, rejected: string | undefined): Promise<IssuedToken> {
    this.rejected.push(rejected)
    if (this.failure !== undefined) throw this.failure
    if (!this.same || this.issued === 0) this.issued++
    const issuedAt = new Date(this.#clock.now())
    return {
      header: 'X-Auth-Token',
      scheme: '',
      value: `token-${this.issued}`,
      headerValue: `token-${this.issued}`,
      kind: 'iam_token_project_scoped',
      scope: { account: '123456', project: 'web' },
      tokenId: `id-${this.issued}`,
      issuedAt,
      expiresAt: this.lifetimeMs === undefined ? undefined : new Date(issuedAt.getTime() + this.lifetimeMs),
      conflicts: [],
    }
  }

  async check(_token: AgentToken, { value }: IssuedToken) {
    this.checks++
    if (this.failure !== undefined) throw this.failure
    return this.denied.has(value)
      ? { allowed: false, reason: 'CREDENTIAL_REVOKED' as const }
      : { allowed: true, reason: 'ALLOWED' as const }
  }

  close(): void {}
}

const UNAVAILABLE = { code: 'UNAVAILABLE', reason: '', message: 'no sidecar answers' }

function keeping({
  checkIntervalMs = 0,
  random = () => 0.5,
  ...wish
}: Partial<AgentToken> & { checkIntervalMs?: number; random?: () => number } = {}) {
  const clock = new FakeClock()
  const source = new FakeSource(clock)
  const logLines: string[] = []
  const token: AgentToken = {
    profile: 'nightly',
    purpose: { apis: ['cdn'], project: 'web' },
    file: join(newFolder(), 'token'),
    format: 'value',
    mode: 0o600,
    owner: undefined,
    group: undefined,
    command: undefined,
    commandTimeoutMs: 60_000,
    signal: undefined,
    onExpiry: 'keep',
    ...wish,
  }
  const log = pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) })
  const access = { mode: token.mode, uid: undefined, gid: undefined }
  const keeper = new Keeper({ token, access, source, clock, random, checkIntervalMs, log })
  /** Steps as `run` does, until this much time has passed. Returns how many steps that took. */
  const pass = async (ms: number) => {
    const end = clock.elapsedMs + ms
    for (let steps = 0; ; steps++) {
      const pauseMs = Math.min(await keeper.step(), end - clock.elapsedMs)
      if (clock.elapsedMs >= end) return steps
      clock.elapsedMs += pauseMs
      clock.wallMs += pauseMs
    }
  }
  const content = () => (existsSync(token.file) ? readFileSync(token.file, 'utf8').trim() : undefined)
  return { clock, source, keeper, token, logLines, pass, content }
}

test('a token is written at once, and replaced ahead of its expiry', async () => {
  const { source, keeper, pass, content } = keeping()
  await keeper.step()
  expect({ content: content(), done: keeper.isDone }).toEqual({ content: 'token-1', done: true })
  await pass(19 * HOUR)
  expect(content()).toBe('token-1')
  await pass(1 * HOUR)
  expect({ content: content(), issued: source.issued }).toEqual({ content: 'token-2', issued: 2 })
})

test.each([
  [0, 19.2],
  [0.999, 20.4],
])('chance %f: another token after %f of 24 hours', async (chance, hours) => {
  const { source, pass } = keeping({ random: () => chance })
  await pass(hours * HOUR - 60_000)
  expect(source.issued).toBe(1)
  await pass(120_000)
  expect(source.issued).toBe(2)
})

test('a sidecar that gives the same token again is asked again before it expires, and nothing is written twice', async () => {
  const { source, pass, logLines, content } = keeping()
  await pass(0)
  source.same = true
  // The cached token keeps its expiry.
  const expiresAt = START + 24 * HOUR
  const { issue } = source
  source.issue = async (...args) => ({ ...(await issue.apply(source, args)), expiresAt: new Date(expiresAt) })
  await pass(23 * HOUR)
  expect(source.rejected.length).toBeGreaterThan(1)
  expect(source.rejected.length).toBeLessThan(10)
  expect(logLines.filter((line) => line.includes('the token was written'))).toHaveLength(1)
  source.same = false
  source.issue = issue
  await pass(1 * HOUR)
  expect(content()).toBe('token-2')
})

describe('a sidecar that does not answer', () => {
  test('is asked ever more rarely, and the last token stays in the file', async () => {
    const { source, keeper, pass, content } = keeping()
    await keeper.step()
    await pass(19 * HOUR)
    source.failure = UNAVAILABLE
    const before = source.rejected.length
    await pass(2 * HOUR)
    const attempts = source.rejected.length - before
    // Half a minute at most between two of them.
    expect(attempts).toBeGreaterThan(40)
    expect(attempts).toBeLessThan(500)
    expect(content()).toBe('token-1')
    source.failure = undefined
    await pass(30_000)
    expect(content()).toBe('token-2')
  })

  test('at the start: the file is written as soon as it answers', async () => {
    const { source, keeper, pass, content } = keeping()
    source.failure = UNAVAILABLE
    await keeper.step()
    expect({ content: content(), done: keeper.isDone }).toEqual({ content: undefined, done: false })
    source.failure = undefined
    await pass(1_000)
    expect(content()).toBe('token-1')
  })

  test('that says when to come back is asked then', async () => {
    const { source, keeper, pass } = keeping()
    source.failure = {
      code: 'RESOURCE_EXHAUSTED',
      reason: 'LOGIN_THROTTLED',
      message: '',
      metadata: { retry_after_seconds: '120' },
    }
    await keeper.step()
    await pass(119_000)
    expect(source.rejected).toHaveLength(1)
    await pass(2_000)
    expect(source.rejected).toHaveLength(2)
  })

  test('that refuses is asked every five minutes at most', async () => {
    const { source, pass } = keeping()
    source.failure = { code: 'PERMISSION_DENIED', reason: 'PROFILE_NOT_ALLOWED', message: '' }
    await pass(24 * HOUR)
    expect(source.rejected.length).toBeLessThan(600)
  })

  test.each([
    ['keep', 'token-1'],
    ['remove', undefined],
  ] as const)('until the token expires: %s', async (onExpiry, left) => {
    const { source, keeper, pass, content, logLines } = keeping({ onExpiry })
    await keeper.step()
    source.failure = UNAVAILABLE
    await pass(24 * HOUR - 60_000)
    expect(content()).toBe('token-1')
    await pass(120_000)
    expect(content()).toBe(left)
    expect(logLines.filter((line) => line.includes('the token has expired'))).toHaveLength(1)
    source.failure = undefined
    await pass(60_000)
    expect(content()).toBe('token-2')
  })
})

describe('the wall clock jumps', () => {
  test.each([25, -25])(
    'by %f hours: a valid token is in the file, and the sidecar is not stormed',
    async (hours) => {
      const { clock, source, keeper, pass, content } = keeping({ onExpiry: 'remove' })
      await keeper.step()
      clock.wallMs += hours * HOUR
      const steps = await pass(60_000)
      expect(content()).toMatch(/^token-/)
      expect(source.issued).toBe(hours > 0 ? 2 : 1)
      expect(steps).toBeLessThan(20)
      // Whatever the wall clock says: no token stays longer than it lives.
      await pass(24 * HOUR)
      expect(source.issued).toBe(hours > 0 ? 3 : 2)
    },
  )

  test('beyond the expiry while the sidecar is silent: the expired token is removed', async () => {
    const { clock, source, keeper, pass, content } = keeping({ onExpiry: 'remove' })
    await keeper.step()
    source.failure = UNAVAILABLE
    clock.wallMs += 25 * HOUR
    await pass(1_000)
    expect(content()).toBeUndefined()
  })

  test('tokens that arrive expired are not asked for more than six times a minute', async () => {
    const { source, pass, logLines } = keeping()
    source.lifetimeMs = -HOUR
    await pass(60_000)
    expect(source.issued).toBeLessThanOrEqual(7)
    expect(logLines.join('')).toContain('compare it with that of the sidecar')
  })
})

describe('a token that is checked', () => {
  test('and no longer good is replaced at once, and the sidecar learns which one it was', async () => {
    const { source, pass, content } = keeping({ checkIntervalMs: 30_000 })
    await pass(45_000)
    expect({ checks: source.checks, content: content() }).toEqual({ checks: 1, content: 'token-1' })
    source.denied.add('token-1')
    await pass(30_000)
    expect({ rejected: source.rejected, content: content() }).toEqual({
      rejected: [undefined, 'token-1'],
      content: 'token-2',
    })
  })

  test('and denied again and again is replaced ever more rarely', async () => {
    const { source, pass } = keeping({ checkIntervalMs: 30_000 })
    source.denied = new Set(Array.from({ length: 1000 }, (_, number) => `token-${number}`))
    await pass(HOUR)
    expect(source.issued).toBeLessThan(15)
  })

  test('and denied without another one leaves the file without a good token, until there is one', async () => {
    const { source, keeper, pass } = keeping({ checkIntervalMs: 30_000 })
    expect(keeper.hasToken).toBe(false)
    await pass(0)
    expect(keeper.hasToken).toBe(true)
    source.denied.add('token-1')
    source.same = true
    await pass(45_000)
    expect(keeper.hasToken).toBe(false)
    source.same = false
    await pass(60_000)
    expect(keeper.hasToken).toBe(true)
    source.failure = UNAVAILABLE
    await pass(23 * HOUR)
    expect(keeper.hasToken).toBe(true)
    await pass(2 * HOUR)
    expect(keeper.hasToken).toBe(false)
  })

  test('without an answer stays', async () => {
    const { source, pass, content } = keeping({ checkIntervalMs: 30_000 })
    await pass(0)
    source.failure = UNAVAILABLE
    await pass(HOUR)
    expect(content()).toBe('token-1')
    expect(source.rejected).toEqual([undefined])
  })
})

test('a token without an expiry is asked for every hour, in case it was replaced', async () => {
  const { source, pass, content } = keeping()
  source.lifetimeMs = undefined
  await pass(2.5 * HOUR)
  expect({ issued: source.issued, content: content() }).toEqual({ issued: 3, content: 'token-3' })
})

describe('the file', () => {
  test('comes back after it was deleted', async () => {
    const { source, token, pass, content } = keeping()
    await pass(0)
    rmSync(token.file)
    await pass(30_000)
    expect({ content: content(), issued: source.issued }).toEqual({ content: 'token-1', issued: 1 })
  })

  test('that cannot be written is tried again, with the same token', async () => {
    const folder = join(newFolder(), 'later')
    const { source, keeper, pass, content, logLines } = keeping({ file: join(folder, 'token') })
    await pass(60_000)
    expect(keeper.isDone).toBe(false)
    expect(logLines.join('')).toContain('ENOENT')
    mkdirSync(folder)
    await pass(60_000)
    expect({ content: content(), issued: source.issued }).toEqual({ content: 'token-1', issued: 1 })
  })
})

describe('the command', () => {
  test('runs after each change and not otherwise, and learns the file', async () => {
    const out = join(newFolder(), 'out')
    const { pass, token } = keeping({ command: ['/bin/sh', '-c', `echo "$PORTCULLIS_TOKEN_FILE" >> ${out}`] })
    await pass(20 * HOUR)
    expect(readFileSync(out, 'utf8')).toBe(`${token.file}\n`.repeat(2))
  })

  test('that fails is run again until it succeeds', async () => {
    const flag = join(newFolder(), 'flag')
    const { keeper, pass, logLines } = keeping({ command: ['/bin/sh', '-c', `test -e ${flag}`] })
    await pass(60_000)
    expect(keeper.isDone).toBe(false)
    expect(logLines.filter((line) => line.includes('the command ended with 1')).length).toBeGreaterThan(3)
    writeFileSync(flag, '')
    await pass(60_000)
    expect(keeper.isDone).toBe(true)
  })

  test.each([
    [
      'that does not end is killed',
      ['/bin/sh', '-c', 'sleep 1000 & sleep 1000'],
      'the command ended with SIGKILL',
    ],
    ['that is not there', ['/nowhere/program'], 'the command cannot be started (ENOENT)'],
  ])('%s', async (_claim, command, problem) => {
    const { keeper, logLines } = keeping({ command, commandTimeoutMs: 50 })
    await keeper.step()
    expect(logLines.join('')).toContain(problem)
  })
})

test.each([
  ['1', 'expected the number of a process in the pid file'],
  ['-1', 'expected the number of a process in the pid file'],
  ['0', 'expected the number of a process in the pid file'],
  ['x', 'expected the number of a process in the pid file'],
  [undefined, 'the pid file cannot be read (ENOENT)'],
])('a signal is not sent to %s', async (pid, problem) => {
  const pidFile = join(newFolder(), 'pid')
  if (pid !== undefined) writeFileSync(pidFile, pid)
  const { keeper, logLines } = keeping({ signal: { pidFile, name: 'SIGHUP' } })
  await keeper.step()
  expect(logLines.join('')).toContain(problem)
})

test('a signal is sent to the process of the pid file', async () => {
  const pidFile = join(newFolder(), 'pid')
  writeFileSync(pidFile, `${process.pid}\n`)
  const received = new Promise((resolve) => process.once('SIGUSR2', resolve))
  const { keeper } = keeping({ signal: { pidFile, name: 'SIGUSR2' } })
  await keeper.step()
  await received
})

test('no log line has the token', async () => {
  const { pass, logLines, source } = keeping({ checkIntervalMs: 30_000 })
  source.denied.add('token-1')
  await pass(HOUR)
  expect(logLines.join('')).not.toMatch(/token-\d/)
})
