/** Finding the credential among the headers of a request (§5.2). */
import type { TokenKind } from './matrix.ts'
import type { CredentialReason } from './reasons.ts'

/**
 * Headers as they arrived: pairs of name and value. A repeated header is several pairs, or one with a list of
 * values. An `undefined` value is an absent header. `Object.entries(request.headersDistinct)` of Node and a
 * `Headers` of fetch both fit.
 */
export type CredentialHeaders = Iterable<
  readonly [name: string, value: string | readonly string[] | undefined]
>

/** A token as it arrived, not yet verified; or the fault of the headers. */
export type Extraction =
  | {
      readonly ok: true
      /** Name of the header it came in, in lower case. */
      readonly header: string
      /** The scheme before it, in lower case. Empty: the header has the token alone. */
      readonly scheme: string
      readonly value: string
    }
  | { readonly ok: false; readonly reason: CredentialReason }

/** A token in a header consists of visible ASCII characters, without white space. */
const TOKEN = /^[\x21-\x7e]+$/

/** Names of headers that are looked at. Most headers of a request have other names. */
export class CredentialNames {
  /** Spelling → name in lower case. Two spellings are found at once: that of the matrix, and lower case. */
  readonly #spellings = new Map<string, string>()
  /** A bit for each length of a name, modulo 32: it rules out most names of other headers. */
  readonly #lengths: number

  constructor(names: readonly string[]) {
    for (const name of names) {
      this.#spellings.set(name, name.toLowerCase())
      this.#spellings.set(name.toLowerCase(), name.toLowerCase())
    }
    this.#lengths = names.reduce((bits, { length }) => bits | (1 << (length & 31)), 0)
  }

