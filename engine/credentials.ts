/** Finding the credential among the headers of a request (§5.2). */
import type { Place, TokenKind } from './matrix.ts'
import { type Carried, lowerCase, placeName, placesOf, schemeOf } from './places.ts'
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
      /** Names both, and the part of Basic that it is ({@link placeName}). */
      readonly place: string
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

/** A part of the credentials of Basic that tokens travel in. */
interface Part {
  readonly basic: 'user' | 'password'
  readonly place: string
  /** Its tokens begin with one of these. */
  readonly prefixes: readonly string[]
}

/** The content of a header behind a scheme, or without one. */
interface Slot {
  readonly place: string
  /** The parts of Basic that may be the token. Absent: it is what stands there. */
  readonly parts?: readonly Part[]
}

/** A header as it arrived: its name in lower case, and its value without white space around it. */
interface Field {
  readonly header: string
  readonly value: string
}

/** Finds the one credential among headers, by where the kinds of a matrix travel. */
export class CredentialFinder {
  readonly names: CredentialNames
  /** Header → scheme → what stands there; both in lower case. An empty scheme: the token alone. */
  readonly #slots = new Map<string, Map<string, Slot>>()
  /** Place → the header that must come with its tokens, in lower case. */
  readonly #companions = new Map<string, string>()
  /** `undefined`: there are none. */
  readonly #companionNames: CredentialNames | undefined

  constructor(kinds: readonly Carried[]) {
    const places = kinds.flatMap(placesOf)
    this.names = new CredentialNames(places.map(({ header }) => header))
    for (const place of places) {
      const header = lowerCase(place.header)
      const slots = this.#slots.get(header) ?? new Map<string, Slot>()
      this.#slots.set(header, slots)
      const scheme = lowerCase(schemeOf(place))
      slots.set(scheme, slotWith(slots.get(scheme), place))
      if (place.with) this.#companions.set(placeName(place), lowerCase(place.with))
    }
    if (this.#companions.size > 0) this.#companionNames = new CredentialNames([...this.#companions.values()])
  }

  /** Whether a scheme may stand in the header. @param header in lower case, one of the names */
  hasSchemes(header: string): boolean {
    const slots = this.#slots.get(header)
    return slots !== undefined && (slots.size > 1 || !slots.has(''))
  }

  /** Whether all of a credential is in one header. */
  get isInOneHeader(): boolean {
    return this.#companions.size === 0
  }

  /** Total: headers that cannot be read are malformed. */
  find(headers: CredentialHeaders): Extraction {
    try {
      const found: Field[] = []
      const beside: Field[] = []
      for (const [name, values] of headers) {
        const header = this.names.find(name) ?? this.#companionNames?.find(name)
        if (header === undefined || values === undefined) continue
        const fields = this.#slots.has(header) ? found : beside
        if (typeof values === 'string') fields.push({ header, value: trimmed(values) })
        else for (const value of values) fields.push({ header, value: trimmed(value) })
      }
      const only = this.#only(found)
      return only.ok && !this.#isComplete(only.place, beside) ? fault('CREDENTIAL_MALFORMED') : only
    } catch {
      return fault('CREDENTIAL_MALFORMED')
    }
  }

  /** Whether the header that must come with a token in the place has come, once and with a value. */
  #isComplete(place: string, beside: readonly Field[]): boolean {
    const companion = this.#companions.get(place)
    if (companion === undefined) return true
    const [only, ...more] = beside.filter(({ header }) => header === companion)
    return only !== undefined && only.value !== '' && more.length === 0
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
    const slots = this.#slots.get(header) as ReadonlyMap<string, Slot>
    // Survives: `slots.size === 1` → `false`. It only spares to look for a scheme, where the header has
    // none.
    if (slots.has('') && TOKEN.test(value) && (slots.size === 1 || !slots.has(lowerCase(value))))
      return { ok: true, header, scheme: '', place: header, value }
    const end = value.indexOf(' ')
    // Survives: `end < 0` → `end <= 0`. A value that begins with a space is malformed either way: no scheme
    // has one.
    const scheme = lowerCase(end < 0 ? value : value.slice(0, end))
    const slot = slots.get(scheme)
    if (scheme === '' || slot === undefined) return fault('CREDENTIAL_MALFORMED')
    // Survives: `end < 0` → `end <= 0`. A value that begins with a space is malformed either way: no scheme
    // has one.
    if (end < 0) return fault('CREDENTIAL_MISSING')
    let start = end
    while (value.charCodeAt(start) === 0x20) start++
    const text = value.slice(start)
    const { place, parts } = slot
    if (!TOKEN.test(text)) return fault('CREDENTIAL_MALFORMED')
    if (parts === undefined) return { ok: true, header, scheme, place, value: text }
    const found = tokenOfBasic(text, parts)
    return 'reason' in found ? fault(found.reason) : { ok: true, header, scheme, ...found }
  }
}

