/**
 * Keeps one token fresh in its file. `step` does what is due and says when to come back; so a test can be a
 * day later. Times are planned on a monotonic clock, and the wall clock can only make them earlier: after a
 * jump nothing is served too long.
 */
import type { Logger } from 'pino'
import type { IssuedToken, PortcullisError } from '../../../clients/typescript/index.ts'
import { askMs, scheduleOf } from '../../base/token-schedule.ts'
import type { AgentToken } from '../../config/agent-config.ts'
import type { Clock } from './agent-clock.ts'
import { BackOff } from './back-off.ts'
import { formatToken } from './formats.ts'
import { notify } from './notification.ts'
import { type FileAccess, fileExists, removeFile, replaceFile } from './token-file.ts'
import type { TokenSource } from './token-source.ts'

export interface KeeperOptions {
  readonly token: AgentToken
  readonly access: FileAccess
  readonly source: TokenSource
  readonly clock: Clock
  /** From 0 to less than 1. */
  readonly random: () => number
  /** How often to ask whether the token is still good, in milliseconds; 0: never. */
  readonly checkIntervalMs: number
  readonly log: Logger
}

/** The least time between two tokens, in milliseconds: of one that is valid, and of one that came expired. */
const RENEW_MS_MIN = 1_000
const EXPIRED_MS_MIN = 10_000

/**
 * A token that never expires may be replaced in the configuration of the sidecar. How often to look, in
 * milliseconds.
 */
const NO_EXPIRY_MS = 3_600_000

/**
 * The longest pauses after failures, in milliseconds: while the sidecar does not answer, while it refuses,
 * for files and commands.
 */
const UNANSWERED_MS_MAX = 30_000
const REFUSED_MS_MAX = 300_000
const LOCAL_MS_MAX = 60_000

/** The longest pause between two denials of a check, in milliseconds. */
const DENIED_MS_MAX = 600_000

/** The longest sleep, in milliseconds. After it the agent looks at the wall clock and at the file. */
const SLEEP_MS_MAX = 30_000

/** The shortest one, so that nothing ever spins. */
const SLEEP_MS_MIN = 100

/** Codes for which the same call may succeed soon. */
const TRANSIENT: ReadonlySet<string> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED'])

export class Keeper {
  readonly #options: KeeperOptions
  readonly #log: Logger
  #issued: IssuedToken | undefined
  /** When to ask for another token: on both clocks. */
  #renew = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY }
  #expiry = { monotonicMs: Number.POSITIVE_INFINITY, wallMs: Number.POSITIVE_INFINITY }
  #expired = false
  #checkAtMs = Number.POSITIVE_INFINITY
  #denials = 0
  /** Whether the last check denied the token of the file. */
  #denied = false
  #everWritten = false
  /** A token that a check denied. */
  #rejected: string | undefined
  #written = true
  #notified = true
  readonly #issuing: BackOff
  readonly #writing: BackOff
  readonly #notifying: BackOff

  constructor(options: KeeperOptions) {
    this.#options = options
    this.#log = options.log.child({ file: options.token.file, profile: options.token.profile })
    this.#issuing = new BackOff(options.random)
    this.#writing = new BackOff(options.random)
    this.#notifying = new BackOff(options.random)
  }

  /** Whether the file has the newest token, and the application knows. */
  get isDone(): boolean {
    return this.#issued !== undefined && this.#written && this.#notified
  }

  /** Whether the file has a token that is good, as far as is known. */
  get hasToken(): boolean {
    return this.#everWritten && !this.#expired && !this.#denied
  }

  /**
   * Keeps the token fresh until the signal is given. Never rejects.
   *
   * @param onWithoutToken called after each step that leaves the file without a good token
   */
  async run(signal: AbortSignal, onWithoutToken: () => void): Promise<void> {
    while (!signal.aborted) {
      const pauseMs = await this.step()
      if (!signal.aborted && !this.hasToken) onWithoutToken()
      await this.#options.clock.sleep(pauseMs, signal)
    }
  }

