/**
 * How a header block begins each of its parts (RFC 7541, §5 and §6): bits that say what follows, then bits of
 * a number.
 */

/** §6.1: a field that is in a table. */
export const INDEXED = 0x80
export const INDEXED_BITS = 7

/** §6.2.1: a literal that enters the dynamic table. */
export const LITERAL_INDEXED = 0x40
export const LITERAL_INDEXED_BITS = 6

/** §6.2.2: a literal that does not. Those that must never be indexed (§6.2.3) read alike. */
export const LITERAL = 0x00
export const LITERAL_BITS = 4

/** §6.3: a new size of the dynamic table. */
export const SIZE_UPDATE = 0x20
export const SIZE_UPDATE_MASK = 0xe0
export const SIZE_UPDATE_BITS = 5

/** §5.2: a string in Huffman's code. */
export const HUFFMAN_CODED = 0x80
export const STRING_LENGTH_BITS = 7
