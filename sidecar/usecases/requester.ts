/** Who makes an administrative or identity call: an operator, by a caller token, or a user, by an IAM token of their own. */
import type { UserRecord } from '../authority/administration/administration.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import { callError } from '../base/call-error.ts'
import type { CallServices } from './services.ts'

export type Requester = Operator | UserRequester

/** A caller with administrator rights over everything. */
export interface Operator {
  readonly type: 'operator'
  readonly name: string
}

export interface UserRequester {
  readonly type: 'user'
  /** As the directory has them now. */
  readonly user: UserRecord
  /** The token that they authenticated with. */
  readonly token: VerifiedToken
}

/** How a requester says who they are. */
export interface PresentedCredentials {
  /** Values of `authorization`: a caller token. */
  readonly authorization: readonly string[]
  /** Values of `x-auth-token`: an IAM token. */
  readonly iamToken: readonly string[]
  /** IP address, where the requester has one. */
  readonly clientAddress: string | undefined
}

/**
 * Who makes an administrative call. A user needs a token for their account.
 *
 * @throws CallError: UNAUTHENTICATED without the credential of a known requester
 */
export async function identify(
  services: Pick<CallServices, 'engine' | 'authority' | 'administration' | 'callers'>,
  { authorization, iamToken, clientAddress }: PresentedCredentials,
): Promise<Requester> {
  const caller = services.callers.find(authorization)
  if (caller !== undefined) {
    if (!caller.operator)
      throw callError('CALLER_NOT_OPERATOR', { caller: caller.name, action: 'administer the directory' })
    return { type: 'operator', name: caller.name }
  }
  const [value, ...more] = iamToken
  const requester =
    value !== undefined && more.length === 0
      ? await userByIamToken(services, { value, clientAddress })
      : undefined
  if (requester === undefined || requester.token.scope.project !== undefined)
    throw callError('REQUESTER_NOT_AUTHENTICATED', {
      credential:
        'a caller token (metadata `authorization: Bearer …`) or an account-scoped IAM token (metadata `x-auth-token`)',
    })
  return requester
}

/**
 * The user whose active IAM token it is. No other credential authenticates anybody here, whatever it opens.
 *
 * @throws CallError `ADDRESS_NOT_ALLOWED`, and where the authority does not answer
 */
export async function userByIamToken(
  { engine, authority, administration }: Pick<CallServices, 'engine' | 'authority' | 'administration'>,
  {
    value,
    clientAddress,
  }: {
    readonly value: string
    /** Where it came from, for accounts that restrict addresses (§1). */
    readonly clientAddress: string | undefined
  },
): Promise<UserRequester | undefined> {
  if (authority.recognize(value) !== 'issue') return undefined
  const verification = await authority.verify(value, engine.tokenKinds, clientAddress)
  const { token } = verification
  if (token === undefined || engine.tokenKinds.get(token.kind)?.obtained.by !== 'issue') return undefined
  if (!verification.ok) {
    if (verification.reason === 'ADDRESS_NOT_ALLOWED') throw callError('ADDRESS_NOT_ALLOWED', {})
    return undefined
  }
  const user = await administration.users.byId(token.subject.id)
  return user && { type: 'user', user, token }
}
