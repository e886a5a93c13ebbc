/** Authors of changes that present no credential with a call: programs of this host, and users who log in. */
import { userInfo } from 'node:os'
import type { ChangeAuthor, ChangeLane, ChangeOrigin } from '../directory/author.ts'
import type { UserRecord } from '../directory/directory.ts'

/**
 * An author with all rights, such as the owner of this process or of the data folder.
 *
 * @param name for the audit trail
 */
export function trusted(name: string, lane: ChangeLane = 'operators'): ChangeAuthor {
  return { name, lane, principal: name }
}

/** A control panel user. Their proof inside the transaction decides whether they may. */
export function controlPanelUser(user: Pick<UserRecord, 'id' | 'name'>, origin?: ChangeOrigin): ChangeAuthor {
  return { ...trusted(`control_panel_user ${user.id} (${user.name})`, 'users'), principal: user.id, origin }
}

/**
 * The operating system user who changes the data folder directly. The audit trail names them as
 * `command line (alice)`. In a container the user often has no name, and then their number is used.
 */
export function commandLine(
  nameOf: () => string = () => userInfo().username,
  uidOf: () => number | undefined = () => process.geteuid?.(),
): ChangeAuthor {
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
