/** What the parts of the control panel are given. */
import type { DirectoryStore } from '../../directory/store.ts'
import type { Passwords } from '../password.ts'
import type { LoginThrottle } from '../throttle.ts'
import type { SecondFactors } from './second-factors.ts'

/** How long sessions last, in milliseconds. */
export interface SessionLimits {
  /** Without a use. */
  readonly idleMs: number
  /** At most. */
  readonly lifetimeMs: number
}

export interface PanelParts {
  readonly store: DirectoryStore
  readonly passwords: Passwords
  readonly failedLogins: LoginThrottle
  readonly limits: SessionLimits
  readonly factors: SecondFactors
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}
