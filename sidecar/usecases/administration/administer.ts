/** Administration of the directory: one table of operations, and the one function through which each of them goes. */
import type { Actor } from '../../authority/actor.ts'
import type { UserRecord } from '../../authority/administration/administration.ts'
import type { Requester } from '../requester.ts'
import type { CallServices } from '../services.ts'
import { ACCOUNT_OPERATIONS } from './accounts.ts'
import { authorize, authorizeAsOwner } from './authorize.ts'
import type { Operation } from './operation.ts'
import { TOKEN_OPERATIONS } from './tokens.ts'
import { CONTROL_PANEL_USER_OPERATIONS, SERVICE_USER_OPERATIONS } from './users.ts'

/** Every operation, by the name that the contract gives it. */
export const OPERATIONS = {
  ...ACCOUNT_OPERATIONS,
  ...SERVICE_USER_OPERATIONS,
  ...CONTROL_PANEL_USER_OPERATIONS,
  ...TOKEN_OPERATIONS,
} as const

export type OperationName = keyof typeof OPERATIONS

export type OperationRequest<Name extends OperationName> =
  (typeof OPERATIONS)[Name] extends Operation<infer Request, infer _> ? Request : never

export type OperationResult<Name extends OperationName> =
  (typeof OPERATIONS)[Name] extends Operation<infer _, infer Result> ? Result : never

/** Who asks for which operation. */
export interface AdministrationRequest<Name extends OperationName> {
  readonly requester: Requester
  readonly operation: Name
  readonly request: OperationRequest<Name>
}

/**
 * Does what is asked, if the requester may. What depends on the user whom a change is about is decided inside the
 * change's transaction.
 *
 * @throws CallError
 */
export async function administer<Name extends OperationName>(
  { engine, administration }: Pick<CallServices, 'engine' | 'administration'>,
  { requester, operation, request }: AdministrationRequest<Name>,
): Promise<OperationResult<Name>> {
  const { need, about, forOwners, work } = rowOf(operation)
  authorize(requester, need, about(request))
  if (forOwners?.request?.(request)) authorizeAsOwner(requester)
  const actor = actorOf(requester, (user) => {
    if (forOwners?.user?.(user, request)) authorizeAsOwner(requester)
  })
  return work({ engine, administration, requester, actor }, request)
}

/** TypeScript does not see that the row of a name takes the request of that name. */
function rowOf<Name extends OperationName>(
  name: Name,
): Operation<OperationRequest<Name>, OperationResult<Name>> {
  return OPERATIONS[name] as unknown as Operation<OperationRequest<Name>, OperationResult<Name>>
}

/** The requester, as every change names who makes it. */
function actorOf(requester: Requester, mayChange: (user: UserRecord) => void): Actor {
  const name =
    requester.type === 'operator'
      ? `caller ${requester.name}`
      : `${requester.user.type} ${requester.user.id} (${requester.user.name})`
  return { name, authorize: mayChange }
}
