/**
 * The parts for use cases and protocols. Each names its needs in its signature; a need of only one is
 * described beside it.
 */
import type { Logger } from 'pino'
import type { Engine } from '../../engine/index.ts'
import type { ControlPanel } from '../authority/control-panel/control-panel.ts'
import type { Changes } from '../authority/directory-changes.ts'
import type { PromotedMatrices } from '../authority/promoted-matrices.ts'
import type { Turns } from '../base/turns.ts'
import type { Routes } from '../rules/routes/routes.ts'
import type { Rules } from '../rules/rules.ts'
import type { AnswerBasis } from './answer-basis.ts'
import type { ListeningShadow } from './asker.ts'
import type { Tracing } from './call-tracing.ts'
import type { Callers } from './callers.ts'
import type { Meters } from './decision-meters.ts'
import type { DecisionLog } from './decision-recorder.ts'
import type { Intake } from './intake.ts'
import type { Trace } from './trace.ts'

export interface Deciding {
  /** One engine for the whole call: the one that was in force when the call began. */
  readonly engine: Engine
}

export interface Clocked {
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** Knows what changes of that which tokens depend on. */
export interface Following {
  readonly changes: Changes
  readonly promoted: PromotedMatrices
  readonly basis: (engine: Engine) => AnswerBasis
}

/** Knows callers and sessions. */
export interface Recognizing {
  readonly callers: Callers
  /** `undefined`: logins to the page are off, and no call has a session. */
  readonly controlPanel: ControlPanel | undefined
}

/** Lets calls in when they have their turn. */
export interface Admitting extends Recognizing {
  /** For logins, revocations and administrative calls. */
  readonly intake: Intake
  /** For costly parts of checks. */
  readonly turns: Turns
  readonly trace: Trace
}

/** Tells operators what was asked and answered. */
export interface Reporting {
  readonly log: Logger
  readonly trace: Trace
  /** `undefined`: metrics are off. */
  readonly meters: Meters | undefined
  /** `undefined`: decisions are not logged. */
  readonly decisions: DecisionLog | undefined
  /** `undefined`: there are no traces. */
  readonly tracing: Tracing | undefined
  /** `undefined`: no second matrix is computed beside the one in force. */
  readonly shadow: ListeningShadow | undefined
}

/**
 * The rules in force. They may change during a call, so use cases get none of this but the engine of their
 * call.
 */
export interface Ruled {
  readonly rules: Rules
  /** The routes that find the API of a request; `undefined`: the configuration has no routes. */
  readonly routes: Routes | undefined
  /** How long an answer may be reused, in milliseconds. */
  readonly cacheForMs: number
}

/** Gives each call what its use case needs. */
export interface PerCall<Needed> {
  readonly forCall: () => Needed
}

/** Makes it once for each engine. @param lasting what lives as long as the sidecar */
export function perCall<Lasting extends object>(
  rules: Pick<Rules, 'engine'>,
  lasting: Lasting,
): PerCall<Lasting & Deciding>['forCall'] {
  // Survives: `{ ...lasting, engine: rules.engine }` → `{}`. It is made at the first call then.
  let current = { ...lasting, engine: rules.engine }
  return () => {
    if (current.engine !== rules.engine) current = { ...lasting, engine: rules.engine }
    return current
  }
}
