/** An API to try a token with. */
import type { Engine } from '../../engine/index.ts'

/** The first API that a token of a kind opens. @returns `undefined`: it opens none */
export function apiOpenedBy(engine: Engine, kind: string): string | undefined {
  return [...engine.apis.values()].find(({ accepted }) => accepted.some((each) => each.kind === kind))?.id
}

/** The kind that a person creates in the control panel (§4.2). */
export function staticKind(engine: Engine): string | undefined {
  return [...engine.tokenKinds.values()].find(({ obtained }) => obtained.by === 'control_panel')?.id
}
