/** Application credentials of a user, as they are found, and deleted. */
import { canBeName } from '../authority/names.ts'
import {
  ApplicationCredentialChange,
  type ApplicationCredentialRecord,
  ApplicationCredentialRecords,
} from '../directory/application-credential-records.ts'
import type { DirectoryChange } from '../directory/change.ts'
import type { UserRecord } from '../directory/directory.ts'
import { found } from '../directory/found.ts'
import type { DirectoryRecords } from '../directory/records.ts'

/** @returns `undefined`: the user has no such credential, or it ended */
export async function findCredential(
  { queries }: DirectoryRecords,
  userId: string,
  id: string,
): Promise<ApplicationCredentialRecord | undefined> {
  return canBeName(id) ? new ApplicationCredentialRecords(queries).ofUser(userId, id) : undefined
}

/** @throws CallError `NOT_FOUND` */
export async function credentialOf(
  records: DirectoryRecords,
  userId: string,
  id: string,
): Promise<ApplicationCredentialRecord> {
  return found(await findCredential(records, userId, id), 'such application credential of that user')
}

/** Its tokens are revoked. @throws CallError `NOT_FOUND` */
export async function deleteCredentialOf(
  change: DirectoryChange,
  user: Pick<UserRecord, 'id'>,
  id: string,
): Promise<void> {
  await new ApplicationCredentialChange(change).delete(await credentialOf(change.records, user.id, id))
}
