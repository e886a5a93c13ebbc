/** How often a peer may send frames that cost work and bring no request further. */
import { type Bound, ConnectionError, ERROR } from './protocol.ts'

export type Rated = Extract<Bound, 'resets' | 'pings' | 'settings' | 'idle_frames'>

/**
 * A frame that a peer may send in answer is not an offence, whenever it comes (RFC 9113, §10.5): for
 * each message that it has read it widens two windows, and may measure the connection with a ping. A message
 * is sent in two parts.
 */
const EARNED_BY_REQUEST = 4
const EARNED_BY_PART = 2
/** A long answer is read in parts: one frame for each part of this size. */
const BYTES_FOR_ONE = 1_024

/**
 * Most frames that a peer may have earned and not sent: as many as the small answers earn that the buffers of
 * a socket can hold.
 */
const EARNED_MAX = 262_144
/** Most streams that a peer may cancel because others were answered. */
const CANCELLABLE_MAX = 4_096

const TITLES: Readonly<Record<Rated, string>> = {
  resets: 'streams cancelled or reset',
  pings: 'pings',
  settings: 'settings',
  idle_frames: 'frames that bring no request further',
}

/**
 * The counts of one connection. Some frames of each kind are free in a second; beyond that they must have
 * been earned.
 */
export class Rates {
  readonly #resetsMax: number
  readonly #controlFramesMax: number
  readonly #counts: Record<Rated, number> = { resets: 0, pings: 0, settings: 0, idle_frames: 0 }
  /** How often something of an answer was sent. */
  sentCount = 0
  #cancelled = 0
  #earned = 0
  #cancellable = 0

  constructor(limits: { readonly resetsPerSecond: number; readonly controlFramesPerSecond: number }) {
    this.#resetsMax = limits.resetsPerSecond
    this.#controlFramesMax = limits.controlFramesPerSecond
  }

  /** A request has begun. */
  request(): void {
    this.#earn(EARNED_BY_REQUEST)
  }

  /** A number of bytes of answers was sent, with the ends of a number of parts. */
  sent(bytes: number, parts: number): void {
    this.sentCount++
    this.#earn(EARNED_BY_PART * Math.max(parts, 1) + bytes / BYTES_FOR_ONE)
  }

  /** A stream has ended with an answer. One in two may be cancelled, however many there are. */
  answered(): void {
    if (this.#cancellable < CANCELLABLE_MAX) this.#cancellable++
  }

  /** The peer has cancelled a stream. @throws ConnectionError with ENHANCE_YOUR_CALM (RFC 9113, §10.5) */
  cancelled(): void {
    if (++this.#cancelled <= this.#resetsMax) return
    if (--this.#cancellable < 0) throw tooMany('resets', this.#resetsMax)
  }

  /**
   * A stream was reset here, or refused, because of what the peer did.
   *
   * @throws ConnectionError with ENHANCE_YOUR_CALM
   */
  fault(): void {
    if (++this.#counts.resets > this.#resetsMax) throw tooMany('resets', this.#resetsMax)
  }

  /** @throws ConnectionError with ENHANCE_YOUR_CALM */
  ping(): void {
    this.#spend('pings')
  }

  /** @throws ConnectionError with ENHANCE_YOUR_CALM */
  setting(): void {
    this.#spend('settings')
  }

  /**
   * An empty frame, a frame of a stream that is closed, a priority, a window update, a frame of an unknown
   * type.
   *
   * @throws ConnectionError
   */
  idleFrame(): void {
    this.#spend('idle_frames')
  }

  newSecond(): void {
    this.#cancelled = 0
    this.#counts.resets = 0
    this.#counts.pings = 0
    this.#counts.settings = 0
    this.#counts.idle_frames = 0
  }

  #earn(frames: number): void {
    this.#earned = Math.min(this.#earned + frames, EARNED_MAX)
  }

  #spend(kind: Rated): void {
    if (++this.#counts[kind] <= this.#controlFramesMax) return
    if (--this.#earned < 0) throw tooMany(kind, this.#controlFramesMax)
  }
}

function tooMany(kind: Rated, most: number): ConnectionError {
  return new ConnectionError(ERROR.ENHANCE_YOUR_CALM, `more than ${most} ${TITLES[kind]} a second`, kind)
}
