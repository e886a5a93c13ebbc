/** Where tokens travel among the headers of a request (§5.2), and the words for it. */
import type { Place, TokenKind } from './matrix.ts'

/** A kind of token, or a place that one travels in. */
export type Carried = Pick<TokenKind, 'header' | 'scheme' | 'prefix' | 'places'> &
  Pick<Place, 'basic' | 'with'>

/** The places of a kind, in its order. */
export function placesOf(kind: Carried): readonly Place[] {
  return kind.places ?? [kind as Place]
}

/** The place that a program sends a token in, unless it names one. */
export function firstPlace(kind: Carried): Place {
  return placesOf(kind)[0] as Place
}

/** The names of all headers that credentials of these kinds are in, in lower case. */
export function credentialHeaders(kinds: Iterable<Carried>): ReadonlySet<string> {
  const names = new Set<string>()
  for (const kind of kinds)
    for (const place of placesOf(kind)) {
      names.add(lowerCase(place.header))
      if (place.with !== undefined) names.add(lowerCase(place.with))
    }
  return names
}

/** The scheme of a place; empty where the header has the token alone. */
export function schemeOf({ scheme = '', basic }: Omit<Place, 'header'>): string {
  return basic === undefined ? scheme : 'Basic'
}

/**
 * Where a token belongs, for a sentence: `Authorization: Bearer`, or the header alone. Of a kind that has
 * several places, the first.
 */
export function carriageOf(kind: Carried): string {
  const { header, prefix = '', basic, with: other, ...rest } = firstPlace(kind)
  const value = `${basic === undefined ? '' : `(${basic}) `}${prefix === '' ? '' : `${prefix}…`}`
  const start = `${schemeOf({ ...rest, basic })} ${value}`.trim()
  return `${header}${start === '' ? '' : `: ${start}`}${other === undefined ? '' : ` with ${other}`}`
}

const PLACE =
  /^(?<header>[A-Za-z][A-Za-z0-9-]*)(?::(?= )(?: (?<scheme>[A-Za-z][A-Za-z0-9-]*))?(?: \((?<basic>user|password)\))?(?: (?<prefix>[A-Za-z0-9_~.-]+)…)?)?(?: with (?<other>[A-Za-z][A-Za-z0-9-]*))?$/

/** The place that {@link carriageOf} writes so; `undefined`: none. */
export function placeFrom(text: string): Place | undefined {
  const { header, scheme, basic, prefix, other } = PLACE.exec(text)?.groups ?? {}
  if (header === undefined || (basic !== undefined && scheme !== 'Basic')) return undefined
  return {
    header,
    ...(basic === undefined ? scheme && { scheme } : { basic: basic as 'user' | 'password' }),
    ...(prefix && { prefix }),
    ...(other && { with: other }),
  }
}

/** The places that a token can be sent in alone: those that no other header must come with. */
export function placesAlone(kind: Carried): readonly Place[] {
  return placesOf(kind).filter((place) => place.with === undefined)
}

/**
 * The place to send a token of the kind in, by its name: as {@link carriageOf} writes it, in letters of any
 * case, with its prefix or without. `undefined`: the token cannot be sent there.
 *
 * @param name absent: the first place is meant
 */
export function placeNamed(kind: Carried, name: string | undefined): Place | undefined {
  if (name === undefined) return firstPlace(kind)
  const named = placeFrom(name)
  if (named === undefined || named.with !== undefined) return undefined
  return placesAlone(kind).find(
    (place) => placeName(place) === placeName(named) && (named.prefix ?? place.prefix) === place.prefix,
  )
}

/** Names a place among headers, in lower case: the header, the scheme in it, and the part of Basic. */
export function placeName({ header, scheme, basic }: Place): string {
  return [header, schemeOf({ scheme, basic }), basic ?? '']
    .filter((word) => word !== '')
    .map(lowerCase)
    .join(' ')
}

/**
 * Header names are ASCII. No other letter may become one of them in lower case, as the Kelvin sign becomes
 * `k`.
 */
export function lowerCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
