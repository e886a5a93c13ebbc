/**
 * The rights of administrators: an operator has those of the configuration, owners and users with the role
 * `iam.admin` administer their account (§5.1), and a control panel user their own records.
 */

import { callError } from '../../base/call-error.ts'
import { TimeLimit } from '../../base/time-limit.ts'
import { ADMINISTRATOR_ROLE, administersAccount, type UserRecord } from '../../directory/directory.ts'
import type { Caller } from '../callers.ts'
import type { Requester } from '../requester.ts'

/**
 * The right that an operation needs. A caller with the right `everything` may do every operation.
 *
 * - `operator`: only operators have it.
 * - `account_administrator`: the owner of the account that the operation is about, or a user of it with
 *   `iam.admin`.
 * - `inviter`: as `account_administrator`, but in person: logged in to the control panel. An invitation logs
 *   in as the user whom it is for. A requester that only administers, or a service user that it made, must
 *   not get that far.
 * - `self`: the control panel user whom the operation is about. It gives out secrets of one user alone.
 * - `self_or_account_administrator`: either of the two.
 */
export type Need = 'operator' | 'account_administrator' | 'inviter' | 'self' | 'self_or_account_administrator'

/** Whom an operation is about. */
export interface About {
  /** `undefined`: every account. */
  readonly account: string | undefined
  /** Name of the control panel user, where the operation is about one. */
  readonly controlPanelUser?: string
}

/**
 * @param reads whether the operation changes nothing and returns no secret
 * @throws CallError: PERMISSION_DENIED
 */
export function authorize(requester: Requester, need: Need, about: About, reads: boolean): void {
  if (requester.type === 'operator') {
    authorizeCaller(requester.caller, need, about, reads)
    return
  }
  const { user } = requester
  const { account, controlPanelUser } = about
  const administrator = isAccountAdministrator(user, account)
  const self =
    user.account === account && user.type === 'control_panel_user' && user.name === controlPanelUser
  const enough: Record<Need, boolean> = {
    operator: false,
    account_administrator: administrator,
    inviter: administrator && requester.session !== undefined,
    self,
    self_or_account_administrator: self || administrator,
  }
  if (!enough[need]) throw callError('NOT_ADMINISTRATOR', { who: WHO[need] })
}

/**
 * A caller with `administer` does what the owner of the account may do, so no credential of its users is
 * among that.
 *
 * @throws CallError: PERMISSION_DENIED
 */
export function authorizeCaller(
  { name, rights }: Caller,
  need: Need,
  { account }: About,
  reads: boolean,
): void {
  if (rights.everything || (reads && rights.read)) return
  const forAdministrators = account !== undefined && FOR_ADMINISTRATORS.includes(need)
  if (forAdministrators && rights.administer.has(account)) return
  const right = reads ? 'read' : forAdministrators ? 'administer' : 'everything'
  throw callError('CALLER_RIGHT_MISSING', { caller: name, action: 'do this in the directory', right })
}

/** The needs that `administer` satisfies. */
const FOR_ADMINISTRATORS: readonly Need[] = ['account_administrator', 'self_or_account_administrator']

const ACCOUNT_ADMINISTRATOR = `the account owner or a user with the role ${ADMINISTRATOR_ROLE}`

const WHO: Readonly<Record<Need, string>> = {
  operator: 'an operator',
  account_administrator: ACCOUNT_ADMINISTRATOR,
  inviter: `${ACCOUNT_ADMINISTRATOR}, logged in to the control panel,`,
  self: 'the control panel user whose token it is',
  self_or_account_administrator: `the control panel user themselves, ${ACCOUNT_ADMINISTRATOR}`,
}

/**
 * The owner's rule: a user with `iam.admin` must not become an owner, nor get rid of one, nor lock one out.
 *
 * @throws CallError: PERMISSION_DENIED
 */
export function authorizeAsOwner(requester: Requester): void {
  if (requester.type === 'user' && !requester.user.owner) throw callError('NOT_OWNER', {})
}

/** The time for which a proof of identity counts for operations that give out secrets. */
export const PROOF_LIMIT = new TimeLimit(10 * 60_000)

/** @throws CallError `REAUTHENTICATION_REQUIRED` where a session has not been confirmed lately */
export function expectConfirmed({ session }: Requester, nowMs: number): void {
  if (session !== undefined && PROOF_LIMIT.isOverSince(session.confirmedAtMs, nowMs))
    throw callError('REAUTHENTICATION_REQUIRED', {})
}

/** Whether a user administers an account (§5.1). No requester administers every account. */
export function isAccountAdministrator(
  user: Pick<UserRecord, 'account' | 'owner' | 'roles'>,
  account: string | undefined,
): boolean {
  return user.account === account && administersAccount(user)
}
