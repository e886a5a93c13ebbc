/** The right to revoke a token: holders, administrators of the account, and callers may have it. */
import type { Administration } from '../authority/administration/administration.ts'
import { changeDirectory } from '../authority/administration/change-directory.ts'
import { isUnscoped, type VerifiedToken } from '../authority/authority.ts'
import { callError } from '../base/call-error.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { ChangeAuthor } from '../directory/author.ts'
import type { UserRecord } from '../directory/directory.ts'
import type { Hold } from '../directory/hold.ts'
import type { DirectoryRecords } from '../directory/records.ts'
import { authorizeAsOwner, isAccountAdministrator } from './administration/authorize.ts'
import type { Clocked, Deciding } from './capabilities.ts'
import { authorOf, confirmUser, holdOf, type UserByToken } from './requester.ts'

/** The asker of a revocation. */
export type AskerClass =
  /** By a caller token: nothing but its right counts. */
  | 'named_caller'
  /** By a client certificate, which comes with every call: it adds a right, and takes away nothing. */
  | 'caller_with_right'
  | 'caller_without_right'
  | 'user'
  | 'user_of_upstream'
  /** Presents an invalid IAM token, or several. */
  | 'unknown_user'
  | 'nobody'

/** `upstream`: of an upstream, and of the requester's own where they have one. */
export type TokenClass = 'iam' | 'static' | 'upstream' | 'other_upstream'

/** The ground of a revocation, or why it is refused. */
export type Ground =
  /** The caller's right to revoke, which is still to be expected for the token's account. */
  | 'right'
  /** The user holds the token, or administers its account: still to be expected. */
  | 'user'
  /** A holder of an IAM token may end it. */
  | 'possession'
  /** The upstream decides, by the user's token. */
  | 'upstream'
  | 'not_holder'
  | 'not_authenticated'

/**
 * The whole rule. A static token is a credential for APIs alone, so a client that found one
 * cannot end it. An upstream does not know our users.
 */
const GROUNDS: Readonly<Record<AskerClass, Readonly<Record<TokenClass, Ground>>>> = {
  named_caller: { iam: 'right', static: 'right', upstream: 'right', other_upstream: 'right' },
  caller_with_right: { iam: 'right', static: 'right', upstream: 'right', other_upstream: 'right' },
  caller_without_right: {
    ...{ iam: 'possession', static: 'right' },
    ...{ upstream: 'possession', other_upstream: 'possession' },
  },
  user: { iam: 'user', static: 'user', upstream: 'not_holder', other_upstream: 'not_holder' },
  user_of_upstream: {
    ...{ iam: 'not_holder', static: 'not_authenticated' },
    ...{ upstream: 'upstream', other_upstream: 'not_holder' },
  },
  unknown_user: {
    ...{ iam: 'not_authenticated', static: 'not_authenticated' },
    ...{ upstream: 'not_authenticated', other_upstream: 'not_authenticated' },
  },
  nobody: {
    ...{ iam: 'possession', static: 'not_authenticated' },
    ...{ upstream: 'possession', other_upstream: 'possession' },
  },
}

export function groundOf(asker: AskerClass, token: TokenClass): Ground {
  return GROUNDS[asker][token]
}

/** The author of a revocation in the directory. */
export interface Revoker {
  readonly author: ChangeAuthor
  /** The facts that the right rests on besides the holder; default: none of the directory. */
  readonly hold?: Hold
  /**
   * Expects the right again, inside the transaction: the call may have waited since it was decided.
   *
   * @param findHolder of the token; `undefined`: they are not known
   * @throws CallError where the right was lost meanwhile, or does not reach that far
   */
  readonly expectRight: (
    records: DirectoryRecords,
    findHolder: () => Promise<UserRecord | undefined>,
  ) => MaybePromise<void>
}

/**
 * The user who revokes the token.
 *
 * @param credential what the requester would need to present, for the error
 * @throws CallError: PERMISSION_DENIED
 */
export function revokingUser(
  services: Deciding & Clocked,
  requester: UserByToken,
  token: VerifiedToken,
  credential: string,
): Revoker {
  authorizeRevocation(requester, token)
  return {
    author: authorOf(requester, 'revocations'),
    hold: holdOf(requester),
    expectRight: async (records, findHolder) => {
      const [current, holder] = await Promise.all([
        confirmUser(services, requester, records, credential),
        findHolder(),
      ])
      authorizeRevocation(current, token)
      if (holder?.owner) authorizeAsOwner(current)
    },
  }
}

/** A token to revoke. */
interface Revocation {
  readonly tokenId: string
  /** The token's account; empty: the directory is asked for it, and for the holder. */
  readonly account: string
  readonly holderId?: string
}

/** @returns when it was first revoked, in milliseconds since the epoch @throws CallError */
export function revokeInDirectory(
  { directory }: Administration,
  { author, hold = {}, expectRight }: Revoker,
  { tokenId, account, holderId }: Revocation,
): Promise<number> {
  return changeDirectory(directory, author, async (change) => {
    const { records } = change
    const { userIds = [] } = hold
    const holders = holderId === undefined || userIds.length === 0 ? [] : [holderId]
    // A change whose author presented the token ends first.
    change.writer.hold({ ...hold, userIds: [...userIds, ...holders], alone: [tokenId] })
    // Survives: `account === ''` → `true`. The directory would say the same of a token that is known.
    const finding = account === '' ? records.tokenById(tokenId) : undefined
    finding?.catch(() => {})
    await expectRight(records, async () => (holderId === undefined ? undefined : records.userById(holderId)))
    const known = await finding
    return change.revoke(tokenId, known?.account ?? account, known?.holderId ?? holderId)
  })
}

function authorizeRevocation(requester: UserByToken, token: VerifiedToken): void {
  expectHolderOrAdministrator(requester, token)
  // Middleware validates with a token of its project. To revoke a token of another user takes one for the
  // account, as all administration does.
  if (!isHolder(requester, token) && requester.token.scope.project !== undefined)
    throw callError('ACCOUNT_SCOPE_REQUIRED', {})
}

/** @throws CallError unless the requester holds the token or administers its account */
export function expectHolderOrAdministrator(requester: UserByToken, token: VerifiedToken): void {
  if (!isHolder(requester, token)) expectAdministrator(requester, token.scope.account)
}

/**
 * @throws CallError unless the requester administers the account, and not by an unscoped token, which is for
 *   their own affairs
 */
export function expectAdministrator({ user, token }: UserByToken, account: string): void {
  if (isUnscoped(token) || !isAccountAdministrator(user, account))
    throw callError('NOT_HOLDER_NOR_ADMINISTRATOR', {})
}

export function isHolder({ user }: UserByToken, token: VerifiedToken): boolean {
  return user.id === token.subject.id
}
