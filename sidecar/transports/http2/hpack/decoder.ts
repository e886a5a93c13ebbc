/**
 * Reads header blocks (RFC 7541). A block that cannot be read ends the connection, because the tables then
 * differ.
 */
import { DynamicTable } from './dynamic-table.ts'
import { HeaderField } from './header-field.ts'
import { decodeHuffman } from './huffman.ts'
import {
  HUFFMAN_CODED,
  INDEXED,
  INDEXED_BITS,
  LITERAL_BITS,
  LITERAL_INDEXED,
  LITERAL_INDEXED_BITS,
  SIZE_UPDATE,
  SIZE_UPDATE_BITS,
  SIZE_UPDATE_MASK,
  STRING_LENGTH_BITS,
} from './representations.ts'
import { STATIC_ENTRIES, staticFields } from './static-table.ts'

/** A block cannot be read: COMPRESSION_ERROR (RFC 9113, §4.3). */
export class CompressionError extends Error {
  override readonly name = 'CompressionError'
}

/** A block has more fields than any client sends: an attack. */
export class TooManyFields extends Error {
  override readonly name = 'TooManyFields'
}

/** The content of a block. */
export interface HeaderList {
  /** In the order of the block, as many as fit in the limit. */
  readonly fields: HeaderField[]
  /** Their size in bytes (RFC 9113, §6.5.2), which is about what they hold in memory. */
  readonly bytes: number
  /** Whether all of them together are larger than the limit, or too many. */
  readonly tooLarge: boolean
}

/** Most fields of a list. Proxies accept about a hundred. */
const FIELDS_MAX = 128

/**
 * A block with more fields than this is not read to its end. None that a client sends by mistake has as many.
 */
const FIELDS_READ_MAX = 1_024

/**
 * Most size updates at the beginning of a block: the smallest and the last size since the last block (§4.2).
 */
const SIZE_UPDATES_MAX = 2

/**
 * Numbers have at most this many bits beyond the first byte (§5.1 asks for a limit). No number here needs as
 * many.
 */
const NUMBER_BITS_MAX = 28

export class HeaderDecoder {
  readonly #table: DynamicTable
  readonly #listBytesMax: number
  #block: Buffer = NOTHING
  #at = 0
  #end = 0

  /**
   * @param tableBytesMax the peer's limit for the dynamic table: SETTINGS_HEADER_TABLE_SIZE
   * @param listBytesMax largest list whose fields are kept: SETTINGS_MAX_HEADER_LIST_SIZE
   */
  constructor(tableBytesMax: number, listBytesMax: number) {
    this.#table = new DynamicTable(tableBytesMax)
    this.#listBytesMax = listBytesMax
  }

  /** As long as it stays the same, equal bytes mean equal fields. */
  get version(): number {
    return this.#table.version
  }

  /** @throws CompressionError */
  decode(block: Buffer, start: number, end: number): HeaderList {
    this.#block = block
    this.#at = start
    this.#end = end
    const fields: HeaderField[] = []
    let bytes = 0
    let updates = 0
    let count = 0
    let tooLarge = false
    while (this.#at < end) {
      const byte = block[this.#at] as number
      if ((byte & SIZE_UPDATE_MASK) === SIZE_UPDATE) {
        if (count > 0 || ++updates > SIZE_UPDATES_MAX)
          throw new CompressionError('a size update of the dynamic table that is not at the beginning')
        this.#resize()
        continue
      }
      if (++count > FIELDS_READ_MAX) throw new TooManyFields(`more than ${FIELDS_READ_MAX} header fields`)
      if (tooLarge) {
        this.#pass(byte)
        continue
      }
      const field = this.#field(byte)
      tooLarge = count > FIELDS_MAX || bytes + field.size > this.#listBytesMax
      if (tooLarge) continue
      bytes += field.size
      fields.push(field)
    }
    this.#block = NOTHING
    return { fields, bytes, tooLarge }
  }

  /** Reads a field that is not used, as far as it changes the dynamic table. */
  #pass(byte: number): void {
    if (byte & INDEXED || byte & LITERAL_INDEXED) this.#field(byte)
    else {
      const number = this.#number(LITERAL_BITS)
      if (number === 0) this.#skipString()
      else this.#entry(number)
      this.#skipString()
    }
  }

  #skipString(): void {
    const length = this.#number(STRING_LENGTH_BITS)
    this.#at += length
    if (this.#at > this.#end) throw new CompressionError(LONG_STRING)
  }

  #resize(): void {
    const bytes = this.#number(SIZE_UPDATE_BITS)
    if (!this.#table.resize(bytes)) throw new CompressionError(`a dynamic table of ${bytes} bytes`)
  }

  #field(byte: number): HeaderField {
    if (byte & INDEXED) return this.#entry(this.#number(INDEXED_BITS))
    const indexed = (byte & LITERAL_INDEXED) !== 0
    const number = this.#number(indexed ? LITERAL_INDEXED_BITS : LITERAL_BITS)
    const named = number === 0 ? undefined : this.#entry(number)
    const name = named === undefined ? this.#string() : named.name
    const field = new HeaderField(name, this.#string(), named)
    if (indexed) this.#table.add(field)
    return field
  }

  #entry(number: number): HeaderField {
    const field =
      number <= STATIC_ENTRIES ? staticFields[number] : this.#table.at(number - STATIC_ENTRIES - 1)
    if (field === undefined) throw new CompressionError(`entry ${number}, which the tables do not have`)
    return field
  }

  /** §5.1 */
  #number(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1
    let value = this.#byte() & mask
    if (value < mask) return value
    for (let shift = 0; shift < NUMBER_BITS_MAX; shift += 7) {
      const byte = this.#byte()
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new CompressionError('a number that is too large')
  }

  /** §5.2 */
  #string(): string {
    const huffman = this.#at < this.#end && ((this.#block[this.#at] as number) & HUFFMAN_CODED) !== 0
    const length = this.#number(STRING_LENGTH_BITS)
    const start = this.#at
    const end = start + length
    if (end > this.#end) throw new CompressionError(LONG_STRING)
    this.#at = end
    if (!huffman) return this.#block.toString('latin1', start, end)
    const text = decodeHuffman(this.#block, start, end)
    if (text === undefined) throw new CompressionError('a string with wrong Huffman padding')
    return text
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new CompressionError('a block that ends within a field')
    return this.#block[this.#at++] as number
  }
}

const LONG_STRING = 'a string that is longer than the block'

const NOTHING = Buffer.alloc(0)
