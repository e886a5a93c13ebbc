/** The names of users by their ids, and back, in a directory that is not open. Deleted users keep theirs. */
import { optionalNumber, text } from './rows.ts'
import type { DirectoryPlace, SnapshotRow } from './snapshot.ts'
import { withSnapshot } from './take-snapshot.ts'

export interface UserName {
  readonly id: string
  readonly name: string
  readonly account: string
  readonly deleted: boolean
}

/** Ids of the directory; others are of upstreams. */
const ID = /^[\w-]{1,64}$/

/** Ids in one statement. */
const IDS_MAX = 500

const USERS = `
  SELECT users.id, users.name, accounts.account,
    COALESCE(users.deleted_at_ms, accounts.deleted_at_ms) AS deleted_at_ms
  FROM users JOIN accounts ON accounts.id = users.account_id`

/** @throws Error if the directory cannot be read */
export function userNames(
  place: DirectoryPlace,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, UserName>> {
  const known = [...ids].filter((id) => ID.test(id))
  return withSnapshot(place, async (snapshot) => {
    const found = new Map<string, UserName>()
    for (let from = 0; from < known.length; from += IDS_MAX) {
      const some = known.slice(from, from + IDS_MAX).map((id) => `'${id}'`)
      for (const row of await snapshot.all(`${USERS} WHERE users.id IN (${some.join(', ')})`)) {
        const user = userOf(row)
        found.set(user.id, user)
      }
    }
    return found
  })
}

/** Every user who has or had the name, in any account. @throws Error if the directory cannot be read */
export function usersNamed(place: DirectoryPlace, name: string): Promise<readonly UserName[]> {
  return withSnapshot(place, async (snapshot) => {
    const found: UserName[] = []
    for await (const row of snapshot.rows(USERS)) if (row.name === name) found.push(userOf(row))
    return found
  })
}

function userOf(row: SnapshotRow): UserName {
  return {
    id: text(row.id),
    name: text(row.name),
    account: text(row.account),
    deleted: optionalNumber(row.deleted_at_ms) !== undefined,
  }
}
