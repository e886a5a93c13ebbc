/**
 * Limits by the wall clock, for what outlives a process or is shared by hosts. A clock can be ahead for a
 * while, and right again: a time that was written meanwhile would last longer by the jump. So it has ended,
 * too, while more is left of it than its limit.
 */

/** Largest difference between the clocks of hosts that counts as none, in milliseconds. */
export const CLOCK_SKEW_MS = 60_000

/** Whether a time has come, by a clock that may be so far behind the one that wrote it. */
export function hasCome(atMs: number, nowMs: number): boolean {
  return atMs <= nowMs + CLOCK_SKEW_MS
}

export class TimeLimit {
  /** In milliseconds. */
  readonly ms: number

  constructor(ms: number) {
    this.ms = ms
  }

  /** When something ends that begins then. Both are milliseconds since the epoch. */
  endOf(beginMs: number): number {
    return beginMs + this.ms
  }

  /** Whether it has ended, by its end. A time that is not a number has passed. */
  isOver(endsAtMs: number, nowMs: number): boolean {
    const leftMs = endsAtMs - nowMs
    return !(leftMs > 0 && leftMs <= this.ms + CLOCK_SKEW_MS)
  }

  /** Whether it has ended, by its begin. */
  isOverSince(beginMs: number, nowMs: number): boolean {
    return this.isOver(this.endOf(beginMs), nowMs)
  }

  /**
   * The time that is left, by the clock that wrote the begin, in milliseconds. It ends where that clock was
   * set back: a pause must not last longer by it.
   */
  leftSince(beginMs: number, nowMs: number): number {
    const leftMs = this.endOf(beginMs) - nowMs
    return leftMs > 0 && leftMs <= this.ms ? leftMs : 0
  }
}
