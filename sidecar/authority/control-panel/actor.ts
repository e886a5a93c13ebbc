/** Control panel users as the actors of what they do by logging in. */
import type { UserRecord } from '../../directory/directory.ts'
import { type Actor, type ChangeOrigin, trusted } from '../actor.ts'

/** The user, whose right is decided by what they prove inside the transaction. */
export function actorOf(user: Pick<UserRecord, 'id' | 'name'>, origin?: ChangeOrigin): Actor {
  return { ...trusted(`control_panel_user ${user.id} (${user.name})`, 'users'), principal: user.id, origin }
}
