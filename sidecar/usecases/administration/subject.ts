/** Subjects of operations: the facts that decide the right, and the record that the work is about. */

import type { AccountRecord, ProjectRecord, UserRecord, UserType } from '../../directory/directory.ts'
import { accountIn, projectIn, userIn } from '../../directory/found.ts'
import type { Hold } from '../../directory/hold.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import type { About } from './authorize.ts'

export interface Subject<Request, Found> {
  /** Known before anything is read, so a requester without the right learns nothing about the records. */
  readonly about: (request: Request) => About
  /** The rows that a change of it holds. */
  readonly hold: (request: Request) => Hold
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

const nothing = (): Hold => ({})

const aboutAccount = ({ account }: AccountRequest): About => ({ account })

/** Every account: tokens of all, or the matrix. */
export const DIRECTORY: Subject<unknown, undefined> = {
  about: () => ({ account: undefined }),
  hold: nothing,
  find: async () => undefined,
}

/** An account that is named: it is about to be created, or its content is listed. */
export const NAMED_ACCOUNT: Subject<AccountRequest, undefined> = {
  about: aboutAccount,
  hold: nothing,
  find: async () => undefined,
}

export const ACCOUNT: Subject<AccountRequest, AccountRecord> = {
  about: aboutAccount,
  hold: ({ account }) => ({ account, changes: 'account' }),
  find: (records, { account }) => accountIn(records, account),
}

/** The account of something that is about to be created. */
export const WITHIN_ACCOUNT: Subject<AccountRequest, AccountRecord> = {
  ...ACCOUNT,
  hold: ({ account }) => ({ account }),
}

export const PROJECT: Subject<NamedRequest, ProjectRecord> = {
  about: aboutAccount,
  hold: ({ account, name }) => ({ account, projects: [name], changes: 'projects' }),
  find: (records, { account, name }) => projectIn(records, account, name),
}

/** The account of a control panel user who is about to be created. */
export const NEW_CONTROL_PANEL_USER: Subject<NamedRequest, AccountRecord> = {
  ...WITHIN_ACCOUNT,
  about: ({ account, name }) => ({ account, controlPanelUser: name }),
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
    hold: (request) => ({ account: request.account, userNames: [nameIn(request)], changes: 'users' }),
    find: (records, request) => userIn(records, request.account, nameIn(request), type),
  }
}
