/** The surroundings of a session: its connection, and through it the server. */

import type { Budget } from '../../base/net/buffer-budget.ts'
import type { Peer } from './application.ts'
import type { FrameWriter } from './frame-writer.ts'
import type { Limits } from './limits.ts'
import type { Bound } from './protocol.ts'

export interface Host {
  readonly peer: Peer
  readonly limits: Limits
  readonly budget: Budget
  readonly writer: FrameWriter
  /** The time in milliseconds, as of the last tick. */
  readonly nowMs: number
  /** Asks for a turn soon, because there is something to send. */
  wake(): void
  /** A bound was exceeded. */
  exceeded(bound: Bound): void
}
