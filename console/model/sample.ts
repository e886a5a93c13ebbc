/** An API to try a token with, and what pages begin with: an example that answers at once. */

import { fieldValue, firstPlace, type Matrix, type TokenKind } from '../../engine/index.ts'
import type { View } from './view.ts'

/**
 * The first API whose row accepts a kind, and which no conflict is about.
 *
 * @returns `undefined`: there is none
 */
export function apiOpenedBy({ apis, conflicts }: Matrix, kind: string): string | undefined {
  const contested = contestedIn({ conflicts })
  return apis.find(({ id, accepts }) => accepts.includes(kind) && !contested.has(id))?.id
}

/** The APIs that a conflict is about. */
export function contestedIn({ conflicts }: Pick<Matrix, 'conflicts'>): ReadonlySet<string> {
  return new Set(conflicts.flatMap(({ cells }) => cells.map(({ api }) => api)))
}

/** The kinds that a person creates in the control panel (§4.2). */
export function staticKinds(matrix: Pick<Matrix, 'tokenKinds'> | undefined): readonly TokenKind[] {
  return matrix?.tokenKinds.filter(({ obtained }) => obtained.by === 'control_panel') ?? []
}

/** Whether the link was shared: it names the matrix, and shows what its author saw, so no example. */
export function isShared({ matrix }: Pick<View, 'matrix'>): boolean {
  return matrix !== undefined
}

export interface TryExample {
  readonly api: string
  /** Headers as a user would paste them. */
  readonly text: string
}

/** @returns `undefined`: no API accepts any kind for certain */
export function tryExample(matrix: Matrix): TryExample | undefined {
  for (const kind of matrix.tokenKinds) {
    const api = apiOpenedBy(matrix, kind.id)
    const place = firstPlace(kind)
    const value = fieldValue(place, `${place.prefix ?? ''}example-of-a-token`)
    const beside = place.with === undefined ? '' : `\n${place.with}: example`
    if (api !== undefined)
      return { api, text: `Accept: application/json\n${place.header}: ${value}${beside}` }
  }
  return undefined
}

/** Most APIs of the job that a plan begins with. */
const JOB_LENGTH_MAX = 3

/** The APIs of a job that needs several tokens: for each kind one that few others open. */
export function planExample(matrix: Matrix): readonly string[] {
  const contested = contestedIn(matrix)
  const narrow = matrix.apis
    .filter(({ id }) => !contested.has(id))
    .toSorted((one, other) => one.accepts.length - other.accepts.length)
  const apis = matrix.tokenKinds.flatMap(
    (kind) => narrow.find(({ accepts }) => accepts.includes(kind.id))?.id ?? [],
  )
  return [...new Set(apis)].slice(0, JOB_LENGTH_MAX)
}
