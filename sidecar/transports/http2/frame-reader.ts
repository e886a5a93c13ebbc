/** Cuts what arrives into frames, wherever the network cut it. A frame that came whole is not copied. */
import { FRAME_HEADER_BYTES, PREFACE } from './protocol.ts'

/**
 * Takes the frames. The bytes of the payload are only lent: they are overwritten or released after the call.
 */
export interface FrameTaker {
  /** The client's first bytes were the preface of HTTP/2 (RFC 9113, §3.4). */
  isHttp2(): void
  /** They are not. @param first the first one of them */
  notHttp2(first: number): void
  /** Called as soon as a frame's length is known. It throws if that is too long. */
  checkLength(length: number, type: number): void
  takeFrame(type: number, flags: number, stream: number, bytes: Buffer, start: number, end: number): void
  /** Whether to stop for now. The rest is kept for `resume`. */
  pauses(): boolean
}

const NOTHING = Buffer.alloc(0)

export class FrameReader {
  readonly #taker: FrameTaker
  #prefaceBytes = 0
  /** Bytes that have arrived and were not taken yet. */
  #chunk: Buffer = NOTHING
  #at = 0
  /** A frame that arrives in parts, and how much of it is there. */
  #partial: Buffer = NOTHING
  #partialBytes = 0

  constructor(taker: FrameTaker) {
    this.#taker = taker
  }

  /** Whether the preface, or the rest of a frame, is awaited. */
  get expectsMore(): boolean {
    return this.#partialBytes > 0 || this.#prefaceBytes < PREFACE.length
  }

  /** Whether there are bytes that could be taken now. */
  get paused(): boolean {
    return this.#at < this.#chunk.length
  }

  /** Memory that keeps what was not taken, in bytes. */
  get heldBytes(): number {
    return this.#partial.length + (this.paused ? this.#chunk.length : 0)
  }

  /** Takes what has arrived. The bytes are only lent, so the rest is copied. */
  read(chunk: Buffer): void {
    if (this.paused) this.keep(chunk)
    else {
      this.#chunk = chunk
      this.#at = 0
    }
    this.resume()
    if (this.paused) this.#own()
  }

  /** Keeps what has arrived, and does not take it yet. */
  keep(chunk: Buffer): void {
    // A socket that was paused may have had something on its way.
    this.#chunk = Buffer.concat([this.#chunk.subarray(this.#at), chunk])
    this.#at = 0
  }

  /** Goes on where it paused. */
  resume(): void {
    if (this.#prefaceBytes < PREFACE.length && !this.#readPreface()) return
    if (this.#partialBytes > 0 && !this.#completePartial()) return
    while (!this.#taker.pauses() && this.#takeWhole()) {}
  }

  /** Forgets everything that was not taken. */
  discard(): void {
    this.#chunk = NOTHING
    this.#partial = NOTHING
    this.#at = 0
    this.#partialBytes = 0
  }

  #readPreface(): boolean {
    const { length } = this.#chunk
    for (; this.#at < length && this.#prefaceBytes < PREFACE.length; this.#at++) {
      const byte = this.#chunk[this.#at] as number
      if (byte !== PREFACE[this.#prefaceBytes++]) {
        this.#taker.notHttp2(this.#prefaceBytes === 1 ? byte : (PREFACE[0] as number))
        return false
      }
    }
    if (this.#prefaceBytes < PREFACE.length) return false
    this.#taker.isHttp2()
    return true
  }

  /** @returns whether a frame was taken */
  #takeWhole(): boolean {
    const chunk = this.#chunk
    const at = this.#at
    const left = chunk.length - at
    if (left < FRAME_HEADER_BYTES) return this.#keep(left, FRAME_HEADER_BYTES)
    const length = lengthAt(chunk, at)
    this.#taker.checkLength(length, chunk[at + 3] as number)
    const end = at + FRAME_HEADER_BYTES + length
    if (end > chunk.length) return this.#keep(left, FRAME_HEADER_BYTES + length)
    this.#at = end
    this.#take(chunk, at, end)
    return true
  }

  #take(bytes: Buffer, at: number, end: number): void {
    const type = bytes[at + 3] as number
    const flags = bytes[at + 4] as number
    // The reserved bit is ignored (§4.1).
    const stream =
      (((bytes[at + 5] as number) & 0x7f) << 24) |
      ((bytes[at + 6] as number) << 16) |
      ((bytes[at + 7] as number) << 8) |
      (bytes[at + 8] as number)
    this.#taker.takeFrame(type, flags, stream, bytes, at + FRAME_HEADER_BYTES, end)
  }

  /** Copies what is left. */
  #own(): void {
    const left = Buffer.allocUnsafeSlow(this.#chunk.length - this.#at)
    this.#chunk.copy(left, 0, this.#at)
    this.#chunk = left
    this.#at = 0
  }

  /** Copies the beginning of a frame, because the bytes are only lent. */
  #keep(bytes: number, total: number): false {
    if (bytes > 0) {
      this.#partial = Buffer.allocUnsafeSlow(total)
      this.#chunk.copy(this.#partial, 0, this.#at)
      this.#partialBytes = bytes
    }
    this.#chunk = NOTHING
    this.#at = 0
    return false
  }

  /** Adds to the frame that arrives in parts. @returns whether it was completed and taken */
  #completePartial(): boolean {
    if (!this.#fillTo(FRAME_HEADER_BYTES)) return false
    const length = lengthAt(this.#partial, 0)
    this.#taker.checkLength(length, this.#partial[3] as number)
    const total = FRAME_HEADER_BYTES + length
    if (!this.#fillTo(total)) return false
    const frame = this.#partial
    this.#partial = NOTHING
    this.#partialBytes = 0
    this.#take(frame, 0, total)
    return true
  }

  /** Copies from the chunk until that many bytes are there. @returns whether they are */
  #fillTo(bytes: number): boolean {
    if (this.#partial.length < bytes) {
      const larger = Buffer.allocUnsafeSlow(bytes)
      this.#partial.copy(larger, 0, 0, this.#partialBytes)
      this.#partial = larger
    }
    const missing = bytes - this.#partialBytes
    if (missing > 0) {
      const copied = this.#chunk.copy(this.#partial, this.#partialBytes, this.#at, this.#at + missing)
      this.#at += copied
      this.#partialBytes += copied
    }
    if (this.#partialBytes >= bytes) return true
    this.#chunk = NOTHING
    this.#at = 0
    return false
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  return ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
}
