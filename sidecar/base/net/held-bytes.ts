/** The connections that lose their bytes where all of them together hold too much. */

export interface Holder {
  /** The bytes that the connection holds in memory. */
  readonly heldBytes: number
  /** Since when that is much (`MUCH_BYTES`), in milliseconds; infinity: it is not known to be. */
  readonly holdsMuchSinceMs: number
  /** Ends what holds it. */
  releaseAll(): void
}

/** A connection that holds more than this for long is closed first. */
const MUCH_BYTES = 131_072

/** The value of `holdsMuchSinceMs` now. */
export function muchSinceMs({ heldBytes, holdsMuchSinceMs }: Holder, nowMs: number): number {
  return heldBytes > MUCH_BYTES ? Math.min(holdsMuchSinceMs, nowMs) : Number.POSITIVE_INFINITY
}

/**
 * Ends those that hold much, first those that have done so for longest, and then those that hold most, until
 * the sum is less by that amount.
 */
export function releaseMost(holders: Iterable<Holder>, tooMuchBytes: number): void {
  for (let left = tooMuchBytes; left > 0; ) {
    let first: Holder | undefined
    for (const holder of holders) if (first === undefined || losesBefore(holder, first)) first = holder
    const bytes = first?.heldBytes ?? 0
    if (first === undefined || bytes === 0) return
    first.releaseAll()
    left -= bytes
  }
}

function losesBefore(one: Holder, other: Holder): boolean {
  const since = one.holdsMuchSinceMs - other.holdsMuchSinceMs
  return since < 0 || (!(since > 0) && one.heldBytes > other.heldBytes)
}