  /** The name in lower case; `undefined` where the header carries no credential. */
  find(name: string): string | undefined {
    // A caller without types may bring anything.
    if (typeof name !== 'string') throw new TypeError('expected the name of a header')
    // Survives: `(this.#lengths & (1 << (name.length & 31))) === 0` → `false`. It only spares a look into the
    // map, where the name is not either.
    if ((this.#lengths & (1 << (name.length & 31))) === 0) return undefined
    return this.#spellings.get(name) ?? this.#spellings.get(lowerCase(name))
  }
}

/** Where a kind of token travels. */
type Carriage = Pick<TokenKind, 'header' | 'scheme' | 'prefix'>

/** A header as it arrived: its name in lower case, and its value without white space around it. */
interface Field {
  readonly header: string
  readonly value: string
}

/** Finds the one credential among headers, by where the kinds of a matrix travel. */
export class CredentialFinder {
  readonly names: CredentialNames
  /** Header → the schemes that may stand in it, both in lower case. Empty: none. */
  readonly #schemes = new Map<string, Set<string>>()

  constructor(kinds: readonly Carriage[]) {
    this.names = new CredentialNames(kinds.map(({ header }) => header))
    for (const { header, scheme = '' } of kinds) {
      const name = lowerCase(header)
      this.#schemes.set(name, (this.#schemes.get(name) ?? new Set()).add(lowerCase(scheme)))
    }
  }

  /** Whether a scheme may stand in the header. @param header in lower case, one of the names */
  hasSchemes(header: string): boolean {
    const schemes = this.#schemes.get(header)
    return schemes !== undefined && (schemes.size > 1 || !schemes.has(''))
  }

  /** Total: headers that cannot be read are malformed. */
  find(headers: CredentialHeaders): Extraction {
    try {
      const found: Field[] = []
      for (const [name, values] of headers) {
        const header = this.names.find(name)
        if (header === undefined || values === undefined) continue
        if (typeof values === 'string') found.push({ header, value: trimmed(values) })
        else for (const value of values) found.push({ header, value: trimmed(value) })
      }
      return this.#only(found)
    } catch {
      return fault('CREDENTIAL_MALFORMED')
    }
  }

  #only(found: readonly Field[]): Extraction {
    const [first] = found
    if (first === undefined || isOneEmpty(found)) return fault('CREDENTIAL_MISSING')
    // A comma stands for a repeated header. No token contains one.
    if (found.length > 1 || first.value.includes(',')) return fault('CREDENTIAL_AMBIGUOUS')
    return this.tokenIn(first.header, first.value)
  }

  /**
   * The token in the value of one header, behind its scheme. It may have any length: servers limit headers.
   *
   * @param header in lower case, one of the names
   */
  tokenIn(header: string, value: string): Extraction {
    const schemes = this.#schemes.get(header) as ReadonlySet<string>
    const isBare = schemes.has('')
    // Survives: `schemes.size === 1` → `false`. It only spares to look for a scheme, where the header has
    // none.
    if (isBare && TOKEN.test(value) && (schemes.size === 1 || !schemes.has(lowerCase(value))))
      return { ok: true, header, scheme: '', value }
    const end = value.indexOf(' ')
    // Survives: `end < 0` → `end <= 0`. A value that begins with a space is malformed either way: no scheme
    // has one.
    const scheme = lowerCase(end < 0 ? value : value.slice(0, end))
    if (scheme === '' || !schemes.has(scheme)) return fault('CREDENTIAL_MALFORMED')
    // Survives: `end < 0` → `end <= 0`. A value that begins with a space is malformed either way: no scheme
    // has one.
    if (end < 0) return fault('CREDENTIAL_MISSING')
    let start = end
    while (value.charCodeAt(start) === 0x20) start++
    const token = value.slice(start)
    return TOKEN.test(token) ? { ok: true, header, scheme, value: token } : fault('CREDENTIAL_MALFORMED')
  }
}

/** Whether a token of the kind travels as this one did. */
export function carries(
  { header, scheme = '', prefix = '' }: Carriage,
  found: Extract<Extraction, { ok: true }>,
): boolean {
  return (
    lowerCase(header) === found.header && lowerCase(scheme) === found.scheme && found.value.startsWith(prefix)
  )
}

/** Where a token of the kind belongs, for a sentence: `Authorization: Bearer`, or the header alone. */
export function carriageOf({ header, scheme = '', prefix = '' }: Carriage): string {
  const start = prefix === '' ? scheme : `${scheme} ${prefix}…`.trim()
  return start === '' ? header : `${header}: ${start}`
}

/** Names a place among headers, in lower case: the header, or the header and the scheme in it. */
export function fieldPlace({ header, scheme = '' }: Carriage): string {
  const name = lowerCase(header)
  return scheme === '' ? name : `${name} ${lowerCase(scheme)}`
}

/** The facts of kinds of token about a place that their tokens travel in. */
export interface CredentialPlace {
  /** How the kinds that travel in it are obtained. */
  readonly obtainedBy: ReadonlySet<TokenKind['obtained']['by']>
  /** Kind → what its tokens begin with; empty where any may be one. */
  readonly prefixes: ReadonlyMap<string, string>
}

/** The places of credentials, by their names ({@link fieldPlace}). */
export function credentialPlaces(kinds: Iterable<TokenKind>): ReadonlyMap<string, CredentialPlace> {
  const places = new Map<
    string,
    { obtainedBy: Set<TokenKind['obtained']['by']>; prefixes: Map<string, string> }
  >()
  for (const kind of kinds) {
    const name = fieldPlace(kind)
    const place = places.get(name) ?? { obtainedBy: new Set(), prefixes: new Map() }
    places.set(name, place)
    place.obtainedBy.add(kind.obtained.by)
    place.prefixes.set(kind.id, kind.prefix ?? '')
  }
  return places
}

/** The value of a token's header: the token, behind its scheme. */
export function fieldValue(scheme: string | undefined, token: string): string {
  return scheme === undefined || scheme === '' ? token : `${scheme} ${token}`
}

/**
 * Whether one of the headers is empty. A repeated header never is, whatever its values: intermediaries join
 * them with a comma, and the reason must not depend on whether they did.
 */
function isOneEmpty(found: readonly Field[]): boolean {
  // Survives: `found.length === 1` → `false`, `found[0]?.value` → `found[0].value`. It only spares the map:
  // what comes after it says the same of one header.
  if (found.length === 1) return found[0]?.value === ''
  const joined = new Map<string, string>()
  for (const { header, value } of found) joined.set(header, joined.has(header) ? ',' : value)
  return [...joined.values()].includes('')
}

const fault = (reason: CredentialReason): Extraction => ({ ok: false, reason })

/**
 * White space around a field value is not part of it (RFC 9110 §5.5). One pass: a value can be a megabyte of
 * spaces.
 */
function trimmed(value: string): string {
  // A caller without types may bring anything. A value that is not a string is malformed.
  if (typeof value !== 'string') throw new TypeError()
  let start = 0
  let end = value.length
  // Outside of the text there is no code, so both end.
  while (isBlank(value.charCodeAt(start))) start++
  while (isBlank(value.charCodeAt(end - 1))) end--
  return value.slice(start, end)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

/**
 * Header names are ASCII. No other letter may become one of them in lower case, as the Kelvin sign becomes
 * `k`.
 */
export function lowerCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
