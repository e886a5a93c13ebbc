/** Records that are looked for, or the error that says which one is missing. */
import { callError } from '../base/call-error.ts'
import type { AccountRecord, ProjectRecord, StaticTokenRecord, UserRecord, UserType } from './directory.ts'
import type { DirectoryRecords } from './records.ts'

/** @param what was looked for, as `NOT_FOUND` names it */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw callError('NOT_FOUND', { what })
  return value
}

export async function accountIn(records: DirectoryRecords, account: string): Promise<AccountRecord> {
  return found(await records.account(account), `account \`${account}\``)
}

export async function projectIn(
  records: DirectoryRecords,
  account: string,
  name: string,
): Promise<ProjectRecord> {
  return found(await records.project(account, name), `project \`${name}\` in account \`${account}\``)
}

export async function userIn(
  records: DirectoryRecords,
  account: string,
  name: string,
  type: UserType,
): Promise<UserRecord> {
  const what = type === 'service_user' ? 'service user' : 'control panel user'
  return found(await records.user(account, name, type), `${what} \`${name}\` in account \`${account}\``)
}

/** A static token of a user that is not revoked. */
export async function staticTokenOf(
  records: DirectoryRecords,
  user: UserRecord,
  name: string,
): Promise<StaticTokenRecord> {
  return found(await records.activeStaticToken(user.id, name), `active static token \`${name}\``)
}

/** Records of an account. A missing account is `NOT_FOUND`, and not an empty list. */
export async function listIn<T>(
  records: DirectoryRecords,
  account: string,
  list: Promise<readonly T[]>,
): Promise<readonly T[]> {
  const listed = await list
  if (listed.length === 0) await accountIn(records, account)
  return listed
}
