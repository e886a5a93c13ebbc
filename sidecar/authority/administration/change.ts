/**
 * Changes that somebody asks for. Each goes through one function, which has who makes it and its transaction.
 */
import { callError } from '../../base/call-error.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import { AlreadyExists, NoSuchProject } from '../../directory/database.ts'
import type { UserRecord, UserType } from '../../directory/directory.ts'
import type { DirectoryStore } from '../../directory/store.ts'
import type { Actor, ChangeView } from '../actor.ts'
import { queryOf } from '../iam-token.ts'
import { userIn } from './found.ts'

/**
 * Changes the directory in one transaction: all of it holds afterwards, or nothing. The actor's right is
 * checked in the same transaction.
 *
 * @param creating what the change creates; the error names it where there is one of that name already
 * @throws CallError
 */
export async function changeDirectory<T>(
  store: DirectoryStore,
  actor: Actor,
  work: (change: DirectoryChange) => Promise<T>,
  creating = '',
): Promise<T> {
  try {
    return await store.change(actor, async (change) => {
      await actor.confirm(viewOf(change))
      return work(change)
    })
  } catch (error) {
    if (error instanceof AlreadyExists) throw callError('ALREADY_EXISTS', { what: creating })
    if (error instanceof NoSuchProject) throw callError('NO_SUCH_PROJECT', error)
    throw error
  }
}

function viewOf({ records }: DirectoryChange): ChangeView {
  return {
    records,
    tokenHolder: (token, kind) => records.activeHolder(queryOf(token, kind?.permissionScopes ?? [])),
  }
}

/** A user whom a change is about, if the actor may do it to them. @throws CallError */
export async function userToChange(
  change: DirectoryChange,
  actor: Actor,
  account: string,
  name: string,
  type: UserType,
): Promise<UserRecord> {
  const user = await userIn(change.records, account, name, type)
  actor.authorize(user)
  return user
}
