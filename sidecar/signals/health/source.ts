/** The state behind the answers of the health listener. */
import type { HealthState } from '../../base/health.ts'
import type { Metric } from '../../base/metrics.ts'

export interface HealthSource {
  /** The health of everything that this listener answers for, as it is now. */
  readonly state: HealthState
  /** For requests that are refused before they are read; `undefined`: they have no line. */
  readonly log?: { warn(facts: object, message: string): void } | undefined
  /** The metrics of the same; `undefined`: they are off. */
  readonly metrics?: (() => Promise<readonly Metric[]>) | undefined
}
