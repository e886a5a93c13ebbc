/** The way that a flip goes. */

/** Of a cell. `opened`: denied before, allowed now. */
export type Direction = 'opened' | 'closed'

/**
 * Of a fact of a kind. `loosened`: tokens are easier to obtain, or live longer. `tightened`: the other way.
 * `changed`: it may open something for one request and close it for another.
 */
export type KindDirection = 'loosened' | 'tightened' | 'changed'

/** Whether it opens, or closes, something, or may. */
export function bearsOn(flip: { readonly direction: Direction | KindDirection }, side: Direction): boolean {
  const { direction } = flip
  return direction === side || direction === 'changed' || direction === OF_KINDS[side]
}

const OF_KINDS = { opened: 'loosened', closed: 'tightened' } as const
