/** Which headers Envoy's adapter reads: a cheap question that leaves out most names, and the exact one. */
import type { Engine } from '../../../engine/index.ts'
import { relevanceTo } from '../../proxies/identity-headers.ts'

export interface HeaderFilter {
  /** Whether what becomes of a request can depend on a header of that name. */
  isRelevant(name: string): boolean
  /**
   * The same from the length of the name and its third character: false only where no such name is relevant.
   */
  mayBeRelevant(length: number, third: number): boolean
}

/** Routes may look at any header. */
export const EVERY_HEADER: HeaderFilter = { isRelevant: () => true, mayBeRelevant: () => true }

const FILTERS = new WeakMap<Engine, HeaderFilter>()

/** The headers that matter to an engine. */
export function headersFor(engine: Engine): HeaderFilter {
  let filter = FILTERS.get(engine)
  if (filter === undefined) {
    filter = newFilter(engine)
    FILTERS.set(engine, filter)
  }
  return filter
}

function newFilter(engine: Engine): HeaderFilter {
  const { names, isRelevant } = relevanceTo(engine)
  const maybe = new Uint8Array((NAME_LENGTH_MAX + 1) << 8)
  for (const name of names) maybe[placeOf(name.length, name.charCodeAt(2))] = 1
  return {
    isRelevant,
    mayBeRelevant: (length, third) =>
      // The third character of every identity header.
      (third | 0x20) === LETTER_P ||
      length < 3 ||
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
