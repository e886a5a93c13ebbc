/**
 * The dynamic table of a decoder (RFC 7541, §2.3.2): the fields that a peer refers to by number, newest
 * first.
 */
import type { HeaderField } from './header-field.ts'

/** The smallest size of an entry in bytes: an empty name, an empty value and the overhead (§4.1). */
const ENTRY_BYTES_MIN = 32

export class DynamicTable {
  /** A ring, because the oldest entries leave as new ones come. Made for the first entry. */
  #ring: (HeaderField | undefined)[] = []
  /** Where the next entry goes. */
  #next = 0
  #count = 0
  #bytes = 0
  readonly #limit: number
  #bytesMax: number
  /** Increases with every change: as long as it stays the same, equal bytes mean equal fields. */
  version = 0

  /** @param bytesMax the most that a size update may ask for: that of the settings (§4.2) */
  constructor(bytesMax: number) {
    this.#limit = bytesMax
    this.#bytesMax = bytesMax
  }

  /** @param index 0 is the newest entry */
  at(index: number): HeaderField | undefined {
    return index < this.#count ? this.#ring[(this.#next - 1 - index) & (this.#ring.length - 1)] : undefined
  }

  /**
   * Adds an entry and removes the oldest ones that have no room. An entry larger than the table empties it
   * (§4.4).
   */
  add(field: HeaderField): void {
    this.version++
    this.#evict(this.#bytesMax - field.size)
    if (field.size > this.#bytesMax) return
    if (this.#ring.length === 0) this.#ring = new Array(powerOfTwo(this.#limit / ENTRY_BYTES_MIN))
    this.#ring[this.#next & (this.#ring.length - 1)] = field
    this.#next++
    this.#count++
    this.#bytes += field.size
  }

  /** A size update. @returns false if the peer may not choose that size */
  resize(bytesMax: number): boolean {
    if (bytesMax > this.#limit) return false
    this.version++
    this.#bytesMax = bytesMax
    this.#evict(bytesMax)
    return true
  }

  #evict(bytesMax: number): void {
    const mask = this.#ring.length - 1
    while (this.#count > 0 && this.#bytes > bytesMax) {
      const oldest = (this.#next - this.#count) & mask
      this.#bytes -= (this.#ring[oldest] as HeaderField).size
      this.#ring[oldest] = undefined
      this.#count--
    }
  }
}

function powerOfTwo(least: number): number {
  let length = 1
  while (length < least) length *= 2
  return length
}
