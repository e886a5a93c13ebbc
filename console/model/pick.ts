/** Picking an API by a part of its name: the first few that fit. */
import type { Engine } from '../../engine/index.ts'
import { folded, hasWords, wordsOf } from './search.ts'

export interface Picked {
  readonly id: string
  readonly title: string
}

/** How many are offered. Somebody who looks for another one types on. */
const OFFERED_MAX = 40

/** @param without ids that are not offered */
export function offers(
  engine: Pick<Engine, 'apis'>,
  search: string,
  without: readonly string[],
): readonly Picked[] {
  const words = wordsOf(search)
  const left = new Set(without)
  const found: Picked[] = []
  for (const { id, title } of engine.apis.values()) {
    if (found.length === OFFERED_MAX) break
    if (!left.has(id) && hasWords(folded(`${id} ${title}`), words)) found.push({ id, title })
  }
  return found
}
