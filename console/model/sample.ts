/** An API to try a token with. */
import type { Matrix } from '../../engine/index.ts'

/**
 * The first API whose row accepts a kind, and which no conflict is about.
 *
 * @returns `undefined`: there is none
 */
export function apiOpenedBy({ apis, conflicts }: Matrix, kind: string): string | undefined {
  const contested = conflicts.flatMap(({ cells }) => cells.map(({ api }) => api))
  return apis.find(({ id, accepts }) => accepts.includes(kind) && !contested.includes(id))?.id
}

/** The kind that a person creates in the control panel (§4.2). */
export function staticKind({ tokenKinds }: Matrix): string | undefined {
  return tokenKinds.find(({ obtained }) => obtained.by === 'control_panel')?.id
}