  /** Does what is due. Returns how long nothing is, in milliseconds. */
  async step(): Promise<number> {
    const { clock, token } = this.#options
    if (this.#isRenewalDue()) await this.#ask()
    else if (clock.monotonicMs() >= this.#checkAtMs) await this.#check()
    this.#expireIfDue()
    // It was deleted.
    if (this.#issued !== undefined && this.#written && !this.#expired && !fileExists(token.file))
      this.#written = false
    if (!this.#written && clock.monotonicMs() >= this.#writing.notBeforeMs) this.#write()
    if (this.#written && !this.#notified && clock.monotonicMs() >= this.#notifying.notBeforeMs)
      await this.#notify()
    return this.#pauseMs()
  }

  #isRenewalDue(): boolean {
    const { clock } = this.#options
    if (clock.monotonicMs() < this.#issuing.notBeforeMs) return false
    return (
      this.#rejected !== undefined ||
      clock.monotonicMs() >= this.#renew.monotonicMs ||
      clock.now() >= this.#renew.wallMs
    )
  }

  async #ask(): Promise<void> {
    const { source, token, clock } = this.#options
    try {
      const issued = await source.issue(token, this.#rejected)
      // A token that cannot be written is as good as none.
      formatToken(token.format, issued)
      this.#issuing.succeed()
      this.#take(issued)
    } catch (error) {
      const { code, reason, message, metadata } = error as PortcullisError
      const mostMs = TRANSIENT.has(code) ? UNANSWERED_MS_MAX : REFUSED_MS_MAX
      const askedMs = Number(metadata?.retry_after_seconds ?? 0) * 1000
      const pauseMs = this.#issuing.fail(clock.monotonicMs(), mostMs, askedMs || 0)
      this.#log.warn({ code, reason, problem: message, retry_ms: Math.round(pauseMs) }, 'no token was issued')
    }
  }

  #take(issued: IssuedToken): void {
    const { clock, random, checkIntervalMs } = this.#options
    const isNew = issued.value !== this.#issued?.value
    if (this.#rejected !== undefined && !isNew) this.#log.warn('the sidecar gave the denied token again')
    this.#rejected = undefined
    this.#issued = issued
    const nowMs = clock.now()
    const monotonicMs = clock.monotonicMs()
    const { issuedAt, expiresAt } = issued
    const times = { issuedAtMs: issuedAt?.getTime(), expiresAtMs: expiresAt?.getTime() }
    const schedule = scheduleOf(times, nowMs)
    const { leftMs } = schedule
    if (leftMs <= 0)
      this.#log.warn('the token has expired by the clock of this host; compare it with that of the sidecar')
    const pauseMs =
      expiresAt === undefined
        ? NO_EXPIRY_MS
        : Math.max(leftMs > 0 ? RENEW_MS_MIN : EXPIRED_MS_MIN, askMs(schedule, random()))
    this.#renew = { monotonicMs: monotonicMs + pauseMs, wallMs: nowMs + pauseMs }
    this.#expiry = { monotonicMs: monotonicMs + leftMs, wallMs: nowMs + leftMs }
    this.#checkAtMs = checkIntervalMs === 0 ? Number.POSITIVE_INFINITY : monotonicMs + this.#checkPauseMs()
    if (!isNew) return
    this.#expired = false
    this.#denied = false
    this.#written = false
    this.#notified = false
    this.#writing.succeed()
    this.#notifying.succeed()
  }

  /** Tokens that are denied again and again are not replaced at each check. */
  #checkPauseMs(): number {
    return Math.max(
      this.#options.checkIntervalMs,
      Math.min(DENIED_MS_MAX, this.#options.checkIntervalMs * 2 ** Math.max(0, this.#denials - 1)),
    )
  }

  async #check(): Promise<void> {
    const { source, token, clock } = this.#options
    const issued = this.#issued
    if (issued === undefined) return
    try {
      const { allowed, reason } = await source.check(token, issued)
      if (allowed) {
        this.#denials = 0
        this.#denied = false
      } else {
        this.#denials++
        this.#denied = true
        this.#rejected = issued.value
        this.#log.warn({ reason }, 'the token is no longer good; asking for another one')
        if (this.#isRenewalDue()) await this.#ask()
      }
    } catch (error) {
      // No answer says nothing about the token.
      this.#log.debug({ problem: (error as Error).message }, 'the token was not checked')
    }
    this.#checkAtMs = clock.monotonicMs() + this.#checkPauseMs()
  }

  #expireIfDue(): void {
    const { clock, token } = this.#options
    if (this.#expired || this.#issued === undefined) return
    if (clock.now() < this.#expiry.wallMs && clock.monotonicMs() < this.#expiry.monotonicMs) return
    this.#expired = true
    const removes = token.onExpiry === 'remove'
    this.#log.error(
      { removed: removes },
      'the token has expired and there is no other one; the application has no valid token',
    )
    if (!removes) return
    removeFile(token.file)
    // It must not come back.
    this.#written = true
  }

  #write(): void {
    const { token, access, clock } = this.#options
    const issued = this.#issued as IssuedToken
    try {
      replaceFile(token.file, formatToken(token.format, issued), access)
      this.#written = true
      this.#everWritten = true
      this.#writing.succeed()
      this.#log.info(
        { kind: issued.kind, token_id: issued.tokenId, expires_at: issued.expiresAt?.toISOString() },
        'the token was written',
      )
    } catch (error) {
      const pauseMs = this.#writing.fail(clock.monotonicMs(), LOCAL_MS_MAX)
      const { code, message } = error as NodeJS.ErrnoException
      this.#log.error(
        { problem: code ?? message, retry_ms: Math.round(pauseMs) },
        'the file cannot be written',
      )
    }
  }

  async #notify(): Promise<void> {
    const { token, clock } = this.#options
    try {
      await notify(token)
      this.#notified = true
    } catch (error) {
      // Until it succeeds, or there is a newer token: an application that missed the change would use the old
      // one until it expires.
      const pauseMs = this.#notifying.fail(clock.monotonicMs(), LOCAL_MS_MAX)
      const { message } = error as Error
      this.#log.error({ problem: message, retry_ms: Math.round(pauseMs) }, 'the application was not notified')
    }
  }

  /** How long nothing is due, as far as the clocks do not jump. */
  #pauseMs(): number {
    const { clock } = this.#options
    const monotonicMs = clock.monotonicMs()
    const renewal = Math.max(
      this.#issuing.notBeforeMs,
      this.#rejected === undefined ? this.#renew.monotonicMs : Number.NEGATIVE_INFINITY,
    )
    const due = [
      renewal,
      this.#checkAtMs,
      this.#written ? Number.POSITIVE_INFINITY : this.#writing.notBeforeMs,
      this.#written && !this.#notified ? this.#notifying.notBeforeMs : Number.POSITIVE_INFINITY,
      this.#expired ? Number.POSITIVE_INFINITY : this.#expiry.monotonicMs,
    ]
    return Math.max(SLEEP_MS_MIN, Math.min(SLEEP_MS_MAX, ...due.map((each) => each - monotonicMs)))
  }
}
