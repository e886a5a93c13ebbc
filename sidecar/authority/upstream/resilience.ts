/**
 * The reaction to a failure of an upstream: repeat what may be repeated, wait as long as it asks, and leave
 * it alone while it is down.
 */
import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  ConsecutiveBreaker,
  circuitBreaker,
  decorrelatedJitterGenerator,
  ExponentialBackoff,
  handleWhen,
  type RetryPolicy,
  retry,
} from 'cockatiel'
import { type CallError, callError } from '../../base/call-error.ts'

/** The consequences of a failed attempt for the next one. */
interface Consequences {
  /** Whether the upstream is out of order, for the circuit breaker. */
  readonly outage?: boolean
  /** Whether the same call may be made again. */
  readonly repeat?: boolean
  /** How long the upstream asks to be left alone, in milliseconds. */
  readonly pauseMs?: number | undefined
}

/** An attempt failed. */
export class AttemptError extends Error {
  readonly error: CallError
  readonly consequences: Consequences

  constructor(error: CallError, consequences: Consequences) {
    super(error.message, { cause: error })
    this.error = error
    this.consequences = consequences
  }
}

export interface ResilienceTimes {
  /** Pause before the first repetition and the longest one, with jitter, in milliseconds. */
  readonly repeatMs: number
  readonly repeatMsMax: number
  /**
   * How long the upstream is left alone after calls that failed in a row, at first and at most, in
   * milliseconds.
   */
  readonly openMs: number
  readonly openMsMax: number
  /** Monotonic clock, in milliseconds. */
  readonly monotonicMs: () => number
}

/** The events that an operator should see. */
export interface ResilienceEvents {
  /** The upstream has failed too often in a row, and is left alone for a while. */
  readonly onLeftAlone: (upstream: string, problem: string) => void
  /** It answers again. */
  readonly onBack: (upstream: string) => void
  /** A call has ended, with its repetitions. */
  readonly onCalled?: (upstream: string, result: 'answered' | 'failed') => void
}

const TIMES: ResilienceTimes = {
  repeatMs: 50,
  repeatMsMax: 500,
  openMs: 1_000,
  openMsMax: 30_000,
  monotonicMs: () => performance.now(),
}

/** After this number of failed calls in a row the upstream is left alone for a while. */
const FAILURES_MAX = 5

export class Resilience {
  readonly #upstream: string
  readonly #times: ResilienceTimes
  readonly #events: ResilienceEvents
  #breaker: CircuitBreakerPolicy
  /** When the breaker opened, by the monotonic clock. */
  #openedMs = Number.NEGATIVE_INFINITY
  /** Until when the upstream asked to be left alone, by the monotonic clock. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY

  constructor(
    upstream: string,
    times: Partial<ResilienceTimes> = {},
    events: ResilienceEvents = { onLeftAlone: () => {}, onBack: () => {} },
  ) {
    this.#upstream = upstream
    this.#events = events
    this.#times = { ...TIMES, ...times }
    this.#breaker = this.#newBreaker()
  }

  /** @throws CallError that the last attempt failed with, or that says how long no attempt is made */
  async execute<T>(repeats: number, signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    const nowMs = this.#times.monotonicMs()
    if (nowMs < this.#pausedUntilMs) throw this.#leftAlone(this.#pausedUntilMs - nowMs)
    // The breaker reads the wall clock. If that was set back, the breaker would stay open for as long.
    if (nowMs - this.#openedMs > this.#times.openMsMax) this.#breaker = this.#newBreaker()
    const repeating = this.#newRepetition(repeats)
    try {
      return await this.#breaker.execute(() => repeating.execute(attempt, signal))
    } catch (error) {
      if (error instanceof BrokenCircuitError) throw this.#leftAlone(this.#times.openMs)
      if (!(error instanceof AttemptError)) throw error
      const { pauseMs } = error.consequences
      if (pauseMs !== undefined) this.#pausedUntilMs = this.#times.monotonicMs() + pauseMs
      throw error.error
    }
  }

  #newRepetition(repeats: number): RetryPolicy {
    const { repeatMs, repeatMsMax } = this.#times
    const mayRepeat = (error: unknown) =>
      error instanceof AttemptError &&
      error.consequences.repeat === true &&
      error.consequences.pauseMs === undefined
    return retry(handleWhen(mayRepeat), {
      maxAttempts: repeats,
      backoff: new ExponentialBackoff({
        initialDelay: repeatMs,
        maxDelay: repeatMsMax,
        generator: decorrelatedJitterGenerator,
      }),
    })
  }

  #newBreaker(): CircuitBreakerPolicy {
    const { openMs, openMsMax, monotonicMs } = this.#times
    this.#openedMs = Number.POSITIVE_INFINITY
    const breaker = circuitBreaker(
      handleWhen((error) => error instanceof AttemptError && error.consequences.outage === true),
      {
        breaker: new ConsecutiveBreaker(FAILURES_MAX),
        halfOpenAfter: new ExponentialBackoff({ initialDelay: openMs, maxDelay: openMsMax }),
      },
    )
    breaker.onBreak((reason) => {
      this.#openedMs = monotonicMs()
      const problem = 'error' in reason ? (reason.error as Error).message : ''
      this.#events.onLeftAlone(this.#upstream, problem)
    })
    breaker.onReset(() => this.#events.onBack(this.#upstream))
    return breaker
  }

  #leftAlone(ms: number): CallError {
    const seconds = Math.ceil(ms / 1000)
    return callError(
      'UPSTREAM_UNAVAILABLE',
      {
        upstream: this.#upstream,
        problem: `is not called after repeated failures; try again in ${seconds} s`,
      },
      { metadata: { upstream: this.#upstream, retry_after_seconds: String(seconds) } },
    )
  }
}
