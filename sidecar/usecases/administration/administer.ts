/**
 * Administration of the directory: one table of operations, and the one function through which each of them
 * goes.
 */
import type { Actor } from '../../authority/actor.ts'
import type { Administration } from '../../authority/administration/administration.ts'
import type { ChangeRates } from '../change-rates.ts'
import type { MatrixRollout } from '../matrix-rollout.ts'
import {
  authorOf,
  type Confirming,
  confirmRequester,
  type Identifying,
  identify,
  type PresentedCredentials,
  type Requester,
} from '../requester.ts'
import { ACCOUNT_OPERATIONS } from './accounts.ts'
import { AUDIT_OPERATIONS } from './audit.ts'
import { authorize, authorizeAsOwner, expectConfirmed } from './authorize.ts'
import { MATRIX_OPERATIONS } from './matrix.ts'
import type { Operation } from './operation.ts'
import { SESSION_OPERATIONS } from './sessions.ts'
import { TOKEN_OPERATIONS } from './tokens.ts'
import { CONTROL_PANEL_USER_OPERATIONS, SERVICE_USER_OPERATIONS } from './users.ts'

/**
 * Every operation, by the name that the contract gives it. Neither this nor the tables that it is made of are
 * `as const`: `npm run mutants` changes nothing inside that.
 */
export const OPERATIONS = {
  ...ACCOUNT_OPERATIONS,
  ...SERVICE_USER_OPERATIONS,
  ...CONTROL_PANEL_USER_OPERATIONS,
  ...TOKEN_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...MATRIX_OPERATIONS,
}

export type OperationName = keyof typeof OPERATIONS

export type OperationRequest<Name extends OperationName> =
  (typeof OPERATIONS)[Name] extends Operation<infer Request, infer _> ? Request : never

export type OperationResult<Name extends OperationName> =
  (typeof OPERATIONS)[Name] extends Operation<infer _, infer Result> ? Result : never

export interface Administering extends Confirming {
  readonly administration: Administration
  readonly changeRates: ChangeRates
  readonly rollout: MatrixRollout
}

/** Who asks for which operation. */
export interface AdministrationRequest<Name extends OperationName> {
  readonly requester: Requester
  readonly operation: Name
  readonly request: OperationRequest<Name>
}

/**
 * Who asks for an operation.
 *
 * @throws CallError: UNAUTHENTICATED without the credential of a known requester
 */
export function requesterOf(
  services: Identifying,
  operation: OperationName,
  credentials: PresentedCredentials,
): Promise<Requester> {
  return identify(services, credentials, rowOf(operation).ownersFromAnywhere)
}

/**
 * Does what is asked, if the requester may. A change looks at the requester again inside its transaction, and
 * decides there what depends on the user whom it is about. A read is answered by the rights that the
 * requester had when they were authenticated.
 *
 * @throws CallError
 */
export async function administer<Name extends OperationName>(
  services: Administering,
  { requester, operation, request }: AdministrationRequest<Name>,
): Promise<OperationResult<Name>> {
  const { need, about, revokes, forOwners, forOperators, proof, work } = rowOf(operation)
  const reads = isRead(operation)
  const proven = typeof proof === 'function' ? proof(request) : proof
  const authorizeRequest = (who: Requester) => {
    authorize(who, need, about(request), reads)
    if (forOwners?.request?.(request)) authorizeAsOwner(who)
    if (proven) expectConfirmed(who, services.now())
  }
  authorizeRequest(requester)
  let current = requester
  const usual = need === 'self' ? 'users' : 'administrators'
  const author = authorOf(requester, revokes?.(request) ? 'revocations' : usual)
  if (!reads) services.changeRates.spend(author)
  const actor: Actor = {
    ...author,
    confirm: async (now) => {
      current = await confirmRequester(services, requester, now)
      authorizeRequest(current)
    },
    authorize: (user) => {
      if (forOwners?.user?.(user, request)) authorizeAsOwner(current)
      if (forOperators?.(user, request)) authorize(current, 'operator', about(request), reads)
    },
  }
  const { engine, administration, rollout } = services
  return work({ engine, administration, rollout, requester, actor }, request)
}

/** Whether the operation changes nothing. */
export function isRead(operation: OperationName): boolean {
  return rowOf(operation).reads ?? false
}

/** TypeScript does not see that the row of a name takes the request of that name. */
function rowOf<Name extends OperationName>(
  name: Name,
): Operation<OperationRequest<Name>, OperationResult<Name>> {
  return OPERATIONS[name] as unknown as Operation<OperationRequest<Name>, OperationResult<Name>>
}
