/** Subjects of operations: the facts that decide the right, and the record that the work is about. */
import type { AccountRecord, ProjectRecord, UserRecord, UserType } from '../../directory/directory.ts'
import { accountIn, projectIn, userIn } from '../../directory/found.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import type { About } from './authorize.ts'

export interface Subject<Request, Found> {
  /** Known before anything is read, so a requester without the right learns nothing about the records. */
  readonly about: (request: Request) => About
  /** @throws CallError `NOT_FOUND` */
  readonly find: (records: DirectoryRecords, request: Request) => Promise<Found>
}

/** An account, by its number. */
export interface AccountRequest {
  readonly account: string
}

/** Something in an account, by its name: a project or a user. */
export interface NamedRequest extends AccountRequest {
  readonly name: string
}

/** Something of a user. */
export interface OfUserRequest extends AccountRequest {
  readonly userName: string
}

const aboutAccount = ({ account }: AccountRequest): About => ({ account })

/** Every account: tokens of all, or the matrix. */
export const DIRECTORY: Subject<unknown, undefined> = {
  about: () => ({ account: undefined }),
  find: async () => undefined,
}

/** An account that is named: it is about to be created, or its content is listed. */
export const NAMED_ACCOUNT: Subject<AccountRequest, undefined> = {
  about: aboutAccount,
  find: async () => undefined,
}

export const ACCOUNT: Subject<AccountRequest, AccountRecord> = {
  about: aboutAccount,
  find: (records, { account }) => accountIn(records, account),
}

export const PROJECT: Subject<NamedRequest, ProjectRecord> = {
  about: aboutAccount,
  find: (records, { account, name }) => projectIn(records, account, name),
}

/** The account of a control panel user who is about to be created. */
export const NEW_CONTROL_PANEL_USER: Subject<NamedRequest, AccountRecord> = {
  about: ({ account, name }) => ({ account, controlPanelUser: name }),
  find: ACCOUNT.find,
}

export const SERVICE_USER = user<NamedRequest>('service_user', ({ name }) => name)
export const CONTROL_PANEL_USER = user<NamedRequest>('control_panel_user', ({ name }) => name)
export const HOLDING_SERVICE_USER = user<OfUserRequest>('service_user', ({ userName }) => userName)
export const HOLDING_CONTROL_PANEL_USER = user<OfUserRequest>(
  'control_panel_user',
  ({ userName }) => userName,
)

function user<Request extends AccountRequest>(
  type: UserType,
  nameIn: (request: Request) => string,
): Subject<Request, UserRecord> {
  return {
    about: (request) =>
      type === 'service_user'
        ? aboutAccount(request)
        : { account: request.account, controlPanelUser: nameIn(request) },
    find: (records, request) => userIn(records, request.account, nameIn(request), type),
  }
}
