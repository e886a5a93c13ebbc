/** Who may revoke a token: its holder, who administers its account, and callers with the right. */
import type { Actor } from '../authority/actor.ts'
import { isUnscoped, type VerifiedToken } from '../authority/authority.ts'
import { callError } from '../base/call-error.ts'
import { authorizeAsOwner, isAccountAdministrator } from './administration/authorize.ts'
import { authorOf, confirmUser, type UserByToken } from './requester.ts'
import type { CallServices } from './services.ts'

/**
 * The user as the actor who revokes the token. Their right is decided now, and again inside the change's transaction.
 *
 * @param credential what the requester would have to present, for the error
 * @throws CallError: PERMISSION_DENIED
 */
export function revokingUser(
  services: Pick<CallServices, 'engine' | 'now'>,
  requester: UserByToken,
  token: VerifiedToken,
  credential: string,
): Actor {
  authorizeRevocation(requester, token)
  let current = requester
  return {
    ...authorOf(requester, 'revocations'),
    confirm: async (now) => {
      current = await confirmUser(services, requester, now, credential)
      authorizeRevocation(current, token)
    },
    authorize: (holder) => {
      if (holder.owner && holder.id !== current.user.id) authorizeAsOwner(current)
    },
  }
}

function authorizeRevocation(requester: UserByToken, token: VerifiedToken): void {
  expectHolderOrAdministrator(requester, token)
  // Middleware validates with a token of its project. To revoke a token of somebody else takes one for the account, as
  // all administration does.
  if (!isHolder(requester, token) && requester.token.scope.project !== undefined)
    throw callError('ACCOUNT_SCOPE_REQUIRED', {})
}

/** @throws CallError unless the requester holds the token or administers its account */
export function expectHolderOrAdministrator(requester: UserByToken, token: VerifiedToken): void {
  if (!isHolder(requester, token)) expectAdministrator(requester, token.scope.account)
}

/** @throws CallError unless the requester administers the account, and not by an unscoped token, which is for their own affairs */
export function expectAdministrator({ user, token }: UserByToken, account: string): void {
  if (isUnscoped(token) || !isAccountAdministrator(user, account))
    throw callError('NOT_HOLDER_NOR_ADMINISTRATOR', {})
}

export function isHolder({ user }: UserByToken, token: VerifiedToken): boolean {
  return user.id === token.subject.id
}
