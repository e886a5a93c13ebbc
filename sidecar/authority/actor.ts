/** Who makes a change of the directory. */
import { userInfo } from 'node:os'
import type { UserRecord } from '../directory/directory.ts'

/** The person or program that makes a change, and its rights. */
export interface Actor {
  /** The name in the audit trail. */
  readonly name: string
  /**
   * Called inside the change's transaction, with the user before the change.
   *
   * @throws CallError if the actor may not change that user
   */
  readonly authorize: (user: UserRecord) => void
}

/** An actor with all rights, such as the owner of this process or of the data folder. @param name for the audit trail */
export function trusted(name: string): Actor {
  return { name, authorize: () => {} }
}

/**
 * The operating system user who changes the data folder directly. The audit trail names them as `command line (alice)`. In a
 * container the user often has no name, and then their number is used.
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
