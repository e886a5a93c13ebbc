/** Operations on accounts, their projects and their address restrictions. */
import type { AccountRecord, ProjectRecord } from '../../authority/administration/administration.ts'
import { operation } from './operation.ts'
import { type Listed, type PageRequest, paged } from './paging.ts'

/** An account, by its number. */
export interface AccountRequest {
  readonly account: string
}

/** Something in an account, by its name: a project or a user. */
export interface NamedRequest extends AccountRequest {
  readonly name: string
}

export interface ListRequest extends AccountRequest, PageRequest {}

/** What is `undefined` stays as it is. */
export interface AccountUpdate extends AccountRequest {
  readonly enabled: boolean | undefined
}

/** What is `undefined` stays as it is. */
export interface ProjectUpdate extends NamedRequest {
  readonly enabled: boolean | undefined
}

/** How many projects and users went with an account. */
export interface DeletedAccount {
  readonly projects: number
  readonly users: number
}

/** Addresses and ranges (CIDR); none: no restriction. */
export interface AddressRestriction {
  readonly ranges: readonly string[]
}

export const ACCOUNT_OPERATIONS = {
  createAccount: operation<AccountRequest, AccountRecord>({
    need: 'operator',
    about: ({ account }) => ({ account }),
    work: ({ administration, actor }, { account }) => administration.accounts.create(actor, account),
  }),
  getAccount: operation<AccountRequest, AccountRecord>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    work: ({ administration }, { account }) => administration.accounts.get(account),
  }),
  listAccounts: operation<PageRequest, Listed<AccountRecord>>({
    need: 'operator',
    about: () => ({ account: undefined }),
    work: ({ administration }, request) =>
      paged(
        request,
        (page) => administration.accounts.list(page),
        ({ account }) => account,
      ),
  }),
  updateAccount: operation<AccountUpdate, AccountRecord>({
    need: 'operator',
    about: ({ account }) => ({ account }),
    work: ({ administration, actor }, { account, enabled }) =>
      enabled === undefined
        ? administration.accounts.get(account)
        : administration.accounts.setEnabled(actor, account, enabled),
  }),
  deleteAccount: operation<AccountRequest, DeletedAccount>({
    need: 'operator',
    about: ({ account }) => ({ account }),
    work: ({ administration, actor }, { account }) => administration.accounts.delete(actor, account),
  }),

  createProject: operation<NamedRequest, ProjectRecord>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    work: ({ administration, actor }, { account, name }) =>
      administration.projects.create(actor, account, name),
  }),
  getProject: operation<NamedRequest, ProjectRecord>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    work: ({ administration }, { account, name }) => administration.projects.get(account, name),
  }),
  listProjects: operation<ListRequest, Listed<ProjectRecord>>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    work: ({ administration }, request) =>
      paged(
        request,
        (page) => administration.projects.list(request.account, page),
        ({ name }) => name,
      ),
  }),
  updateProject: operation<ProjectUpdate, ProjectRecord>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    work: ({ administration, actor }, { account, name, enabled }) =>
      enabled === undefined
        ? administration.projects.get(account, name)
        : administration.projects.setEnabled(actor, account, name, enabled),
  }),
  deleteProject: operation<NamedRequest, void>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    work: ({ administration, actor }, { account, name }) =>
      administration.projects.delete(actor, account, name),
  }),

  getAddressRestriction: operation<AccountRequest, AddressRestriction>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    work: async ({ administration }, { account }) => ({
      ranges: await administration.accounts.addressRestriction(account),
    }),
  }),
  setAddressRestriction: operation<AccountRequest & AddressRestriction, AddressRestriction>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    work: async ({ administration, actor }, { account, ranges }) => ({
      ranges: await administration.accounts.setAddressRestriction(actor, account, ranges),
    }),
  }),
} as const