/** A slot with one place more. */
function slotWith(slot: Slot | undefined, { prefix = '', ...place }: Place): Slot {
  const { basic } = place
  if (basic === undefined) return { place: placeName(place) }
  const parts = slot?.parts ?? []
  const same = parts.find((part) => part.basic === basic)
  const part = { basic, place: placeName(place), prefixes: [...(same?.prefixes ?? []), prefix] }
  return { place: part.place, parts: [...parts.filter((other) => other !== same), part] }
}

// Every platform that the engine runs on has these two, and the library of ECMAScript does not name them.
declare function atob(text: string): string
declare function btoa(bytes: string): string

/** No control character (RFC 7617 §2). Bytes outside of ASCII may be anything. */
const BASIC = /^([^\x00-\x1f\x7f:]*):([^\x00-\x1f\x7f]*)$/

/**
 * The token in the credentials of Basic. Where either part may be one, it is the one that is not empty; of
 * two, the one that begins as tokens there do.
 */
function tokenOfBasic(
  text: string,
  parts: readonly Part[],
): { readonly place: string; readonly value: string } | { readonly reason: CredentialReason } {
  const match = BASIC.exec(decodedBase64(text))
  if (match === null) return { reason: 'CREDENTIAL_MALFORMED' }
  const values = { user: match[1] as string, password: match[2] as string }
  const sent = parts.filter(({ basic }) => values[basic] !== '')
  if (sent.length === 0) return { reason: 'CREDENTIAL_MISSING' }
  const fits = ({ basic, prefixes }: Part) => prefixes.some((prefix) => values[basic].startsWith(prefix))
  const [only, ...more] = sent.length === 1 ? sent : sent.filter(fits)
  if (more.length > 0) return { reason: 'CREDENTIAL_AMBIGUOUS' }
  if (only === undefined || !TOKEN.test(values[only.basic])) return { reason: 'CREDENTIAL_MALFORMED' }
  return { place: only.place, value: values[only.basic] }
}

/** Empty: it is not Base64, or not written in the one right way, which all readers read alike. */
function decodedBase64(text: string): string {
  try {
    const decoded = atob(text)
    return btoa(decoded) === text ? decoded : ''
  } catch {
    return ''
  }
}

/** Whether a token of the kind travels as this one did. */
export function carries(kind: Carried, { place, value }: Extract<Extraction, { ok: true }>): boolean {
  return placesOf(kind).some((each) => placeName(each) === place && value.startsWith(each.prefix ?? ''))
}

/** The facts of kinds of token about a place that their tokens travel in. */
export interface CredentialPlace {
  /** How the kinds that travel in it are obtained. */
  readonly obtainedBy: ReadonlySet<TokenKind['obtained']['by']>
  /** Kind → what its tokens begin with; empty where any may be one. */
  readonly prefixes: ReadonlyMap<string, string>
}

/** The places of credentials, by their names ({@link placeName}). */
export function credentialPlaces(kinds: Iterable<TokenKind>): ReadonlyMap<string, CredentialPlace> {
  const places = new Map<
    string,
    { obtainedBy: Set<TokenKind['obtained']['by']>; prefixes: Map<string, string> }
  >()
  for (const kind of kinds)
    for (const each of placesOf(kind)) {
      const name = placeName(each)
      const place = places.get(name) ?? { obtainedBy: new Set(), prefixes: new Map() }
      places.set(name, place)
      place.obtainedBy.add(kind.obtained.by)
      place.prefixes.set(kind.id, each.prefix ?? '')
    }
  return places
}

/** The value of a header for a token in the place. */
export function fieldValue(place: Omit<Place, 'header'>, token: string): string {
  const scheme = schemeOf(place)
  if (place.basic !== undefined)
    return `${scheme} ${btoa(place.basic === 'user' ? `${token}:` : `:${token}`)}`
  return scheme === '' ? token : `${scheme} ${token}`
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
