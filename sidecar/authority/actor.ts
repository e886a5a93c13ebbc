/** Who makes a change of the directory. */
import { userInfo } from 'node:os'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { ChangeAuthor, ChangeLane, ChangeOrigin } from '../directory/author.ts'
import type { DirectoryChange } from '../directory/change.ts'

export type { ChangeAuthor, ChangeLane, ChangeOrigin }

/** The person or program that makes a change. */
export interface Actor extends ChangeAuthor {
  /** @throws CallError where the actor lost the right meanwhile */
  readonly confirm?: (now: Pick<DirectoryChange, 'records'>) => MaybePromise<void>
}

/**
 * An actor with all rights, such as the owner of this process or of the data folder.
 *
 * @param name for the audit trail
 */
export function trusted(name: string, lane: ChangeLane = 'operators'): Actor {
  return { name, lane, principal: name }
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
