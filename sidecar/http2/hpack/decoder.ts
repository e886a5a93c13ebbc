/** Reads header blocks (RFC 7541). A block that cannot be read ends the connection, because the tables then differ. */
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

/** What a block contained. */
export interface HeaderList {
  /** In the order of the block, as many as fit in the limit. */
  readonly fields: HeaderField[]
  /** Whether all of them together are larger than the limit. */
  readonly tooLarge: boolean
}

/** Most size updates at the beginning of a block: the smallest and the last size since the last block (§4.2). */
const SIZE_UPDATES_MAX = 2

/** Numbers have at most this many bits beyond the first byte (§5.1 asks for a limit). No number here needs as many. */
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
    let left = this.#listBytesMax
    let updates = 0
    let first = true
    while (this.#at < end) {
      const byte = block[this.#at] as number
      if ((byte & SIZE_UPDATE_MASK) === SIZE_UPDATE) {
        if (!first || ++updates > SIZE_UPDATES_MAX)
          throw new CompressionError('a size update of the dynamic table that is not at the beginning')
        this.#resize()
        continue
      }
      first = false
      const field = this.#field(byte)
      left -= field.size
      // The rest of the block is still read, because it may change the dynamic table.
      if (left >= 0) fields.push(field)
    }
    this.#block = NOTHING
    return { fields, tooLarge: left < 0 }
  }

  #resize(): void {
    const bytes = this.#number(SIZE_UPDATE_BITS)
    if (!this.#table.resize(bytes)) throw new CompressionError(`a dynamic table of ${bytes} bytes`)
  }

  #field(byte: number): HeaderField {
    if (byte & INDEXED) return this.#entry(this.#number(INDEXED_BITS))
    const indexed = (byte & LITERAL_INDEXED) !== 0
    const number = this.#number(indexed ? LITERAL_INDEXED_BITS : LITERAL_BITS)
    const name = number === 0 ? this.#string() : this.#entry(number).name
    const field = new HeaderField(name, this.#string())
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
    if (end > this.#end) throw new CompressionError('a string that is longer than the block')
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

const NOTHING = Buffer.alloc(0)
