/**
 * An operation of administration: one row, with the right that it needs, its subject, its special rules, and
 * its work.
 */
import type { Engine } from '../../../engine/index.ts'
import type { Administration } from '../../authority/administration/administration.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { ChangeAuthor } from '../../directory/author.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { Page } from '../../directory/directory.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import type { MatrixRollout } from '../matrix-rollout.ts'
import type { Requester } from '../requester.ts'
import type { Need } from './authorize.ts'
import { type Listed, type PageRequest, paged, pageIn } from './paging.ts'
import type { Subject } from './subject.ts'

export interface Operation<Request, Found, Ready, Result> extends Rights<Request, Found> {
  /** The record that it creates; the error names it where there is one of that name already. */
  readonly creates?: (request: Request) => string
  /**
   * Judges the request by itself, and makes what takes long, such as a hash: before the turn of a change, and
   * outside of its transaction. The work is given the result.
   *
   * @throws CallError
   */
  readonly prepare?: (context: Context, request: Request) => MaybePromise<Ready>
  /**
   * The work of a change runs inside its transaction, after its requester was looked at again.
   *
   * @throws CallError
   */
  readonly work: (context: Working<Found, Ready>, request: Request) => Promise<Result>
  /** The work after a committed change. */
  readonly afterwards?: (context: Context) => Promise<void>
}

/** The right that an operation needs, and its subject. */
export interface Rights<Request, Found> {
  /** Whether it changes nothing and returns no secret, so that the right `read` of a caller is enough. */
  readonly reads: boolean
  readonly need: Need
  readonly subject: Subject<Request, Found>
  /**
   * Whether a session must have been confirmed lately: it gives out a secret, or makes a user administer the
   * account, or says from where people log in.
   */
  readonly proof?: boolean | ((request: Request) => boolean)
  /**
   * Whether the request only takes rights away. Such a change is among the first, and no rate holds it up.
   */
  readonly revokes?: (request: Request) => boolean
  readonly forOwners?: OwnersRule<Request, Found>
  /**
   * Whether only operators may do it, by the user whom it changes; decided inside the change's transaction. A
   * user who can log in as a validator sees the tokens of every account, so an administrator of one account
   * must not gain that.
   */
  readonly forOperators?: (user: Found, request: Request) => boolean
  /** Whether an owner may ask from any address, although the account restricts them. */
  readonly ownersFromAnywhere?: boolean
}

/**
 * The owner's rule: an operation that makes an owner, or changes an owner or an owner's tokens, is for
 * owners, and so are address restrictions. Each says when that is so.
 */
interface OwnersRule<Request, Found> {
  /** By the request alone: decided before the work. */
  readonly request?: (request: Request) => boolean
  /** By the user whom the operation changes: decided inside the change's transaction. */
  readonly user?: (user: Found, request: Request) => boolean
}

/** The parts that an operation gets. */
export interface Context {
  readonly engine: Engine
  readonly administration: Administration
  /** Of the sidecar; absent: a program administers without one. */
  readonly rollout?: MatrixRollout
  /** As they are now; `undefined`: a program of this process, which has every right. */
  readonly requester: Requester | undefined
  readonly author: ChangeAuthor
}

/** The parts that its work gets. */
interface Working<Found, Ready> extends Context {
  /** Of the transaction, if the operation is a change. */
  readonly records: DirectoryRecords
  /** Only changes may use it. */
  readonly change: DirectoryChange
  readonly subject: Found
  readonly ready: Ready
}

type Row<Request, Found, Ready, Result> = Operation<Request, Found, Ready, Result>

/** A row that changes the directory. Its request is said, and everything else follows from the row. */
export function changing<Request>() {
  return <Found, Result, Ready = undefined>(
    row: Omit<Row<Request, Found, Ready, Result>, 'reads'>,
  ): Row<Request, Found, Ready, Result> => ({ ...row, reads: false })
}

/** A row that changes nothing. */
export function reading<Request>() {
  return <Found, Result, Ready = undefined>(
    row: Omit<Row<Request, Found, Ready, Result>, 'reads' | 'creates' | 'afterwards' | 'work'> & {
      readonly work: (
        context: Omit<Working<Found, Ready>, 'change'>,
        request: Request,
      ) => MaybePromise<Result>
    },
  ): Row<Request, Found, Ready, Result> => ({
    ...row,
    reads: true,
    work: async (context, request) => row.work(context, request),
  })
}

/** A row that lists records by page. */
export function listing<Request extends PageRequest>() {
  return <Found, Item>({
    page,
    key,
    ...rights
  }: Omit<Rights<Request, Found>, 'reads'> & {
    readonly page: (
      context: Omit<Working<Found, unknown>, 'change'>,
      page: Page,
      request: Request,
    ) => Promise<readonly Item[]>
    /** By which they are ordered, and a page goes on. */
    readonly key: (item: Item) => string
  }): Row<Request, Found, Page, Listed<Item>> =>
    reading<Request>()({
      ...rights,
      prepare: (_, request) => pageIn(request),
      work: (context, request) => paged(request, (asked) => page(context, asked, request), key),
    })
}
