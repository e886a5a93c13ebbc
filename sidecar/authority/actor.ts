/** Who makes a change of the directory. */
import { userInfo } from 'node:os'
import type { TokenKind } from '../../engine/index.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { ChangeAuthor, ChangeLane, ChangeOrigin } from '../directory/author.ts'
import type { TokenHolder, UserRecord } from '../directory/directory.ts'
import type { DirectoryRecords } from '../directory/records.ts'
import type { VerifiedToken } from './verified-token.ts'

export type { ChangeAuthor, ChangeLane, ChangeOrigin }

/** The person or program that makes a change, and its rights. */
export interface Actor extends ChangeAuthor {
  /**
   * Decides at the start of the change's transaction whether the actor may still make the change. The call
   * may have waited since it was authorized, and changes run one at a time, so what is true now is true when
   * the change commits.
   *
   * @throws CallError where the actor lost the right meanwhile
   */
  readonly confirm: (now: ChangeView) => MaybePromise<void>
  /**
   * Called inside the change's transaction, with the user before the change.
   *
   * @throws CallError if the actor may not change that user
   */
  readonly authorize: (user: UserRecord) => void
}

/** What the transaction of a change sees. */
export interface ChangeView {
  /**
   * The holder of an IAM token; `undefined`: the token is not active any more. Its expiry is not looked at.
   */
  tokenHolder(token: VerifiedToken, kind: TokenKind | undefined): Promise<TokenHolder | undefined>
  /** For the control panel, which finds its session again. */
  readonly records: DirectoryRecords
}

/**
 * An actor with all rights, such as the owner of this process or of the data folder.
 *
 * @param name for the audit trail
 */
export function trusted(name: string, lane: ChangeLane = 'operators'): Actor {
  return { name, lane, principal: name, confirm: () => {}, authorize: () => {} }
}

/**
 * The operating system user who changes the data folder directly. The audit trail names them as
 * `command line (alice)`. In a container the user often has no name, and then their number is used.
 */
export function commandLine(
  nameOf: () => string = () => userInfo().username,
  uidOf: () => number | undefined = () => process.geteuid?.(),
): Actor {
  const user = nameOrEmpty(nameOf) || uidOf()
  return trusted(user === undefined ? 'command line' : `command line (${user})`)
}

function nameOrEmpty(nameOf: () => string): string {
  try {
    return nameOf()
  } catch {
    return ''
  }
}
