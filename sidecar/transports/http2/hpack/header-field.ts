/** A header field, and the rules of RFC 9113 for it alone. */

/** The cost of each entry of the dynamic table besides its name and its value, in bytes (RFC 7541, §4.1). */
export const FIELD_OVERHEAD_BYTES = 32

export class HeaderField {
  readonly name: string
  readonly value: string
  /** Its size in the dynamic table and in a header list, in bytes (RFC 7541, §4.1; RFC 9113, §6.5.2). */
  readonly size: number
  /** Why no request may have this name, or this field (RFC 9113, §8.2); '' if it may. */
  readonly #nameFault: string
  readonly fault: string

  /**
   * @param name and value: one character for each octet
   * @param named a field with that name, which was judged with it: a few bytes of a block can repeat a long
   *   name
   */
  constructor(name: string, value: string, named?: HeaderField) {
    this.name = name
    this.value = value
    this.size = name.length + value.length + FIELD_OVERHEAD_BYTES
    this.#nameFault = named === undefined ? faultOfName(name) : named.#nameFault
    this.fault = this.#nameFault || faultOfValue(name, value)
  }
}

/**
 * The pseudo-header fields of a request (RFC 9113, §8.3.1; `:protocol` needs a setting that is never sent).
 */
const REQUEST_PSEUDO_FIELDS: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path'])

/** Fields about a connection of HTTP/1.1 (RFC 9113, §8.2.2). */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
])

/** A name is a token (RFC 9110, §5.1) without upper case (RFC 9113, §8.2.1). */
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/

/** No NUL, CR or LF anywhere, no white space around (RFC 9113, §8.2.1). */
const BAD_VALUE = /[\0\r\n]|^[ \t]|[ \t]$/

function faultOfName(name: string): string {
  if (name.charCodeAt(0) === 0x3a)
    return REQUEST_PSEUDO_FIELDS.has(name) ? '' : 'an unknown pseudo-header field'
  if (!NAME.test(name)) return 'a field name that is not a lower-case token'
  return CONNECTION_FIELDS.has(name) ? 'a field about the connection' : ''
}

function faultOfValue(name: string, value: string): string {
  if (name === 'te' && value !== 'trailers') return 'a `te` other than `trailers`'
  return BAD_VALUE.test(value) ? 'a field value with a forbidden character' : ''
}
