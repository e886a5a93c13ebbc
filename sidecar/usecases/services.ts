/** What the protocols are given, and what each use case is given of it. */
import type { Logger } from 'pino'
import type { Engine } from '../../engine/index.ts'
import type { Administration } from '../authority/administration/administration.ts'
import type { Authority, UpstreamRevocation, Verifier } from '../authority/authority.ts'
import type { ControlPanel } from '../authority/control-panel/control-panel.ts'
import type { Health } from '../base/health.ts'
import type { Turns } from '../base/turns.ts'
import type { Routes } from '../rules/routes/routes.ts'
import type { Rules } from '../rules/rules.ts'
import type { Callers } from './callers.ts'
import type { ChangeRates } from './change-rates.ts'
import type { OperatorFacts } from './control-panel/facts.ts'
import type { DecisionLog } from './decision-log.ts'
import type { Intake } from './intake.ts'
import type { Meters } from './meters.ts'
import type { Profiles } from './profiles.ts'
import type { Trace } from './trace.ts'
import type { Tracing } from './tracing.ts'

/** What the protocols are given. They live as long as the sidecar, and the matrix may change under them. */
export interface Services {
  readonly rules: Rules
  /** The embedded authority: who administers is known by its tokens alone. */
  readonly authority: Authority
  /** The embedded authority and the upstreams that are configured to verify. */
  readonly verifier: Verifier
  readonly upstreams: UpstreamRevocation
  readonly administration: Administration
  /** `undefined`: nobody logs in to the page, and no call has a session. */
  readonly controlPanel: ControlPanel | undefined
  readonly callers: Callers
  readonly profiles: Profiles
  readonly changeRates: ChangeRates
  /** Which requests are for which API; `undefined`: the configuration has no routes. */
  readonly routes: Routes | undefined
  /** For costly parts of checks. */
  readonly turns: Turns
  /** For logins, revocations and administrative calls. */
  readonly intake: Intake
  /** How long an answer may be reused, in milliseconds. */
  readonly cacheForMs: number
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Logger
  readonly trace: Trace
  readonly health: Health
  /** `undefined`: metrics are off. */
  readonly meters: Meters | undefined
  readonly operatorFacts: OperatorFacts
  /** `undefined`: decisions are not logged. */
  readonly decisions: DecisionLog | undefined
  /** `undefined`: there are no traces. */
  readonly tracing: Tracing | undefined
}

/** What use cases are given. A use case names those of them that it needs. */
export interface CallServices
  extends Omit<
    Services,
    | 'rules'
    | 'routes'
    | 'turns'
    | 'intake'
    | 'cacheForMs'
    | 'log'
    | 'trace'
    | 'health'
    | 'meters'
    | 'operatorFacts'
    | 'decisions'
    | 'tracing'
  > {
  /** One engine for the whole call. */
  readonly engine: Engine
}

/** The services of one call: it ends with the matrix that was in force when it began. */
export function forCall({
  rules,
  authority,
  verifier,
  upstreams,
  administration,
  controlPanel,
  callers,
  profiles,
  changeRates,
  now,
}: Services): CallServices {
  return {
    engine: rules.engine,
    authority,
    verifier,
    upstreams,
    administration,
    controlPanel,
    callers,
    profiles,
    changeRates,
    now,
  }
}
