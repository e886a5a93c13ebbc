/** Control panel users as the authors of what they do by logging in. */

import type { ChangeAuthor, ChangeOrigin } from '../../directory/author.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { trusted } from '../actor.ts'

/** The user, whose right is decided by what they prove inside the transaction. */
export function actorOf(user: Pick<UserRecord, 'id' | 'name'>, origin?: ChangeOrigin): ChangeAuthor {
  return { ...trusted(`control_panel_user ${user.id} (${user.name})`, 'users'), principal: user.id, origin }
}
