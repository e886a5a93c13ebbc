/**
 * The fields of protobuf messages, read where they lie: nothing is copied and no object is made between the bytes and the
 * values, because a check is little more than its reading. What a check never holds (unknown fields, long varints) is
 * left to the library's reader.
 */
import { isAscii } from 'node:buffer'
import { BinaryReader } from '@bufbuild/protobuf/wire'

const LENGTH_DELIMITED = 2

/** Strict, and a byte order mark is a character like others: two names that differ must not become one. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class Fields {
  readonly #bytes: Buffer
  /** A character a byte: where all are ASCII, a text is a piece of it, at a third of what a new string costs. */
  readonly #characters: string
  #position = 0
  /** Where the message ends that is being read. */
  #end: number
  /** Number and wire type of the field that `next` came to. */
  number = 0
  type = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#characters = bytes.toString('latin1')
    this.#end = bytes.length
  }

  /** Comes to the next field of the message, or returns `false` at its end. @throws Error where there is no whole tag */
  next(): boolean {
    if (this.#position === this.#end) return false
    const byte = this.#bytes[this.#position] as number
    if (byte >= 0x80) this.#longTag()
    else {
      this.#position++
      this.number = byte >>> 3
      this.type = byte & 7
      if (this.number === 0 || this.type > 5) throw new RangeError('a tag is none')
    }
    return true
  }

  /** Begins the message in this field; `leave` takes what it returns. @throws RangeError where it is no message or cut short */
  enter(): number {
    const outerEnd = this.#end
    this.#end = this.#endOfField()
    return outerEnd
  }

  /** Goes on in the message around the one whose end was reached. */
  leave(outerEnd: number): void {
    this.#end = outerEnd
  }

  /** The text of this field. @throws Error where it is none, cut short, or not UTF-8 */
  text(): string {
    const end = this.#endOfField()
    const start = this.#position
    this.#position = end
    return isAsciiPart(this.#bytes, start, end)
      ? this.#characters.slice(start, end)
      : UTF_8.decode(this.#bytes.subarray(start, end))
  }

  /** Passes over this field. */
  skip(): void {
    if (this.type === LENGTH_DELIMITED) {
      this.#position = this.#endOfField()
      return
    }
    const reader = this.#reader()
    reader.skip(this.type, this.number)
    this.#position = reader.pos
  }

  /** Where the field ends, with its length just passed. */
  #endOfField(): number {
    if (this.type !== LENGTH_DELIMITED)
      throw new RangeError(`field ${this.number} has wire type ${this.type}, expected ${LENGTH_DELIMITED}`)
    let length = this.#bytes[this.#position] as number
    // Beyond the end there is nothing to compare with.
    if (length < 0x80) this.#position++
    else length = this.#longLength()
    const end = this.#position + length
    if (!(end <= this.#end)) throw new RangeError('a field is cut short, or reaches beyond its message')
    return end
  }

  #longTag(): void {
    const reader = this.#reader()
    const [number, type] = reader.tag()
    this.#position = reader.pos
    this.number = number
    this.type = type
  }

  #longLength(): number {
    const low = this.#bytes[this.#position] as number
    const high = this.#bytes[this.#position + 1] as number
    // Two bytes are enough for a token.
    if (high < 0x80) {
      this.#position += 2
      return (low & 0x7f) | (high << 7)
    }
    const reader = this.#reader()
    const length = reader.uint32()
    this.#position = reader.pos
    return length
  }

  /** The library's reader at this place; it sees no further than the message. */
  #reader(): BinaryReader {
    const reader = new BinaryReader(this.#bytes.subarray(0, this.#end))
    reader.pos = this.#position
    return reader
  }
}

/** From here on asking Node, which looks at many bytes at a time, is faster than a loop. */
const LONG_BYTES = 100

function isAsciiPart(bytes: Buffer, start: number, end: number): boolean {
  if (end - start >= LONG_BYTES) return isAscii(bytes.subarray(start, end))
  for (let position = start; position < end; position++) if ((bytes[position] as number) >= 0x80) return false
  return true
}
