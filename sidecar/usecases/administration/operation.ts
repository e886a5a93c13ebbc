/**
 * What an operation of administration is: the right that it needs, whom it is about, the owner's rule, and
 * its work.
 */
import type { Engine } from '../../../engine/index.ts'
import type { Actor } from '../../authority/actor.ts'
import type { Administration, UserRecord } from '../../authority/administration/administration.ts'
import type { MatrixRollout } from '../matrix-rollout.ts'
import type { Requester } from '../requester.ts'
import type { About, Need } from './authorize.ts'

export interface Operation<Request, Result> {
  readonly need: Need
  /** Whether it changes nothing and returns no secret, so that the right `read` of a caller is enough. */
  readonly reads?: boolean
  /**
   * Whether a session must have been confirmed lately: it gives out a secret, or makes somebody administer
   * the account, or says from where people log in.
   */
  readonly proof?: boolean | ((request: Request) => boolean)
  readonly about: (request: Request) => About
  /**
   * Whether the request only takes rights away. Such a change is among the first, and no rate holds it up.
   */
  readonly revokes?: (request: Request) => boolean
  readonly forOwners?: OwnersRule<Request>
  /**
   * Whether only operators may do it, by the user whom it changes; decided inside the change's transaction. A
   * user who can log in as a validator sees the tokens of every account, so an administrator of one account
   * must not gain that.
   */
  readonly forOperators?: (user: UserRecord, request: Request) => boolean
  /** Whether an owner may ask from any address, although the account restricts them. */
  readonly ownersFromAnywhere?: boolean
  readonly work: (context: OperationContext, request: Request) => Promise<Result>
}

/**
 * The owner's rule: what makes an owner, or is done to an owner or to an owner's tokens, is for owners, and
 * so are address restrictions. Each says when that is so.
 */
interface OwnersRule<Request> {
  /** By the request alone: decided before the work. */
  readonly request?: (request: Request) => boolean
  /** By the user whom the operation changes: decided inside the change's transaction. */
  readonly user?: (user: UserRecord, request: Request) => boolean
}

/** What the work of an operation is given. */
interface OperationContext {
  readonly engine: Engine
  readonly administration: Administration
  readonly rollout: MatrixRollout
  readonly requester: Requester
  /** The requester, as every change names who makes it. */
  readonly actor: Actor
}

/** A row of the table, with its types said. */
export function operation<Request, Result>(row: Operation<Request, Result>): Operation<Request, Result> {
  return row
}
