/**
 * Observe mode: every request that a proxy asks about passes, and what it would have been answered is told.
 * So a guard is put before a service that has none, and nobody is locked out by a mistake.
 */

/** A protocol by which proxies ask. */
export type ProxyProtocol = 'authorize' | 'ext_authz' | 'ext_authz-http'

/** What observes, and whom it tells. */
export interface ObservationOptions {
  /** When it ends, in milliseconds since the epoch; `undefined`: never. */
  readonly untilMs: number | undefined
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  /** Is told once. @param passed how many requests passed that would have been denied */
  readonly onEnd: (passed: number) => void
  /** Is told of each request that passes and would have been denied. */
  readonly onPassed: (protocol: ProxyProtocol, reason: string) => void
}

/** What protocols of proxies are given. */
export interface Observing {
  /** `undefined`: requests that are denied do not pass. */
  readonly observation: Observation | undefined
}

/** Time between two looks at the clock, so that the end is told also where nobody asks. */
const LOOK_MS = 1_000

export class Observation {
  readonly #options: ObservationOptions
  readonly #timer: NodeJS.Timeout | undefined
  #over = false
  #passed = 0

  constructor(options: ObservationOptions) {
    this.#options = options
    if (options.untilMs !== undefined) this.#timer = setInterval(() => this.isOn(), LOOK_MS).unref()
  }

  /** Whether every request passes now. What is over stays over, also where the clock is set back. */
  isOn(): boolean {
    const { untilMs = Number.POSITIVE_INFINITY, now, onEnd } = this.#options
    if (!this.#over && now() >= untilMs) {
      this.#over = true
      this.close()
      onEnd(this.#passed)
    }
    return !this.#over
  }

  /** A request passes that would have been denied. @param reason of the denial, or of the error */
  passed(protocol: ProxyProtocol, reason: string): void {
    this.#passed++
    this.#options.onPassed(protocol, reason)
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
