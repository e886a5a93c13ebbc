/**
 * Application credentials at the identity endpoint, as Keystone's clients know them: a service user makes
 * them for themself, with a token for the project; administrators list and delete them.
 */
import type { Actor } from '../../authority/actor.ts'
import {
  ADMINISTRATOR_ROLE,
  type ApplicationCredentialRecord,
  administersAccount,
  type UserRecord,
} from '../../authority/administration/administration.ts'
import type { WantedCredential } from '../../authority/administration/application-credentials.ts'
import { callError, invalidArgument } from '../../base/call-error.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Secret } from '../../base/secret.ts'
import type { ChangeRates } from '../change-rates.ts'
import { authorOf, confirmUser, type UserByToken } from '../requester.ts'
import { authenticate, IDENTITY_CREDENTIAL, type IdentityRequest } from './authenticate.ts'
import { type IdentityServices, withRecords } from './identity-token.ts'

export interface CredentialServices extends IdentityServices {
  readonly changeRates: ChangeRates
}

/** What a client asks for. */
export interface CredentialWish
  extends Pick<WantedCredential, 'name' | 'description' | 'secret' | 'unrestricted' | 'expiresAt'> {
  /** Names of the roles, each once; `undefined`: all that the user has in the project. */
  readonly roles: readonly string[] | undefined
}

export interface CredentialQuestion extends IdentityRequest {
  /** Id of the user in the path. */
  readonly userId: string
}

const SELF = 'the user themself, with a token for a project,'

/**
 * Makes a credential for the project of the requester's token.
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
  const { roles = held, ...fields } = wish
  const missing = roles.findIndex((role) => !held.includes(role))
  if (missing !== -1)
    throw invalidArgument({
      field: `application_credential.roles[${missing}]`,
      expected: 'a role that the user has in the project',
    })
  const limited = token.applicationCredential?.limited === true || held.some((role) => !roles.includes(role))
  const wanted = { ...fields, roles, limited, projectId }
  // What makes them a maker is their id and their token, which stay as they are.
  const actor = actorOf(services, requester, 'users', () => {})
  services.changeRates.spend(actor)
  return services.administration.applicationCredentials.create(actor, user, wanted)
}

/** The credentials of a user, ordered by name. @throws CallError */
export async function listCredentials(
  services: IdentityServices,
  question: CredentialQuestion,
): Promise<{ readonly user: UserRecord; readonly found: readonly ApplicationCredentialRecord[] }> {
  const requester = await authenticate(services, question, 'scoped')
  const user = await userOf(services, requester, question.userId)
  const size = 1_000
  const found = await services.administration.applicationCredentials.list(user.id, { after: '', size })
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
  return services.administration.applicationCredentials.get(user.id, id)
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
  const actor = actorOf(services, requester, 'revocations', (now) => expectDeleter(now, user))
  await services.administration.applicationCredentials.delete(actor, user, id)
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
  const user = await administration.users.byId(userId)
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

function actorOf(
  services: IdentityServices,
  requester: UserByToken,
  lane: 'users' | 'revocations',
  expect: (requester: UserByToken) => void,
): Actor {
  return {
    ...authorOf(requester, lane),
    confirm: async (now) => expect(await confirmUser(services, requester, now, IDENTITY_CREDENTIAL)),
    authorize: () => {},
  }
}
