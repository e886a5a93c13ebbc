/**
 * The token of a profile, as a program keeps it to send requests with. It reads no clock and calls nothing,
 * so each of its runs can be repeated (clients/conformance). Times are in milliseconds on the clock of
 * `Elapsed`.
 */
import type { IssuedToken } from './values.ts'

/** A token is renewed this long before its expiry, or a tenth of what it had left when it came. */
const EARLY_MS_MAX = 60_000

/** A token that never expires is asked for again after this time: the profile may have another one. */
const KEPT_MS_MAX = 300_000

/** A token, and where it belongs. */
type Sendable = Pick<IssuedToken, 'header' | 'headerValue' | 'value'>

/** A token, and until when it is used. */
export interface Kept extends Sendable {
  readonly renewAtMs: number
  readonly expiresAtMs: number
}

export class ProfileToken {
  #kept: Kept | undefined
  #rejected: string | undefined

  /** A token that an API has refused, if none came since. A secret. */
  get rejected(): string | undefined {
    return this.#rejected
  }

  /** The token that is sent without asking the sidecar. */
  current(nowMs: number): Kept | undefined {
    return this.#kept !== undefined && nowMs < this.#kept.renewAtMs ? this.#kept : undefined
  }

  /** The token that is sent where the sidecar has no answer. */
  lasting(nowMs: number): Kept | undefined {
    return this.#kept !== undefined && nowMs < this.#kept.expiresAtMs ? this.#kept : undefined
  }

  /** An API has refused a token. Another one may have come since it was sent. */
  refuse(value: string): void {
    if (this.#kept?.value !== value) return
    this.#kept = undefined
    this.#rejected = value
  }

  /**
   * A token came.
   *
   * @param leftMs until it expires; `Infinity`: it never does
   */
  came({ header, headerValue, value }: Sendable, leftMs: number, nowMs: number): Kept {
    const keptMs = Math.min(KEPT_MS_MAX, leftMs - Math.min(EARLY_MS_MAX, leftMs / 10))
    this.#kept = { header, headerValue, value, renewAtMs: nowMs + keptMs, expiresAtMs: nowMs + leftMs }
    this.#rejected = undefined
    return this.#kept
  }
}
