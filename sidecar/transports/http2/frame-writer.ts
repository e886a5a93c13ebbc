/**
 * Frames on their way out. All connections share one buffer, because each of them writes all of its frames
 * before another one has its turn.
 */
import { FRAME_HEADER_BYTES } from './protocol.ts'

/** Larger than the answers of most turns. */
const BUFFER_BYTES = 65_536

/** Where the bytes go: a socket. */
export interface Sink {
  /** How many bytes wait for the operating system to take them. */
  readonly writableLength: number
  /** Whether the bytes are encrypted before the operating system gets them. */
  readonly encrypted?: boolean
  write(bytes: Uint8Array): unknown
}

export class FrameWriter {
  #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  #at = 0
  #claimed = false

  /**
   * A connection begins its turn.
   *
   * @throws Error if another one has not ended its own: their bytes must never mix
   */
  claim(): void {
    if (this.#claimed) throw new Error('two connections have their turn at the same time')
    this.#claimed = true
  }

  /** The turn has ended, and everything is flushed. */
  release(): void {
    this.#claimed = false
  }

  /** How many bytes were written and not flushed. */
  get length(): number {
    return this.#at
  }

  /** Whether a number of bytes can be written without a flush. */
  hasRoom(bytes: number): boolean {
    return this.#at + bytes <= BUFFER_BYTES
  }

  header(length: number, type: number, flags: number, stream: number): void {
    const buffer = this.#buffer
    const at = this.#at
    buffer[at] = length >> 16
    buffer[at + 1] = length >> 8
    buffer[at + 2] = length
    buffer[at + 3] = type
    buffer[at + 4] = flags
    buffer[at + 5] = stream >> 24
    buffer[at + 6] = stream >> 16
    buffer[at + 7] = stream >> 8
    buffer[at + 8] = stream
    this.#at = at + FRAME_HEADER_BYTES
  }

  bytes(bytes: Uint8Array): void {
    const { length } = bytes
    // A call into C++ costs more than copying a few bytes.
    if (length <= 16)
      for (let index = 0; index < length; index++) this.#buffer[this.#at + index] = bytes[index] as number
    else this.#buffer.set(bytes, this.#at)
    this.#at += length
  }

  part(bytes: Buffer, start: number, end: number): void {
    bytes.copy(this.#buffer, this.#at, start, end)
    this.#at += end - start
  }

  uint16(value: number): void {
    this.#at = this.#buffer.writeUInt16BE(value, this.#at)
  }

  uint32(value: number): void {
    this.#at = this.#buffer.writeUInt32BE(value, this.#at)
  }

  flush(sink: Sink): void {
    if (this.#at === 0) return
    const written = this.#buffer.subarray(0, this.#at)
    this.#at = 0
    // Bytes that are sure to wait are copied, so that a peer that does not read holds no more than it must.
    if (sink.encrypted || sink.writableLength > 0) sink.write(Buffer.from(written))
    else {
      sink.write(written)
      // The socket keeps what the operating system did not take at once. Then the buffer is the socket's.
      if (sink.writableLength > 0) this.#buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
    }
  }

  /** Forgets what was not flushed: its connection is gone. */
  clear(): void {
    this.#at = 0
  }
}
