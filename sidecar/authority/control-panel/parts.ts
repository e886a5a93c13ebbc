/** The dependencies of the control panel's parts. */
import type { DirectoryStore } from '../../directory/store.ts'
import type { Passwords } from '../password.ts'
import type { LoginThrottle } from '../throttle.ts'

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
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}
