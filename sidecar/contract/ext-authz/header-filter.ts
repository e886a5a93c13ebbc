/** The headers that Envoy's adapter reads: a cheap question that leaves out most names, and the exact one. */
import type { Engine } from '../../../engine/index.ts'
import { REQUEST_ID_HEADER } from '../../base/request-id.ts'
import { relevanceTo } from '../../proxies/identity-headers.ts'

export interface HeaderFilter {
  /** Whether what becomes of a request can depend on a header of that name. */
  isRelevant(name: string): boolean
  /**
   * The same from the length of the name and its third character: false only where no such name is relevant.
   */
  mayBeRelevant(length: number, third: number): boolean
}

interface FilterKey {
  /** Whether the id of the request matters too. */
  readonly withId?: boolean
  /** An engine that is compared with the one in force: it may look for credentials elsewhere. */
  readonly shadow?: Engine | undefined
}

/** Routes may look at any header. */
export const EVERY_HEADER: HeaderFilter = { isRelevant: () => true, mayBeRelevant: () => true }

/** The last one of each engine: all calls of a sidecar have the same. */
const FILTERS = new WeakMap<Engine, { readonly key: FilterKey; readonly filter: HeaderFilter }>()

/** The headers that matter to an engine. */
export function headersFor(engine: Engine, { withId = false, shadow }: FilterKey = {}): HeaderFilter {
  const last = FILTERS.get(engine)
  if (last !== undefined && last.key.withId === withId && last.key.shadow === shadow) return last.filter
  const filter = newFilter(engine, [
    ...(withId ? [REQUEST_ID_HEADER] : []),
    ...(shadow === undefined ? [] : relevanceTo(shadow).carriers),
  ])
  FILTERS.set(engine, { key: { withId, shadow }, filter })
  return filter
}

/** @param further names of further headers that matter, in lower case */
function newFilter(engine: Engine, further: readonly string[]): HeaderFilter {
  const { names, isRelevant } = relevanceTo(engine)
  const maybe = new Uint8Array((NAME_LENGTH_MAX + 1) << 8)
  for (const name of [...names, ...further]) maybe[placeOf(name.length, name.charCodeAt(2))] = 1
  return {
    isRelevant:
      // Survives: `further.length === 0` → `false`. It only spares a look into an empty list for each header
      // that is not relevant.
      further.length === 0 ? isRelevant : (name) => isRelevant(name) || further.includes(name.toLowerCase()),
    mayBeRelevant: (length, third) =>
      // The third character of every identity header.
      (third | 0x20) === LETTER_P ||
      length < 3 ||
      // Survives: `length > NAME_LENGTH_MAX` → `false`. Beyond the end of the array there is no number, so
      // that is not 0 either.
      length > NAME_LENGTH_MAX ||
      maybe[placeOf(length, third)] !== 0,
  }
}

/** Longer names are looked at whole. */
const NAME_LENGTH_MAX = 64

/**
 * One place for each length and third character, whatever its case, and whether a hyphen is an underscore.
 */
function placeOf(length: number, third: number): number {
  return (length << 8) | (third === UNDERSCORE ? HYPHEN : third | 0x20)
}

const UNDERSCORE = '_'.charCodeAt(0)
const HYPHEN = '-'.charCodeAt(0)
const LETTER_P = 'p'.charCodeAt(0)
