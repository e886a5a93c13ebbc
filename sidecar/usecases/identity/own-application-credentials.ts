/**
 * Application credentials at the identity endpoint, as Keystone's clients know them: a service user makes
 * them for themself, with a token for the project; administrators list and delete them.
 */
import { changeDirectory } from '../../authority/administration/change-directory.ts'
import { checkName } from '../../authority/names.ts'
import { PASSWORD_LENGTH_MAX } from '../../authority/password.ts'
import { callError, invalidArgument } from '../../base/call-error.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { randomText } from '../../base/random-text.ts'
import { Secret } from '../../base/secret.ts'
import { isVisible, VISIBLE_EXPECTED } from '../../base/visible-text.ts'
import {
  APPLICATION_CREDENTIALS_MAX,
  ApplicationCredentialChange,
  type ApplicationCredentialRecord,
  ApplicationCredentialRecords,
  type NewApplicationCredential,
  TooManyCredentials,
} from '../../directory/application-credential-records.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import { ADMINISTRATOR_ROLE, administersAccount, type UserRecord } from '../../directory/directory.ts'
import { userIn } from '../../directory/found.ts'
import type { ChangeRates } from '../change-rates.ts'
import { credentialOf, deleteCredentialOf } from '../credential-records.ts'
import { authorOf, confirmUser, holdOf, type UserByToken } from '../requester.ts'
import { authenticate, IDENTITY_CREDENTIAL, type IdentityRequest } from './authenticate.ts'
import { type IdentityServices, withRecords } from './identity-token.ts'

export interface CredentialServices extends IdentityServices {
  readonly changeRates: ChangeRates
}

/** The wish of a client. */
export interface CredentialWish
  extends Pick<NewApplicationCredential, 'name' | 'description' | 'unrestricted' | 'expiresAt'> {
  /** `undefined`: one of 256 random bits is made. */
  readonly secret: Secret | undefined
  /** Names of the roles, each once; `undefined`: all that the user has in the project. */
  readonly roles: readonly string[] | undefined
}

export interface CredentialQuestion extends IdentityRequest {
  /** Id of the user in the path. */
  readonly userId: string
}

const SELF = 'the user themself, with a token for a project,'

/** Longest description, in characters. */
const DESCRIPTION_LENGTH_MAX = 1_000

/**
 * Makes a credential for the project of the requester's token. The secret is in this answer and nowhere else.
 *
 * @param read what the client asks for, given the names of the roles that its token has
 * @throws CallError
 */
export async function createCredential(
  services: CredentialServices,
  question: CredentialQuestion,
  read: (held: readonly string[]) => MaybePromise<CredentialWish>,
): Promise<{ readonly credential: ApplicationCredentialRecord; readonly secret: Secret }> {
  const requester = await authenticate(services, question, 'scoped')
  const projectId = expectMaker(requester, question.userId)
  const { token, user } = requester
  const { roles: held } = await withRecords(services, token, user)
  const wish = await read(held)
  const { roles = held, secret: chosen, ...fields } = wish
  const missing = roles.findIndex((role) => !held.includes(role))
  if (missing !== -1)
    throw invalidArgument({
      field: `application_credential.roles[${missing}]`,
      expected: 'a role that the user has in the project',
    })
  const limited = token.applicationCredential?.limited === true || held.some((role) => !roles.includes(role))
  const author = authorOf(requester, 'users')
  services.changeRates.spend(author)
  expectWish(wish, services.now())
  const secret = chosen ?? new Secret(randomText(32))
  const { administration } = services
  // Hashing takes long, so it comes before the change, in the turn of its author.
  const secretHash = await administration.secrets.hash(secret, author.principal)
  const credential = await changeDirectory(
    administration.directory,
    author,
    async (change) => {
      change.writer.hold({ ...holdOf(requester), changes: 'users' })
      // Their id and their token make them a maker, and both stay as they are.
      await confirmUser(services, requester, change.records, IDENTITY_CREDENTIAL)
      const holder = await userIn(change.records, user.account, user.name, 'service_user')
      return added(change, holder, { ...fields, roles, limited, projectId, secretHash })
    },
    `application credential \`${fields.name}\``,
  )
  return { credential, secret }
}

/** @throws CallError `APPLICATION_CREDENTIALS_FULL` */
async function added(
  change: DirectoryChange,
  holder: UserRecord,
  credential: NewApplicationCredential,
): Promise<ApplicationCredentialRecord> {
  try {
    const id = await new ApplicationCredentialChange(change).add(holder, credential)
    return credentialOf(change.records, holder.id, id)
  } catch (error) {
    if (!(error instanceof TooManyCredentials)) throw error
    throw callError('APPLICATION_CREDENTIALS_FULL', { max: APPLICATION_CREDENTIALS_MAX })
  }
}

