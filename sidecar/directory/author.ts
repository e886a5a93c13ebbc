/** The author of a change: its turn among the changes that wait, and its name in the audit trail. */

/**
 * The lanes of changes, the one with the most turns first.
 *
 * - `operators`: callers who may do everything, and the owner of the data folder.
 * - `revocations`: changes that take rights away, by any author.
 * - `administrators`: the administrators of an account.
 * - `users`: changes of users for themselves.
 */
export const CHANGE_LANES = { operators: 16, revocations: 8, administrators: 4, users: 1 } as const

export type ChangeLane = keyof typeof CHANGE_LANES

export interface ChangeAuthor {
  /** The name in the audit trail. */
  readonly name: string
  readonly lane: ChangeLane
  /** The owner of the author's changes: principals of a lane take turns. */
  readonly principal: string
  /** How their call came in; `undefined`: there was none, for example on the command line. */
  readonly origin?: ChangeOrigin | undefined
}

/** The call of a change, for the audit trail. Never a secret. */
export interface ChangeOrigin {
  readonly protocol: string
  /** IP address, `unix socket` or `unknown`. */
  readonly address: string
  /** The id of the request, where it had one. */
  readonly requestId?: string | undefined
  /** Id of the token that the author authenticated with, and its account, where it was an IAM token. */
  readonly tokenId?: string
  readonly account?: string
  /** Id of the session of the control panel, where the author has one. */
  readonly sessionId?: string | undefined
}
