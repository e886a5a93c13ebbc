/**
 * Messages as gRPC frames them: a byte that says whether it is compressed, four with the length, and the
 * message.
 */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { STATUS, StatusError } from '../contract/call.ts'

const PREFIX_BYTES = 5

/** Compressed messages that are read at the same time. Each may be as large as the largest message. */
const INFLATIONS_MAX = 2

const NOTHING = Buffer.alloc(0)

/** A message that does not fit into this number of bytes is kept in segments of this size. */
const SEGMENT_BYTES = 262_144

/** Memory of this size is given back by hand. */
const RELEASED_BYTES = 65_536

/** The message between the bytes if exactly one is there and it is not compressed: as in most calls. */
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

/** Memory with the beginning of a message that goes on in other memory. */
interface Segment {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly lent: boolean
}

/**
 * Bytes of messages that arrive in parts. A large message is kept in segments until it is complete: to copy
 * it whenever it has outgrown its memory costs more than all else.
 */
export class MessageBuffer {
  readonly #messageBytesMax: number
  readonly #gzip: boolean
  /** Of the message that is not complete. The rest of it is in `#bytes`. */
  #segments: Segment[] = []
  #segmentBytes = 0
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
    return this.#segmentBytes + this.#end - this.#start
  }

  /** Bytes that are missing of the next message, as far as that is known. Beyond it they are negative. */
  get missing(): number {
    const { bytes: head, start } = this.#segments[0] ?? { bytes: this.#bytes, start: this.#start }
    const wanted = this.length >= PREFIX_BYTES ? PREFIX_BYTES + lengthAt(head, start) : PREFIX_BYTES
    return wanted - this.length
  }

  /** Copies the bytes. */
  push(bytes: Buffer, start: number, end: number): void {
    const added = end - start
    if (this.#end + added > this.#bytes.length) this.#makeRoom(added)
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
    const { bytes: head, start } = this.#segments[0] ?? { bytes: this.#bytes, start: this.#start }
    const flag = head[start] as number
    const bytes = lengthAt(head, start)
    if (bytes > this.#messageBytesMax) throw tooLarge(this.#messageBytesMax)
    if (flag > 1 || (flag === 1 && !this.#gzip))
      throw new StatusError({
        code: STATUS.INTERNAL,
        message: 'a compressed message: expected grpc-encoding: gzip',
      })
    if (length < PREFIX_BYTES + bytes) return undefined
    const message = this.#segments.length > 0 ? this.#joined(bytes) : this.#taken(bytes)
    return flag === 1 ? inflated(message, this.#messageBytesMax) : message
  }

  /** Forgets what is here. Messages that were taken stay. */
  drop(): void {
    this.#dropSegments()
    this.#replace(NOTHING)
    this.#start = 0
    this.#end = 0
  }

  #taken(bytes: number): Buffer {
    const from = this.#start + PREFIX_BYTES
    this.#start = from + bytes
    this.#lent = true
    return this.#bytes.subarray(from, this.#start)
  }

  #joined(bytes: number): Buffer {
    const rest = this.#start + PREFIX_BYTES + bytes - this.#segmentBytes
    const parts = this.#segments.map(({ bytes: memory, start, end }) => memory.subarray(start, end))
    parts.push(this.#bytes.subarray(this.#start, rest))
    const framed = Buffer.concat(parts)
    this.#dropSegments()
    this.#start = rest
    return framed.subarray(PREFIX_BYTES)
  }

  #makeRoom(added: number): void {
    const kept = this.#end - this.#start
    const needed = kept + added
    const { missing } = this
    if (needed > SEGMENT_BYTES && kept >= PREFIX_BYTES && missing > 0) this.#beginSegment(added, missing)
    else this.#grow(needed, missing > 0 ? kept + missing : Number.POSITIVE_INFINITY)
  }

  /** All that is here belongs to one message. */
  #beginSegment(added: number, missing: number): void {
    this.#segments.push({ bytes: this.#bytes, start: this.#start, end: this.#end, lent: this.#lent })
    this.#segmentBytes = this.length
    this.#bytes = Buffer.allocUnsafe(Math.max(added, Math.min(missing, SEGMENT_BYTES)))
    this.#lent = false
    this.#start = 0
    this.#end = 0
  }

  /** Makes room in new memory, because messages that were taken lie in the old one. */
  #grow(needed: number, wanted: number): void {
    // Twice as much at a time, but no more than the message that is not complete.
    const larger = Buffer.allocUnsafe(Math.max(needed, Math.min(wanted, 2 * needed)))
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

  #dropSegments(): void {
    for (const { bytes, lent } of this.#segments) if (!lent) release(bytes)
    this.#segments = []
    this.#segmentBytes = 0
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
 * Reads a compressed message. Bytes beyond the limit are not made.
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
