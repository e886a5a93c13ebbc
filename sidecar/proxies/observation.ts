/**
 * Observe mode: every request that a proxy asks about passes, and its answer is reported.
 * So a guard can be put before a service that has none, and a mistake locks out no client.
 */

/** A protocol by which proxies ask. */
export type ProxyProtocol = 'authorize' | 'ext_authz' | 'ext_authz-http'

/** The observer, and its listeners. */
export interface ObservationOptions {
  /** When it ends, in milliseconds since the epoch; `undefined`: never. */
  readonly untilMs: number | undefined
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  /** Called once. @param passed how many requests passed that would have been denied */
  readonly onEnd: (passed: number) => void
  /** Called for each request that passes and would have been denied. */
  readonly onPassed: (protocol: ProxyProtocol, reason: string) => void
}

/** The observation for protocols of proxies. */
export interface Observing {
  /** `undefined`: requests that are denied do not pass. */
  readonly observation: Observation | undefined
}

/** Time between two looks at the clock, so that the end is reported also without a request. */
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

  /** Whether every request passes now. An end stays an end, also where the clock is set back. */
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
