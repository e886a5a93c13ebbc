/** Who makes a change of the directory. */
import { userInfo } from 'node:os'
import type { UserRecord } from '../directory/directory.ts'

/** Who makes a change, and what they may do to a user. */
export interface Actor {
  /** As the audit trail names them. */
  readonly name: string
  /**
   * Decides inside the change's transaction, about the user whom it changes as that user is then.
   *
   * @throws CallError where the actor may not do this to that user
   */
  readonly authorize: (user: UserRecord) => void
}

/** Whoever runs this process or holds the data folder: they may do everything. @param name for the audit trail */
export function trusted(name: string): Actor {
  return { name, authorize: () => {} }
}

/**
 * Whoever works on the data folder itself. The audit trail has them as `command line (alice)`. In a container the user
 * often has no name, so then it is the number.
 */
export function commandLine(
  nameOf: () => string = () => userInfo().username,
  uidOf: () => number | undefined = () => process.geteuid?.(),
): Actor {
  const user = nameOrNone(nameOf) || uidOf()
  return trusted(user === undefined ? 'command line' : `command line (${user})`)
}

function nameOrNone(nameOf: () => string): string {
  try {
    return nameOf()
  } catch {
    return ''
  }
}
