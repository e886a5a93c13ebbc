/** How often a peer may send frames that cost work and bring no request further. */
import { type Bound, ConnectionError, ERROR } from './protocol.ts'

export type Rated = Extract<Bound, 'resets' | 'pings' | 'settings' | 'idle_frames'>

/**
 * What useful work pays for: clients measure the connection with a ping now and then, and report what they have read.
 * Four frames for each request, and one for each so many bytes of an answer.
 */
const EARNED_BY_REQUEST = 4
const BYTES_FOR_ONE = 1_024

const TITLES: Readonly<Record<Rated, string>> = {
  resets: 'streams reset',
  pings: 'pings',
  settings: 'settings',
  idle_frames: 'frames that bring no request further',
}

/** The counts of one connection in the current second. */
export class Rates {
  readonly #resetsMax: number
  readonly #controlFramesMax: number
  #resets = 0
  #pings = 0
  #settings = 0
  #idleFrames = 0
  #earned = 0

  constructor(limits: { readonly resetsPerSecond: number; readonly controlFramesPerSecond: number }) {
    this.#resetsMax = limits.resetsPerSecond
    this.#controlFramesMax = limits.controlFramesPerSecond
  }

  /** A request has begun. */
  request(): void {
    this.#earned += EARNED_BY_REQUEST
  }

  /** So many bytes of answers were sent. */
  sent(bytes: number): void {
    this.#earned += bytes / BYTES_FOR_ONE
  }

  /** @throws ConnectionError with ENHANCE_YOUR_CALM (RFC 9113, §10.5) */
  reset(): void {
    if (++this.#resets > this.#resetsMax) throw tooMany('resets', this.#resetsMax)
  }

  /** @throws ConnectionError with ENHANCE_YOUR_CALM */
  ping(): void {
    this.#check('pings', ++this.#pings)
  }

  /** @throws ConnectionError with ENHANCE_YOUR_CALM */
  setting(): void {
    this.#check('settings', ++this.#settings)
  }

  /** An empty frame, a frame of a stream that is closed, a priority, a window update, a frame of an unknown type. @throws ConnectionError */
  idleFrame(): void {
    this.#check('idle_frames', ++this.#idleFrames)
  }

  newSecond(): void {
    this.#resets = 0
    this.#pings = 0
    this.#settings = 0
    this.#idleFrames = 0
    this.#earned = 0
  }

  #check(kind: Rated, count: number): void {
    if (count > this.#controlFramesMax + this.#earned) throw tooMany(kind, this.#controlFramesMax)
  }
}

function tooMany(kind: Rated, most: number): ConnectionError {
  return new ConnectionError(ERROR.ENHANCE_YOUR_CALM, `more than ${most} ${TITLES[kind]} a second`, kind)
}
