/**
 * Reads the fields of protobuf messages in place: it copies no bytes and creates no intermediate objects,
 * because reading is most of the work of a check. Rare cases (unknown fields, long varints) are left to the
 * library's reader.
 */
import { isAscii } from 'node:buffer'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { invalidArgument } from '../base/call-error.ts'

const LENGTH_DELIMITED = 2

/**
 * Most fields in one request, those of inner messages included. Each takes only two bytes, so millions of
 * them would fit into a message, and reading them would delay all other calls.
 */
export const FIELDS_MAX = 50_000

/** The error for a request with more. */
export function tooManyFields(most: number): Error {
  return invalidArgument({ field: 'the request', expected: `at most ${most} fields` })
}

/** Fails on invalid UTF-8, and keeps a byte order mark: two different names must not become the same text. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class Fields {
  readonly #bytes: Buffer
  /**
   * One character for each byte. An ASCII text is a slice of it, which costs a third of decoding a new
   * string.
   */
  readonly #characters: string
  readonly #most: number
  #read = 0
  #position = 0
  #reader: BinaryReader | undefined
  /** End of the current message. */
  #end: number
  /** Number and wire type of the current field, which `next` sets. */
  number = 0
  type = 0

  /** @param most fields that are read */
  constructor(bytes: Buffer, most = FIELDS_MAX) {
    this.#bytes = bytes
    this.#most = most
    this.#characters = bytes.toString('latin1')
    this.#end = bytes.length
  }

  /**
   * Moves to the next field of the message. Returns `false` at its end.
   *
   * @throws Error if it is invalid, truncated, or one too many
   */
  next(): boolean {
    if (this.#position === this.#end) return false
    if (++this.#read > this.#most) throw tooManyFields(this.#most)
    const byte = this.#bytes[this.#position] as number
    if (byte >= 0x80) this.#longTag()
    else {
      this.#position++
      this.number = byte >>> 3
      this.type = byte & 7
      if (this.number === 0 || this.type > 5) throw new RangeError('invalid tag')
    }
    return true
  }

  /**
   * Begins to read the message in this field. Returns a position that must be passed to `leave`.
   *
   * @throws RangeError if the field is not a message or is truncated
   */
  enter(): number {
    const outerEnd = this.#end
    this.#end = this.#endOfField()
    return outerEnd
  }

  /** Length of the text of this field, which is not read; -1: it is long, or no text. */
  lengthAhead(): number {
    const length = this.#bytes[this.#position] as number
    return this.type === LENGTH_DELIMITED && length < 0x80 ? length : -1
  }

  /** A byte of the text of this field, which is not read and has its own length. */
  byteAhead(index: number): number {
    return this.#bytes[this.#position + 1 + index] ?? 0
  }

  /** Returns to the outer message, whatever is left of the inner one. */
  abandon(outerEnd: number): void {
    this.#position = this.#end
    this.#end = outerEnd
  }

  /** Returns to the outer message after the end of the inner one. */
  leave(outerEnd: number): void {
    this.#end = outerEnd
  }

  /** Reads the text of this field. @throws Error if the field is not a text, truncated, or not UTF-8 */
  text(): string {
    const end = this.#endOfField()
    const start = this.#position
    this.#position = end
    return isAsciiPart(this.#bytes, start, end)
      ? this.#characters.slice(start, end)
      : UTF_8.decode(this.#bytes.subarray(start, end))
  }

  /**
   * Reads this field as one character for each byte, whatever it contains.
   *
   * @throws Error if it is not a text, or truncated
   */
  characters(): string {
    const end = this.#endOfField()
    const start = this.#position
    this.#position = end
    return this.#characters.slice(start, end)
  }

  /** Skips this field. */
  skip(): void {
    if (this.type === LENGTH_DELIMITED) {
      this.#position = this.#endOfField()
      return
    }
    const reader = this.#readerHere()
    reader.skip(this.type, this.number)
    this.#moveTo(reader.pos)
  }

  /** Reads the length of the field, and returns the field's end. */
  #endOfField(): number {
    if (this.type !== LENGTH_DELIMITED)
      throw new RangeError(`field ${this.number} has wire type ${this.type}, expected ${LENGTH_DELIMITED}`)
    let length = this.#bytes[this.#position] as number
    // Beyond the end of the bytes the value is `undefined`. Then `length < 0x80` is false, and the comparison
    // below fails.
    if (length < 0x80) this.#position++
    else length = this.#longLength()
    const end = this.#position + length
    if (!(end <= this.#end)) throw new RangeError('a field is truncated, or longer than its message')
    return end
  }

  #longTag(): void {
    const reader = this.#readerHere()
    const [number, type] = reader.tag()
    this.#moveTo(reader.pos)
    this.number = number
    this.type = type
  }

  #longLength(): number {
    const low = this.#bytes[this.#position] as number
    const high = this.#bytes[this.#position + 1] as number
    // Two bytes are enough for the length of a token.
    if (high < 0x80) {
      this.#position += 2
      return (low & 0x7f) | (high << 7)
    }
    const reader = this.#readerHere()
    const length = reader.uint32()
    this.#moveTo(reader.pos)
    return length
  }

  /**
   * The library's reader at this position. One serves the whole request, which can have millions of fields.
   */
  #readerHere(): BinaryReader {
    this.#reader ??= new BinaryReader(this.#bytes)
    this.#reader.pos = this.#position
    return this.#reader
  }

  /**
   * @throws RangeError if the position is beyond the message: the reader knows the end of the request alone
   */
  #moveTo(position: number): void {
    if (position > this.#end) throw new RangeError('a field is truncated, or longer than its message')
    this.#position = position
  }
}

/** From this length on Node's `isAscii`, which tests many bytes at a time, is faster than a loop. */
const LONG_BYTES = 100

function isAsciiPart(bytes: Buffer, start: number, end: number): boolean {
  if (end - start >= LONG_BYTES) return isAscii(bytes.subarray(start, end))
  for (let position = start; position < end; position++) if ((bytes[position] as number) >= 0x80) return false
  return true
}
