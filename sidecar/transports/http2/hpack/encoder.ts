/**
 * Writes header blocks (RFC 7541). Fields that every answer has enter the peer's dynamic table once; from
 * then on each is one byte. No other field enters it, so it never needs to evict.
 */
import { FIELD_OVERHEAD_BYTES } from './header-field.ts'
import { encodeHuffman, huffmanLength } from './huffman.ts'
import {
  HUFFMAN_CODED,
  INDEXED,
  INDEXED_BITS,
  LITERAL,
  LITERAL_BITS,
  LITERAL_INDEXED,
  LITERAL_INDEXED_BITS,
  SIZE_UPDATE,
  SIZE_UPDATE_BITS,
  STRING_LENGTH_BITS,
} from './representations.ts'
import { STATIC_ENTRIES, staticFields, staticNames } from './static-table.ts'

/** A name and a value whose characters are octets. */
export type Field = readonly [name: string, value: string]

/** The size of the dynamic table as long as the settings say nothing else (RFC 9113, §6.5.2). */
const TABLE_BYTES_DEFAULT = 4_096

/** Fields that many answers have, such as `:status: 200`. Made once for a program, not for a connection. */
export class RepeatedFields {
  readonly fields: readonly Field[]
  constructor(...fields: Field[]) {
    this.fields = fields
  }
}

/** A block that was encoded when the table had a given number of entries. */
interface Encoded {
  readonly bytes: Buffer
  readonly entries: number
}

export class HeaderEncoder {
  /** The names and values in the peer's dynamic table, by when they entered it. */
  readonly #entries = new Map<string, number>()
  #tableBytesLeft = TABLE_BYTES_DEFAULT
  readonly #encoded = new Map<RepeatedFields, Encoded>()
  #mustEmptyTable = false

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. A smaller table than usual is not used at all. */
  setTableSize(bytes: number): void {
    if (bytes >= TABLE_BYTES_DEFAULT) return
    // §4.2: the next block says that the size was reduced.
    this.#mustEmptyTable = true
    this.#tableBytesLeft = 0
    this.#entries.clear()
    this.#encoded.clear()
  }

  /**
   * The block of fields that occur again and again. It must be sent at once: the peer's table is as the block
   * says.
   */
  repeated(block: RepeatedFields): Buffer {
    const found = this.#encoded.get(block)
    if (found !== undefined && found.entries === this.#entries.size && !this.#mustEmptyTable)
      return found.bytes
    const before = this.#entries.size
    const bytes = this.#encode(block.fields, true)
    // A block that adds entries says something else the next time.
    if (this.#entries.size === before) this.#encoded.set(block, { bytes, entries: before })
    return bytes
  }

  /** The block of fields that are the same for one answer alone. */
  once(fields: readonly Field[]): Buffer {
    return this.#encode(fields, false)
  }

  #encode(fields: readonly Field[], index: boolean): Buffer {
    // A string never grows by more than its length prefix, a number never beyond six bytes.
    let room = 8
    for (const [name, value] of fields) room += name.length + value.length + 16
    const writer = new BlockWriter(room)
    if (this.#mustEmptyTable) {
      writer.number(SIZE_UPDATE, SIZE_UPDATE_BITS, 0)
      this.#mustEmptyTable = false
    }
    for (const field of fields) this.#write(writer, field, index)
    return writer.finish()
  }

  #write(writer: BlockWriter, [name, value]: Field, index: boolean): void {
    const key = `${name}\n${value}`
    const entered = this.#entries.get(key)
    // The newest entry has the first number after the static ones.
    const named = staticNames.get(name) ?? 0
    const whole =
      entered === undefined ? staticNumber(name, value, named) : STATIC_ENTRIES + this.#entries.size - entered
    if (whole !== 0) {
      writer.number(INDEXED, INDEXED_BITS, whole)
      return
    }
    const size = name.length + value.length + FIELD_OVERHEAD_BYTES
    const enters = index && size <= this.#tableBytesLeft
    if (enters) writer.number(LITERAL_INDEXED, LITERAL_INDEXED_BITS, named)
    else writer.number(LITERAL, LITERAL_BITS, named)
    if (named === 0) writer.string(name)
    writer.string(value)
    if (!enters) return
    this.#entries.set(key, this.#entries.size)
    this.#tableBytesLeft -= size
  }
}

/**
 * Number of the static entry with that name and value; 0: there is none. Entries of a name follow each other.
 */
function staticNumber(name: string, value: string, first: number): number {
  if (first === 0) return 0
  for (let number = first; staticFields[number]?.name === name; number++)
    if (staticFields[number]?.value === value) return number
  return 0
}

class BlockWriter {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytesMax: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytesMax)
  }

  /** §5.1 @param bits in the first byte */
  number(representation: number, bits: number, value: number): void {
    const mask = (1 << bits) - 1
    if (value < mask) {
      this.#bytes[this.#at++] = representation | value
      return
    }
    this.#bytes[this.#at++] = representation | mask
    let rest = value - mask
    for (; rest >= 0x80; rest >>>= 7) this.#bytes[this.#at++] = 0x80 | (rest & 0x7f)
    this.#bytes[this.#at++] = rest
  }

  /** §5.2: in Huffman's code if that is shorter. */
  string(text: string): void {
    const coded = huffmanLength(text)
    if (coded < text.length) {
      this.number(HUFFMAN_CODED, STRING_LENGTH_BITS, coded)
      this.#at = encodeHuffman(text, this.#bytes, this.#at)
    } else {
      this.number(0, STRING_LENGTH_BITS, text.length)
      this.#at += this.#bytes.write(text, this.#at, 'latin1')
    }
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at)
  }
}
