/** Picking an API by a part of its name: the first few that fit. */
import { folded, hasWords, wordsOf } from './search.ts'

export interface Picked {
  readonly id: string
  readonly title: string
}

/** An engine, or anything else with ids and titles. */
export interface Offering {
  readonly apis: ReadonlyMap<string, Picked>
}

/** How many are offered. A user who looks for another one types on. */
const OFFERED_MAX = 40

/** @param without ids that are not offered */
export function offers({ apis }: Offering, search: string, without: readonly string[]): readonly Picked[] {
  const words = wordsOf(search)
  const left = new Set(without)
  const found: Picked[] = []
  for (const { id, title } of apis.values()) {
    if (found.length === OFFERED_MAX) break
    if (!left.has(id) && hasWords(folded(`${id} ${title}`), words)) found.push({ id, title })
  }
  return found
}
