/** Finding the credential among the headers of a request (§5.2). */
import type { CredentialReason } from './reasons.ts'

/**
 * Headers as they arrived: pairs of name and value. A repeated header is several pairs, or one with a list of
 * values. An `undefined` value is an absent header. `Object.entries(request.headersDistinct)` of Node and a
 * `Headers` of fetch both fit.
 */
export type CredentialHeaders = Iterable<
  readonly [name: string, value: string | readonly string[] | undefined]
>

/** A token as it arrived, not yet verified; or what is wrong with the headers. */
export type Extraction =
  | {
      readonly ok: true
      /** Name of the header it came in, in lower case. */
      readonly header: string
      readonly value: string
    }
  | { readonly ok: false; readonly reason: CredentialReason }

/** Longest credential that is looked at, in characters. */
export const CREDENTIAL_LENGTH_MAX = 8192

/** A token in a header consists of visible ASCII characters, without white space. */
const TOKEN = /^[\x21-\x7e]+$/

/** The names of the headers that carry credentials (§5.2). Most headers of a request have other names. */
export class CredentialNames {
  /** Spelling → name in lower case. Two spellings are found at once: that of the matrix, and lower case. */
  readonly #spellings = new Map<string, string>()
  readonly #lengths: ReadonlySet<number>

  constructor(names: readonly string[]) {
    for (const name of names) {
      this.#spellings.set(name, name.toLowerCase())
      this.#spellings.set(name.toLowerCase(), name.toLowerCase())
    }
    this.#lengths = new Set(names.map((name) => name.length))
  }

  /** The name in lower case; `undefined` where the header carries no credential. */
  find(name: string): string | undefined {
    // A caller without types may bring anything.
    if (typeof name !== 'string') throw new TypeError('expected the name of a header')
    if (!this.#lengths.has(name.length)) return undefined
    return this.#spellings.get(name) ?? this.#spellings.get(lowerCase(name))
  }
}

/** Finds the one credential. Total: headers that cannot be read are malformed. */
export function extractCredential(headers: CredentialHeaders, names: CredentialNames): Extraction {
  try {
    const found: { header: string; value: string }[] = []
    for (const [name, values] of headers) {
      const header = names.find(name)
      if (header === undefined || values === undefined) continue
      if (typeof values === 'string') found.push({ header, value: trimmed(values) })
      else for (const value of values) found.push({ header, value: trimmed(value) })
    }
    return onlyCredential(found)
  } catch {
    return fault('CREDENTIAL_MALFORMED')
  }
}

function onlyCredential(found: readonly { header: string; value: string }[]): Extraction {
  const [first] = found
  if (first === undefined || isOneEmpty(found)) return fault('CREDENTIAL_MISSING')
  // A comma stands for a repeated header. No token contains one.
  if (found.length > 1 || first.value.includes(',')) return fault('CREDENTIAL_AMBIGUOUS')
  if (first.value.length > CREDENTIAL_LENGTH_MAX || !TOKEN.test(first.value))
    return fault('CREDENTIAL_MALFORMED')
  return { ok: true, ...first }
}

/**
 * Whether one of the headers is empty. A repeated header never is, whatever its values: intermediaries join
 * them with a comma, and the reason must not depend on whether they did.
 */
function isOneEmpty(found: readonly { header: string; value: string }[]): boolean {
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
  if (typeof value !== 'string') throw new TypeError('expected a header value')
  let start = 0
  let end = value.length
  while (start < end && isBlank(value.charCodeAt(start))) start++
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--
  return value.slice(start, end)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

/**
 * Header names are ASCII. No other letter may become one of them in lower case, as the Kelvin sign becomes
 * `k`.
 */
function lowerCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
