/** Operations on accounts, their projects and their address restrictions. */

import { setImmediate as otherWork } from 'node:timers/promises'
import { isAllowed } from '../../authority/addresses.ts'
import { canonicalRanges } from '../../authority/administration/accounts.ts'
import type { AccountRecord, ProjectRecord } from '../../authority/administration/administration.ts'
import { callError } from '../../base/call-error.ts'
import { type IpAddress, ipAddress } from '../../base/ip-address.ts'
import type { Requester } from '../requester.ts'
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

export interface AddressRestrictionRequest extends AccountRequest, AddressRestriction {
  /** Whether the ranges may exclude the address that the request comes from. */
  readonly allowExcludingRequester: boolean
}

/** Ranges that are not set yet. */
export interface AddressPreviewRequest extends AccountRequest, AddressRestriction {}

/** Who could still use the account's tokens from where they are. */
export interface AddressPreview {
  /** Where the request comes from; empty: no address is known. */
  readonly requester: { readonly address: string; readonly allowed: boolean }
  readonly others: readonly {
    readonly who: string
    readonly address: string
    readonly lastSeenMs: number
    readonly allowed: boolean
  }[]
  /** Whether there may be more of the others. */
  readonly truncated: boolean
}

export const ACCOUNT_OPERATIONS = {
  createAccount: operation<AccountRequest, AccountRecord>({
    need: 'operator',
    about: ({ account }) => ({ account }),
    work: ({ administration, actor }, { account }) => administration.accounts.create(actor, account),
  }),
  getAccount: operation<AccountRequest, AccountRecord>({
    need: 'account_administrator',
    reads: true,
    about: ({ account }) => ({ account }),
    work: ({ administration }, { account }) => administration.accounts.get(account),
  }),
  listAccounts: operation<PageRequest, Listed<AccountRecord>>({
    need: 'operator',
    reads: true,
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
    reads: true,
    about: ({ account }) => ({ account }),
    work: ({ administration }, { account, name }) => administration.projects.get(account, name),
  }),
  listProjects: operation<ListRequest, Listed<ProjectRecord>>({
    need: 'account_administrator',
    reads: true,
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
    revokes: ({ enabled }) => enabled === false,
    work: ({ administration, actor }, { account, name, enabled }) =>
      enabled === undefined
        ? administration.projects.get(account, name)
        : administration.projects.setEnabled(actor, account, name, enabled),
  }),
  deleteProject: operation<NamedRequest, void>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    revokes: () => true,
    work: ({ administration, actor }, { account, name }) =>
      administration.projects.delete(actor, account, name),
  }),

  getAddressRestriction: operation<AccountRequest, AddressRestriction>({
    need: 'account_administrator',
    reads: true,
    about: ({ account }) => ({ account }),
    ownersFromAnywhere: true,
    work: async ({ administration }, { account }) => ({
      ranges: await administration.accounts.addressRestriction(account),
    }),
  }),
  setAddressRestriction: operation<AddressRestrictionRequest, AddressRestriction>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    // A user with `iam.admin` could lock the owner out, or lift what the owner set.
    forOwners: { request: () => true },
    proof: true,
    ownersFromAnywhere: true,
    work: async ({ administration, actor, requester }, { account, ranges, allowExcludingRequester }) => {
      if (!allowExcludingRequester) expectInside(requester, ranges)
      return { ranges: await administration.accounts.setAddressRestriction(actor, account, ranges) }
    },
  }),
  previewAddressRestriction: operation<AddressPreviewRequest, AddressPreview>({
    need: 'account_administrator',
    reads: true,
    about: ({ account }) => ({ account }),
    ownersFromAnywhere: true,
    work: async ({ administration, requester }, request) => {
      const ranges = canonicalRanges(request.ranges)
      const { known, truncated } = await administration.accounts.knownAddresses(request.account)
      const own = ownAddress(requester)
      const others: AddressPreview['others'][number][] = []
      for (const { userName: who, address, lastSeenMs } of known) {
        if (requester.type === 'user' && requester.user.name === who && address === own) continue
        others.push({ who, address, lastSeenMs, allowed: isAllowed(ipAddress(address), ranges) })
        // A thousand addresses in a thousand ranges take a while.
        if (others.length % 20 === 0) await otherWork()
      }
      const allowed = requester.type === 'operator' || isAllowed(own, ranges)
      return { requester: { address: own ?? '', allowed }, others, truncated }
    },
  }),
}

/** Where the requester is. */
function ownAddress(requester: Requester): IpAddress | undefined {
  return ipAddress(requester.type === 'operator' ? requester.from.address : requester.clientAddress)
}

/** @throws CallError where the ranges exclude the requester. A restriction does not apply to an operator. */
function expectInside(requester: Requester, ranges: readonly string[]): void {
  if (requester.type === 'operator') return
  const { clientAddress } = requester
  if (!isAllowed(clientAddress, canonicalRanges(ranges)))
    throw callError('REQUESTER_EXCLUDED', { address: clientAddress ?? 'which is unknown' })
}
