/**
 * The facts that a change of the kinds of token loosens and tightens beside the cells: who obtains a token
 * and for how long, what it is bound to, and where it travels.
 */
import { canonicalJson } from '../engine/digest.ts'
import { type Place, placeName, placesOf, schemeOf, type TokenKind } from '../engine/index.ts'
import type { KindDirection } from './flip-sides.ts'

/** The facts that decisions and issuance take from a kind, as the matrix writes it. `null`: absent. */
interface KindFacts {
  readonly scopeLevel: TokenKind['scopeLevel']
  readonly header: string
  readonly scheme: string | null
  readonly prefix: string | null
  /** All places, in words, where there is more to say than the three facts above do. */
  readonly places: readonly string[] | null
  readonly issuedTo: string
  readonly 'obtained.by': TokenKind['obtained']['by']
  /** Sorted. */
  readonly permissionScopes: readonly string[]
  readonly lifetimeSeconds: number | null
  /**
   * The kinds that are issued for the same level of scopes, and come later in the matrix. Where several would
   * do, the first one is issued.
   */
  readonly preferredOver: readonly string[]
}

/** `kind`: the whole kind is new, or gone. */
export type KindField = 'kind' | keyof KindFacts

/** A fact of a kind that another matrix has otherwise. */
export interface KindFlip {
  readonly direction: KindDirection
  readonly kind: string
  readonly field: KindField
  /** `null`: absent. Of the field `kind`: all facts. */
  readonly before: unknown
  readonly after: unknown
}

type Directions = { readonly [F in keyof KindFacts]?: (was: KindFacts[F], is: KindFacts[F]) => KindDirection }

/** The fields in which one value can allow more than another. All others are `changed`. */
const DIRECTIONS: Directions = {
  permissionScopes: (was, is) => (isWider(is, was) ? 'loosened' : isWider(was, is) ? 'tightened' : 'changed'),
  // Survives: `(is ?? Infinity) > (was ?? Infinity)` → `(is ?? Infinity) >= (was ?? Infinity)`. It is asked
  // about lifetimes that differ.
  lifetimeSeconds: (was, is) => ((is ?? Infinity) > (was ?? Infinity) ? 'loosened' : 'tightened'),
}

// Survives: `'loosened'` → `""`. An id that is not in the list comes first, too.
const ORDER: readonly KindDirection[] = ['loosened', 'changed', 'tightened']

/** The differences, the looser facts first; among equals in the order of the second matrix. */
export function kindFlips(before: readonly TokenKind[], after: readonly TokenKind[]): readonly KindFlip[] {
  const [was, is] = [factsOf(before), factsOf(after)]
  const flips = after.flatMap((kind) => {
    const [earlier, facts] = [was.get(kind.id), is.get(kind.id) as KindFacts]
    return earlier === undefined
      ? [ofWhole(kind, null, facts, before)]
      : changesOf(kind.id, earlier, facts, was)
  })
  for (const kind of before)
    if (!is.has(kind.id)) flips.push(ofWhole(kind, was.get(kind.id) as KindFacts, null, after))
  return flips.sort((one, other) => ORDER.indexOf(one.direction) - ORDER.indexOf(other.direction))
}

/** The values of a fact as texts, before and after: `account`, `none`. */
export function factTexts({ before, after }: KindFlip): readonly [before: string, after: string] {
  return [factText(before), factText(after)]
}

/** Of a whole kind, all facts that it has. */
function factText(value: unknown): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value)
      .filter(([, fact]) => fact !== null)
      .map(([name, fact]) => `${name} ${factText(fact)}`)
      .join(', ')
  const text = Array.isArray(value) ? value.join(' ') : String(value ?? '')
  return text === '' ? 'none' : text
}

function factsOf(kinds: readonly TokenKind[]): ReadonlyMap<string, KindFacts> {
  return new Map(
    kinds.map((kind, place) => {
      const { id, scopeLevel, issuedTo, obtained } = kind
      const later = kinds.slice(place + 1).filter((each) => isIssuedAs(each, kind))
      return [
        id,
        {
          ...{ scopeLevel, ...placeFacts(kind), issuedTo, 'obtained.by': obtained.by },
          permissionScopes: kind.permissionScopes.toSorted(),
          lifetimeSeconds: kind.lifetimeSeconds,
          preferredOver: later.map((each) => each.id),
        },
      ]
    }),
  )
}

function placeFacts(kind: TokenKind): Pick<KindFacts, 'header' | 'scheme' | 'prefix' | 'places'> {
  const places = placesOf(kind)
  const [first] = places as readonly [Place]
  const { header, prefix = null } = first
  const isShort = places.length === 1 && first.basic === undefined && first.with === undefined
  return { header, scheme: schemeOf(first) || null, prefix, places: isShort ? null : places.map(placeText) }
}

/** Names are compared without case, prefixes are not. */
function placeText(place: Place): string {
  const { prefix, with: other } = place
  const more = [prefix && `prefix ${prefix}`, other && `with ${other.toLowerCase()}`]
  return [placeName(place), ...more.filter((each) => each !== undefined)].join(' ')
}

function isIssuedAs(one: TokenKind, other: TokenKind): boolean {
  return one.obtained.by === 'issue' && other.obtained.by === 'issue' && one.scopeLevel === other.scopeLevel
}

/** A kind that is new, or gone. Where its header is read for it alone, other requests are read otherwise. */
function ofWhole(
  kind: TokenKind,
  before: KindFacts | null,
  after: KindFacts | null,
  others: readonly TokenKind[],
): KindFlip {
  const read = new Set(others.flatMap(placesOf).map(placeName))
  const isRead = placesOf(kind).every((place) => read.has(placeName(place)))
  const direction = after === null ? 'tightened' : 'loosened'
  return { direction: isRead ? direction : 'changed', kind: kind.id, field: 'kind', before, after }
}

function changesOf(
  kind: string,
  before: KindFacts,
  after: KindFacts,
  was: ReadonlyMap<string, KindFacts>,
): KindFlip[] {
  return (Object.keys(after) as (keyof KindFacts)[])
    .filter((field) =>
      field === 'preferredOver'
        ? // Of the other kinds, those that are new or issued since say so themselves.
          after.preferredOver.some(
            (id) => !before.preferredOver.includes(id) && wasIssued(was.get(id), after),
          )
        : textOf(field, before[field]) !== textOf(field, after[field]),
    )
    .map((field): KindFlip => {
      const direction = DIRECTIONS[field] as ((was: unknown, is: unknown) => KindDirection) | undefined
      const [earlier, later] = [before[field], after[field]]
      return {
        direction: direction?.(earlier, later) ?? 'changed',
        ...{ kind, field, before: earlier, after: later },
      }
    })
}

function wasIssued(facts: KindFacts | undefined, { scopeLevel }: KindFacts): boolean {
  return facts?.['obtained.by'] === 'issue' && facts.scopeLevel === scopeLevel
}

/** Names of headers and schemes are compared without case. */
function textOf(field: keyof KindFacts, value: unknown): string {
  const isName = (field === 'header' || field === 'scheme') && typeof value === 'string'
  // Survives: `value.toLowerCase()` → `value.toUpperCase()`. Names are ASCII: both cases distinguish the same
  // names.
  return canonicalJson(isName ? value.toLowerCase() : value)
}

/** Whether one list of permissions lets more users in. An empty one lets all in. */
function isWider(one: readonly string[], other: readonly string[]): boolean {
  return one.length === 0 || (other.length > 0 && other.every((scope) => one.includes(scope)))
}
