/** The question of verification before it answers from memory. */
import type { CallError } from '../../base/call-error.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Remembered } from './recent-changes.ts'
import type { RecentRecords } from './recent-records.ts'
import type { Position } from './touches.ts'

export interface Changes {
  /**
   * The moment as of which everything is known that was changed; `undefined`: it is not known whether
   * something was changed, so nothing may be answered from memory.
   */
  moment(): number | undefined
  /** Whether it is still true. Ask for the moment first: only then everything is known. */
  isTrue(remembered: Remembered): boolean
  readonly state: ChangesState
  /** The records that were read; `undefined`: none yet. */
  readonly followed: Followed | undefined
  /**
   * For how long no change that was made until now is unknown, if nothing more is heard, in milliseconds;
   * `undefined`: one may be missing already.
   */
  knownForMs(): number | undefined
  /**
   * The error of a question now: the directory does not answer, and the memory no longer counts; or it
   * has lost changes. `undefined`: it is answered. Health is this, wherever it is asked for.
   */
  outage(): CallError | undefined
  /** The last record that is known with all before it, after a look for more at hand. */
  latest(): Position | undefined
  /**
   * Whether this directory has the record of a position that a follower received, or a substitute: a
   * restoration that has ended the tokens of that time, or the archive. If it has, the followed feed is no
   * older when it resolves. Otherwise its changes are lost.
   *
   * @throws CallError where it cannot be asked
   */
  has(position: Position): MaybePromise<boolean>
  /**
   * Calls `listener` whenever records were read or everything was forgotten.
   *
   * @param lookMs longest time between two looks for more, in milliseconds, where no notification comes;
   *   default: as for those who follow from outside
   * @returns what ends that
   */
  watch(listener: () => void, lookMs?: number): () => void
}

/** The records that were read of the feed. */
export interface Followed {
  readonly position: Position
  readonly records: RecentRecords
}

/** Its state for metrics. */
export interface ChangesState {
  /** Number of the last change that is known with all before it. */
  readonly position: number
  /** How long ago it was last known that nothing is missing, in milliseconds; `undefined`: never. */
  readonly ageMs: number | undefined
  /** How often something was touched: `token`, `user`, `account`, `project`, `matrix` or `everything`. */
  readonly touched: Readonly<Record<string, number>>
}
