/** Who may administer what. The owner of an account and users with `iam.admin` their account (§5.1), administrators everything. */
import type { Engine } from '../../engine/index.ts'
import type { Administration, UserRecord } from '../authority/administration.ts'
import type { Authority } from '../authority/authority.ts'
import { callError } from '../base/call-error.ts'
import type { Callers } from './callers.ts'
import { requesterOf } from './requester.ts'

/** Who asks. */
export type Principal =
  | { readonly type: 'operator'; readonly name: string }
  | { readonly type: 'user'; readonly user: UserRecord }

/** How a caller says who they are. */
export interface Identification {
  /** Values of `authorization`. */
  readonly authorization: readonly string[]
  /** Values of `x-auth-token`. */
  readonly iamToken: readonly string[]
  /** IP address, where the caller has one. */
  readonly clientAddress: string | undefined
}

/**
 * What a call needs. `operator`: a caller token that may administer, which each of them admits. `administrator`: the
 * account's owner, or a user with `iam.admin`. `self`: the control panel user whom the call is about, and nobody in their
 * stead: what it gives out is that user's own. `self_or_administrator`: either.
 */
export type Need = 'operator' | 'administrator' | 'self' | 'self_or_administrator'

/** The role whose holders administer their account (§5.1). */
export const ADMINISTRATOR_ROLE = 'iam.admin'

export interface IdentificationServices {
  readonly engine: Engine
  readonly authority: Authority
  readonly administration: Administration
  readonly callers: Callers
}

/** @throws CallError: UNAUTHENTICATED where nobody, or nobody known, is named */
export async function identify(services: IdentificationServices, caller: Identification): Promise<Principal> {
  const { administration, callers } = services
  const operator = callers.find(caller.authorization)
  if (operator !== undefined) {
    if (!operator.administrator)
      throw callError('CALLER_NOT_OPERATOR', { caller: operator.name, action: 'administer the directory' })
    return { type: 'operator', name: operator.name }
  }
  const [value, ...more] = caller.iamToken
  const token =
    value !== undefined && more.length === 0
      ? await requesterOf(services, value, caller.clientAddress)
      : undefined
  const user =
    token !== undefined && token.scope.project === undefined
      ? await administration.userById(token.subject.id)
      : undefined
  if (user === undefined)
    throw callError('REQUESTER_NOT_AUTHENTICATED', {
      credential:
        'a caller token (metadata `authorization: Bearer …`) or an account-scoped IAM token (metadata `x-auth-token`)',
    })
  return { type: 'user', user }
}

/**
 * @param account the account that the call is about; empty: every account
 * @param holder name of the control panel user that the call is about, where it is about one
 * @throws CallError: PERMISSION_DENIED
 */
export function authorize(principal: Principal, need: Need, account: string, holder = ''): void {
  if (principal.type === 'operator') return
  const { user } = principal
  const inAccount = user.account === account
  const administrator = inAccount && administers(user)
  const self = inAccount && user.type === 'control_panel_user' && user.name === holder
  const enough: Record<Need, boolean> = {
    operator: false,
    administrator,
    self,
    self_or_administrator: self || administrator,
  }
  if (!enough[need]) throw callError('NOT_ADMINISTRATOR', { who: WHO[need] })
}

const ADMINISTRATOR = `the account owner or a user with the role ${ADMINISTRATOR_ROLE}`

const WHO: Readonly<Record<Need, string>> = {
  operator: 'an operator',
  administrator: ADMINISTRATOR,
  self: 'the control panel user whose token it is',
  self_or_administrator: `the control panel user themselves, ${ADMINISTRATOR}`,
}

/**
 * What is done to an owner, or makes one, is for owners: a user with `iam.admin` must not become one, nor get rid of one.
 *
 * @throws CallError: PERMISSION_DENIED
 */
export function authorizeAsOwner(principal: Principal): void {
  if (principal.type === 'user' && !principal.user.owner) throw callError('NOT_OWNER', {})
}

/** Whether a user administers their account (§5.1). */
export function administers(user: Pick<UserRecord, 'owner' | 'roles'>): boolean {
  return user.owner || user.roles.includes(ADMINISTRATOR_ROLE)
}

/** How the audit trail names who asked. */
export function actorOf(principal: Principal): string {
  return principal.type === 'operator'
    ? `caller ${principal.name}`
    : `${principal.user.type} ${principal.user.id} (${principal.user.name})`
}