/** @throws CallError that names the field of the request */
function expectWish({ name, description, secret, expiresAt }: CredentialWish, nowMs: number): void {
  checkName('application_credential.name', name)
  if (description.length > DESCRIPTION_LENGTH_MAX || !isVisible(description))
    throw invalidArgument({
      field: 'application_credential.description',
      expected: `a text of at most ${DESCRIPTION_LENGTH_MAX} characters ${VISIBLE_EXPECTED}`,
    })
  if (secret !== undefined && !canBeSecret(secret.reveal()))
    throw invalidArgument({
      field: 'application_credential.secret',
      expected: `1 to ${PASSWORD_LENGTH_MAX} characters`,
    })
  if (expiresAt !== undefined && expiresAt.ms <= nowMs)
    throw invalidArgument({
      field: 'application_credential.expires_at',
      expected: 'a time in the future',
    })
}

function canBeSecret(secret: string): boolean {
  return secret.length > 0 && secret.length <= PASSWORD_LENGTH_MAX && secret.isWellFormed()
}

/** The credentials of a user, ordered by name. @throws CallError */
export async function listCredentials(
  services: IdentityServices,
  question: CredentialQuestion,
): Promise<{ readonly user: UserRecord; readonly found: readonly ApplicationCredentialRecord[] }> {
  const requester = await authenticate(services, question, 'scoped')
  const user = await userOf(services, requester, question.userId)
  const { queries } = services.administration.records
  const found = await new ApplicationCredentialRecords(queries).list(user.id, { after: '', size: 1_000 })
  return { user, found }
}

/** @throws CallError */
export async function getCredential(
  services: IdentityServices,
  question: CredentialQuestion,
  id: string,
): Promise<ApplicationCredentialRecord> {
  const requester = await authenticate(services, question, 'scoped')
  const user = await userOf(services, requester, question.userId)
  return credentialOf(services.administration.records, user.id, id)
}

/** @throws CallError */
export async function deleteCredential(
  services: IdentityServices,
  question: CredentialQuestion,
  id: string,
): Promise<void> {
  const requester = await authenticate(services, question, 'scoped')
  const user = await userOf(services, requester, question.userId)
  expectDeleter(requester, user)
  const author = authorOf(requester, 'revocations')
  await changeDirectory(services.administration.directory, author, async (change) => {
    const { records } = change
    const hold = holdOf(requester)
    change.writer.hold({ ...hold, userIds: [requester.user.id, user.id], changes: 'users' })
    expectDeleter(await confirmUser(services, requester, records, IDENTITY_CREDENTIAL), user)
    const holder = await userIn(records, user.account, user.name, 'service_user')
    await deleteCredentialOf(change, holder, id)
  })
}

/**
 * The user whose credentials a request is about: the requester, or one of the account that they administer.
 */
async function userOf(
  { administration }: IdentityServices,
  requester: UserByToken,
  userId: string,
): Promise<UserRecord> {
  if (requester.user.id === userId) return requester.user
  expectAdministrator(requester)
  const user = await administration.records.userById(userId)
  // Users of other accounts are as unknown as those that do not exist.
  if (user === undefined || user.account !== requester.user.account || user.type !== 'service_user')
    throw callError('NOT_FOUND', { what: 'such service user in the account' })
  return user
}

/** @returns id of the project of their token @throws CallError */
function expectMaker({ user, token }: UserByToken, userId: string): string {
  if (user.id !== userId || user.type !== 'service_user' || token.projectId === undefined)
    throw callError('NOT_ADMINISTRATOR', { who: SELF })
  expectUnrestricted(token)
  return token.projectId
}

/** @param holder one that `userOf` has found @throws CallError */
function expectDeleter(requester: UserByToken, holder: UserRecord): void {
  expectUnrestricted(requester.token)
  if (requester.user.id === holder.id) return
  expectAdministrator(requester)
  // As for all administration.
  if (requester.token.scope.project !== undefined) throw callError('ACCOUNT_SCOPE_REQUIRED', {})
}

/** Of their own account. @throws CallError */
function expectAdministrator({ user }: UserByToken): void {
  if (!administersAccount(user))
    throw callError('NOT_ADMINISTRATOR', { who: `that user, or one with the role ${ADMINISTRATOR_ROLE},` })
}

/** As in Keystone: a program must not make a credential that outlives its own. @throws CallError */
function expectUnrestricted({ applicationCredential: credential }: UserByToken['token']): void {
  if (credential?.unrestricted === false)
    throw callError('NOT_ADMINISTRATOR', {
      who: 'a token that was not obtained by an application credential, or by an unrestricted one,',
    })
}
