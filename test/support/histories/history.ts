/** What clients do to the account of a history, and how it is recorded, as the judge reads it. */

import type { What } from '../../world/operations.ts'

/** What a client asks for. `process` and the times come with the record. */
export interface Question {
  readonly what: What | 'check' | 'readUser'
  /** Number of the token; 0: the static token of the panel user. */
  readonly token?: number
  readonly scope?: 'account' | 'project'
  /** Number of the password that is presented, or that is made. */
  readonly password?: number
  readonly enabled?: boolean
  readonly of_account?: boolean
  readonly of_project?: boolean
  readonly administers?: boolean
  readonly restricted?: boolean
}

/** Names of the hosts. */
export type HostName = 'a' | 'b'

/** A call with its answer. Times are of one monotonic clock, in microseconds. */
export interface Operation extends Question {
  readonly client: number
  readonly host: HostName
  /** The process that answered a check; empty: it is not known which one. */
  readonly process: string
  readonly call_us: number
  readonly return_us: number
  /** A reason of a decision or of an error, `OK`, or `UNKNOWN` for a change that may have taken effect. */
  readonly answer: string
}

/** What the clients of one account did. */
export interface History {
  readonly seed: number
  /** The bound that checks are held to, in microseconds. */
  readonly staleness_us: number
  readonly operations: readonly Operation[]
}

/** Whether it changes the directory. */
export function isChange({ what }: Question): boolean {
  return what !== 'check' && what !== 'issue' && what !== 'readUser'
}
