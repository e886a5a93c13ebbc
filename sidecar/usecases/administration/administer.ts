/**
 * Administration of the directory: one table of operations, and the one function through which each of them
 * goes.
 */
import type { Administration } from '../../authority/administration/administration.ts'
import { changeDirectory } from '../../authority/administration/change-directory.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { Hold } from '../../directory/hold.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import type { Clocked } from '../capabilities.ts'
import type { ChangeRates } from '../change-rates.ts'
import type { MatrixRollout } from '../matrix-rollout.ts'
import {
  authorOf,
  type Confirming,
  confirmRequester,
  holdOf,
  type Identifying,
  identify,
  type PresentedCredentials,
  type Requester,
} from '../requester.ts'
import { ACCOUNT_OPERATIONS } from './accounts.ts'
import { AUDIT_OPERATIONS } from './audit.ts'
import { authorize, authorizeAsOwner, expectConfirmed } from './authorize.ts'
import { MATRIX_OPERATIONS } from './matrix.ts'
import type { Context, Operation, Rights } from './operation.ts'
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

export type OperationRequest<Name extends OperationName> = Parameters<(typeof OPERATIONS)[Name]['work']>[1]

export type OperationResult<Name extends OperationName> = (typeof OPERATIONS)[Name] extends {
  readonly work: (...given: never[]) => Promise<infer Result>
}
  ? Result
  : never

export interface Administering extends Confirming {
  readonly administration: Administration
  readonly changeRates: ChangeRates
  readonly rollout: MatrixRollout
}

/** The requester of an operation, and its request. */
export interface AdministrationRequest<Name extends OperationName> {
  readonly requester: Requester
  readonly operation: Name
  readonly request: OperationRequest<Name>
}

/**
 * The requester of an operation.
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
  const row = rowOf(operation)
  const { need, reads, revokes } = row
  expectRight(services, row, requester, request)
  const usual = need === 'self' ? 'users' : 'administrators'
  const author = authorOf(requester, revokes?.(request) ? 'revocations' : usual)
  if (!reads) services.changeRates.spend(author)
  const { engine, administration, rollout } = services
  return perform(
    row,
    request,
    { engine, administration, rollout, requester, author },
    {
      hold: holdOf(requester),
      confirm: async (records) => {
        const current = await confirmRequester(services, requester, records)
        expectRight(services, row, current, request)
        return current
      },
    },
  )
}

/** A requester inside the transaction of a change. */
interface Confirmation {
  /** The facts that their right rests on. */
  readonly hold: Hold
  /** Finds them again, and expects their right. @throws CallError */
  readonly confirm: (records: DirectoryRecords) => Promise<Requester | undefined>
}

/** The common part of all operations. */
export async function perform<Request, Found, Ready, Result>(
  row: Operation<Request, Found, Ready, Result>,
  request: Request,
  context: Context,
  { hold, confirm }: Confirmation,
): Promise<Result> {
  const { reads, subject: wanted, prepare, work, creates, afterwards } = row
  const { directory, records } = context.administration
  // A row without `prepare` does not use it.
  const ready = (await prepare?.(context, request)) as Ready
  if (reads) {
    const subject = await wanted.find(records, request)
    return work({ ...context, records, change: NO_CHANGE, subject, ready }, request)
  }
  const heldIn = async (change: DirectoryChange) => {
    for (;;) {
      change.writer.hold({ ...hold, ...wanted.hold(request) })
      const finding = wanted.find(change.records, request)
      // A requester without the right learns nothing about the subject.
      finding.catch(() => {})
      const requester = await confirm(change.records)
      const subject = await finding
      const { id } = (subject ?? {}) as { readonly id?: string }
      if (id === undefined || (await change.writer.isHeld(id))) return { requester, subject }
    }
  }
  const result = await changeDirectory(
    directory,
    context.author,
    async (change) => {
      const { requester, subject } = await heldIn(change)
      if (requester !== undefined) expectRightOver(row, requester, request, subject)
      return work({ ...context, requester, records: change.records, change, subject, ready }, request)
    },
    creates?.(request),
  )
  await afterwards?.(context)
  return result
}

/** The type of the work of a read hides it. */
const NO_CHANGE = undefined as unknown as DirectoryChange

/** The right as far as the request says what it takes. @throws CallError: PERMISSION_DENIED */
function expectRight<Request, Found>(
  { now }: Clocked,
  { need, subject, reads, forOwners, proof }: Rights<Request, Found>,
  requester: Requester,
  request: Request,
): void {
  authorize(requester, need, subject.about(request), reads)
  if (forOwners?.request?.(request)) authorizeAsOwner(requester)
  if (typeof proof === 'function' ? proof(request) : proof) expectConfirmed(requester, now())
}

/** The right as far as the user who is changed says what it takes. @throws CallError: PERMISSION_DENIED */
function expectRightOver<Request, Found>(
  { subject, reads, forOwners, forOperators }: Rights<Request, Found>,
  requester: Requester,
  request: Request,
  user: Found,
): void {
  if (forOwners?.user?.(user, request)) authorizeAsOwner(requester)
  if (forOperators?.(user, request)) authorize(requester, 'operator', subject.about(request), reads)
}

/** Whether the operation changes nothing. */
export function isRead(operation: OperationName): boolean {
  return rowOf(operation).reads
}

/** TypeScript does not see that the row of a name takes the request of that name. */
export function rowOf<Name extends OperationName>(
  name: Name,
): Operation<OperationRequest<Name>, unknown, unknown, OperationResult<Name>> {
  return OPERATIONS[name] as unknown as Operation<
    OperationRequest<Name>,
    unknown,
    unknown,
    OperationResult<Name>
  >
}
