/** The order in which connections go on or are evicted, where all of them hold too much. */
import type { Holder } from '../../base/net/held-bytes.ts'

export interface Sharer extends Holder {
  /** Whether its peer waits for room although it reads its answers. */
  readonly isStarved: boolean
  /** How often it had the last of the room. */
  readonly favours: number
  /** Since when it holds much and reads none of its answers, in milliseconds; infinity: it is not so. */
  readonly stalledSinceMs: number
  /** Lets it have the last of the room, or no longer. */
  favour(isFavoured: boolean): void
}

/**
 * One connection has the last of the room for this time, or until it no longer needs it. Then it has it until
 * another one waits.
 */
const FAVOURED_MS = 1_000

/**
 * A connection that holds much is evicted after this time without reading an answer, in milliseconds, once
 * another one waits.
 */
const STALLED_MS = 5_000

/** More held bytes than this are many, and a release of this number is progress. */
const MUCH_BYTES = 131_072
const GOING_ON_BYTES = 65_536

/** How far what a connection holds goes on, as of the last tick. */
export class Standing {
  isStarved = false
  stalledSinceMs = Number.POSITIVE_INFINITY
  #wentOnMs = 0
  #goneBytes = 0

  /** @param goneBytes what it has let go of so far: requests that are done, and answers that were sent */
  tick(nowMs: number, { starved, heldBytes, reads, goneBytes }: Held): void {
    const goesOn = goneBytes - this.#goneBytes >= GOING_ON_BYTES
    // It is we who keep a peer waiting that has read all of its answers. The rest of a message has a separate
    // time.
    if (goesOn || heldBytes <= MUCH_BYTES || reads) {
      this.#wentOnMs = nowMs
      this.#goneBytes = goneBytes
    }
    this.stalledSinceMs = this.#wentOnMs < nowMs ? this.#wentOnMs : Number.POSITIVE_INFINITY
    this.isStarved = starved && nowMs - this.#wentOnMs < FAVOURED_MS
  }
}

interface Held {
  readonly starved: boolean
  /** Bytes of requests and of answers. */
  readonly heldBytes: number
  /** Whether the peer has read all that it was answered, and takes more. */
  readonly reads: boolean
  readonly goneBytes: number
}

/**
 * Long requests that have all come in part could wait for each other for ever. So one connection at a time
 * has the last of the room. It completes its requests, and makes room for the next one.
 */
export class Relief {
  #favoured: Sharer | undefined
  #sinceMs = 0

  relieve(sharers: Iterable<Sharer>, nowMs: number): void {
    const favoured = this.#favoured
    const isOver = favoured === undefined || isDone(favoured) || nowMs - this.#sinceMs >= FAVOURED_MS
    let next: Sharer | undefined
    let stalled: Sharer | undefined
    let isGone = true
    for (const sharer of sharers) {
      if (sharer === favoured) isGone = false
      else if (sharer.isStarved && (next === undefined || isBefore(sharer, next))) next = sharer
      if (sharer.stalledSinceMs < (stalled?.stalledSinceMs ?? nowMs - STALLED_MS + 1)) stalled = sharer
    }
    if (isGone || (isOver && next !== undefined)) this.#favour(next, nowMs)
    if (next !== undefined || favoured?.isStarved) stalled?.releaseAll()
  }

  #favour(next: Sharer | undefined, nowMs: number): void {
    this.#favoured?.favour(false)
    this.#favoured = next
    this.#sinceMs = nowMs
    next?.favour(true)
  }
}

function isDone({ isStarved, heldBytes }: Sharer): boolean {
  return !isStarved && heldBytes <= GOING_ON_BYTES
}

/** The connection that was favoured less often comes first, then the one that needs the least. */
function isBefore(one: Sharer, other: Sharer): boolean {
  return one.favours < other.favours || (one.favours === other.favours && one.heldBytes < other.heldBytes)
}
