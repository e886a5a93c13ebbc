/** Messages as gRPC frames them: a byte that says whether it is compressed, four with the length, and the message. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { STATUS, StatusError } from '../call.ts'

export const PREFIX_BYTES = 5

/** Compressed messages that are read at the same time. Each may be as large as the largest message. */
const INFLATIONS_MAX = 2

const NOTHING = Buffer.alloc(0)

/** Memory of so many bytes is given back by hand. */
const RELEASED_BYTES = 65_536

/** The message between the bytes if exactly one is there and it is not compressed: what most calls send. */
export function soleMessage(bytes: Buffer, start: number, end: number): Buffer | undefined {
  if (end - start < PREFIX_BYTES || bytes[start] !== 0) return undefined
  return lengthAt(bytes, start) === end - start - PREFIX_BYTES
    ? bytes.subarray(start + PREFIX_BYTES, end)
    : undefined
}

function lengthAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at + 1)
}

const prefix = Buffer.alloc(PREFIX_BYTES)

/** The prefix of a message that is not compressed. The next call overwrites it. */
export function prefixOf(message: Buffer): Buffer {
  prefix.writeUInt32BE(message.length, 1)
  return prefix
}

/** Bytes of messages that arrive in parts. */
export class MessageBuffer {
  readonly #messageBytesMax: number
  readonly #gzip: boolean
  #bytes: Buffer = NOTHING
  #start = 0
  #end = 0
  /** Whether a message that was taken lies in the same memory. */
  #lent = false

  /** @param gzip whether messages may be compressed */
  constructor(messageBytesMax: number, gzip: boolean) {
    this.#messageBytesMax = messageBytesMax
    this.#gzip = gzip
  }

  /** Bytes that are here and were not taken. */
  get length(): number {
    return this.#end - this.#start
  }

  /** Copies the bytes. */
  push(bytes: Buffer, start: number, end: number): void {
    const added = end - start
    if (this.#end + added > this.#bytes.length) this.#grow(added)
    bytes.copy(this.#bytes, this.#end, start, end)
    this.#end += added
  }

  /**
   * Takes the next message; undefined: it is not complete. The bytes stay as they are.
   *
   * @throws StatusError if it is too large, or compressed without saying how
   */
  next(): Buffer | Promise<Buffer> | undefined {
    const { length } = this
    if (length < PREFIX_BYTES) return undefined
    const flag = this.#bytes[this.#start] as number
    const bytes = lengthAt(this.#bytes, this.#start)
    if (bytes > this.#messageBytesMax) throw tooLarge(this.#messageBytesMax)
    if (flag > 1 || (flag === 1 && !this.#gzip))
      throw new StatusError({
        code: STATUS.INTERNAL,
        message: 'a compressed message: expected grpc-encoding: gzip',
      })
    if (length < PREFIX_BYTES + bytes) return undefined
    const from = this.#start + PREFIX_BYTES
    this.#start = from + bytes
    const message = this.#bytes.subarray(from, this.#start)
    this.#lent = true
    return flag === 1 ? inflated(message, this.#messageBytesMax) : message
  }

  /** Forgets what is here. Messages that were taken stay. */
  drop(): void {
    this.#replace(NOTHING)
    this.#start = 0
    this.#end = 0
  }

  /** Makes room in new memory, because messages that were taken lie in the old one. */
  #grow(added: number): void {
    const needed = this.length + added
    // Half more at a time, but no more than the message that has begun.
    const wanted =
      this.length >= PREFIX_BYTES ? PREFIX_BYTES + lengthAt(this.#bytes, this.#start) : PREFIX_BYTES
    const larger = Buffer.allocUnsafe(Math.max(needed, Math.min(wanted, Math.ceil(1.5 * needed))))
    this.#bytes.copy(larger, 0, this.#start, this.#end)
    this.#end -= this.#start
    this.#start = 0
    this.#replace(larger)
  }

  #replace(bytes: Buffer): void {
    if (!this.#lent) release(this.#bytes)
    this.#bytes = bytes
    this.#lent = false
  }
}

/** Gives memory back at once. A flood of unfinished messages is faster than the collection of garbage. */
function release({ buffer, length }: Buffer): void {
  // Small ones share their memory with others.
  if (length >= RELEASED_BYTES && buffer.byteLength === length && buffer instanceof ArrayBuffer)
    buffer.transfer(0)
}

/** The error for a message beyond the limit. */
export function tooLarge(bytesMax: number): StatusError {
  return new StatusError({
    code: STATUS.RESOURCE_EXHAUSTED,
    message: `Received message larger than max (${bytesMax} bytes)`,
  })
}

const inflate = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)
const waiting: (() => void)[] = []
let inflating = 0

/**
 * Reads a compressed message. What it would become beyond the limit is not made.
 *
 * @param damaged the code of the error for bytes that are not gzip
 */
export async function inflated(
  message: Buffer,
  bytesMax: number,
  damaged: number = STATUS.INTERNAL,
): Promise<Buffer> {
  if (inflating >= INFLATIONS_MAX) await new Promise<void>((resolve) => waiting.push(resolve))
  else inflating++
  try {
    return await inflate(message, { maxOutputLength: bytesMax })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(bytesMax)
    throw new StatusError({ code: damaged, message: 'a compressed message that is not gzip' })
  } finally {
    const next = waiting.shift()
    if (next === undefined) inflating--
    else next()
  }
}
