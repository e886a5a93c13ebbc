/**
 * When a token is replaced. The sidecar, which gives tokens, and the agent, which keeps them in files, follow
 * one schedule: the agent asks when the sidecar no longer gives the old token. So what a job holds has a
 * share of its life left, as long as there is a new one.
 */

/** Times of a token, in milliseconds since the epoch; `undefined`: not known, and no expiry. */
export interface TokenTimes {
  readonly issuedAtMs: number | undefined
  readonly expiresAtMs: number | undefined
}

/** In milliseconds from the moment that the schedule was made for. */
export interface TokenSchedule {
  /** Until it expires. Not positive: it has expired by the clock of this host. */
  readonly leftMs: number
  /** Until it is given only where there is no new one. */
  readonly dueMs: number
  /** With less than this left, it is not given at all: it would expire on the way to the API. */
  readonly leastMs: number
}

/** The last share of a token's life. */
const LAST_SHARE = 0.2

/** The last share is at least this long, in milliseconds, or half of a shorter life. */
const LAST_MS_MIN = 60_000

/**
 * The longest life that counts, in milliseconds: a token that lives for years would hide a change of its
 * user.
 */
const LIFE_MS_MAX = 86_400_000

/** How soon another token is sought after one that came in its last share, at most, in milliseconds. */
const AGAIN_MS_MAX = 60_000

/** A token is not given with less than this left, in milliseconds, or a tenth of what was left of it. */
const LEAST_MS = 10_000
const LEAST_SHARE = 0.1

/** How much earlier the sidecar may begin, and how much later an agent may ask, as parts of `dueMs`. */
const EARLIER_PART = 1 / 8
const LATER_PART = 1 / 16

/** @param nowMs wall clock, in milliseconds since the epoch */
export function scheduleOf({ issuedAtMs, expiresAtMs }: TokenTimes, nowMs: number): TokenSchedule {
  const endsMs = expiresAtMs ?? Number.POSITIVE_INFINITY
  const leftMs = endsMs - nowMs
  const lifeMs = Math.min(LIFE_MS_MAX, Math.max(leftMs, endsMs - (issuedAtMs ?? nowMs)))
  const lastMs = Math.max(LAST_SHARE * lifeMs, Math.min(LAST_MS_MIN, lifeMs / 2))
  return {
    leftMs,
    dueMs:
      leftMs > lastMs
        ? Math.min(leftMs, LIFE_MS_MAX) - lastMs
        : // Its issuer may give it again, so the attempts must not follow each other without a pause.
          Math.min(leftMs / 2, AGAIN_MS_MAX),
    leastMs: Math.min(LEAST_MS, LEAST_SHARE * leftMs),
  }
}

/**
 * When a new token is obtained beside the calls that ask for the old one. Hosts that started together drift.
 *
 * @param random from 0 to less than 1
 */
export function beginMs({ dueMs }: TokenSchedule, random: number): number {
  return dueMs * (1 - EARLIER_PART * (1 - random))
}

/**
 * When the holder of a token asks for the new one. Many holders do not come at once.
 *
 * @param random from 0 to less than 1
 */
export function askMs({ dueMs }: TokenSchedule, random: number): number {
  return dueMs * (1 + LATER_PART * random)
}
