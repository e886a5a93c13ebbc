/** Operations on accounts, their projects and their address restrictions. */

import { setImmediate as otherWork } from 'node:timers/promises'
import { isAllowed, readRange } from '../../authority/addresses.ts'
import { checkAccountNumber, checkName } from '../../authority/names.ts'
import { callError, invalidArgument, invalidFields } from '../../base/call-error.ts'
import { type IpAddress, ipAddress, THIS_MACHINE } from '../../base/ip-address.ts'
import type { KnownAddress } from '../../directory/directory.ts'
import { accountIn, listIn, projectIn } from '../../directory/found.ts'
import type { Requester } from '../requester.ts'
import { changing, listing, reading } from './operation.ts'
import type { PageRequest } from './paging.ts'
import {
  ACCOUNT,
  type AccountRequest,
  DIRECTORY,
  NAMED_ACCOUNT,
  type NamedRequest,
  PROJECT,
  WITHIN_ACCOUNT,
} from './subject.ts'

export interface ListRequest extends AccountRequest, PageRequest {}

/** An `undefined` field stays as it is. */
export interface AccountUpdate extends AccountRequest {
  readonly enabled?: boolean | undefined
}

/** An `undefined` field stays as it is. */
export interface ProjectUpdate extends NamedRequest {
  readonly enabled?: boolean | undefined
}

/** Addresses and ranges (CIDR); none: no restriction. */
export interface AddressRestriction {
  readonly ranges: readonly string[]
}

export interface AddressRestrictionRequest extends AccountRequest, AddressRestriction {
  /** Whether the ranges may exclude the address that the request comes from; default: no. */
  readonly allowExcludingRequester?: boolean
}

/** Ranges that are not set yet. */
export interface AddressPreviewRequest extends AccountRequest, AddressRestriction {}

/** The users who could still use the account's tokens from their addresses. */
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
  createAccount: changing<AccountRequest>()({
    need: 'operator',
    subject: NAMED_ACCOUNT,
    creates: ({ account }) => `account \`${account}\``,
    prepare: (_, { account }) => checkAccountNumber('account', account),
    work: async ({ change, records }, { account }) => {
      await change.createAccount(account)
      return accountIn(records, account)
    },
  }),
  getAccount: reading<AccountRequest>()({
    need: 'account_administrator',
    subject: ACCOUNT,
    work: ({ subject }) => subject,
  }),
  listAccounts: listing<PageRequest>()({
    need: 'operator',
    subject: DIRECTORY,
    page: ({ records }, page) => records.accounts(page),
    key: ({ account }) => account,
  }),
  updateAccount: changing<AccountUpdate>()({
    need: 'operator',
    subject: ACCOUNT,
    work: async ({ change, subject }, { enabled }) => {
      if (enabled === undefined) return subject
      const { account, id } = subject
      if (enabled !== subject.enabled) await change.setAccountEnabled(subject, enabled)
      else change.writer.repeat('account.enable', { account, name: account, id })
      return { ...subject, enabled }
    },
  }),
  deleteAccount: changing<AccountRequest>()({
    need: 'operator',
    subject: ACCOUNT,
    // No change waits for it: the deletion itself costs the same whatever the account has.
    prepare: async ({ administration: { records } }, { account }) => ({
      projects: await records.count('projects', account),
      users: await records.count('users', account),
    }),
    work: async ({ change, subject, ready }) => {
      await change.deleteAccount(subject)
      return ready
    },
  }),

  createProject: changing<NamedRequest>()({
    need: 'account_administrator',
    subject: WITHIN_ACCOUNT,
    creates: ({ name }) => `project \`${name}\``,
    prepare: (_, { name }) => checkName('name', name),
    work: async ({ change, records, subject }, { account, name }) => {
      await change.createProject(subject, name)
      return projectIn(records, account, name)
    },
  }),
  getProject: reading<NamedRequest>()({
    need: 'account_administrator',
    subject: PROJECT,
    work: ({ subject }) => subject,
  }),
  listProjects: listing<ListRequest>()({
    need: 'account_administrator',
    subject: NAMED_ACCOUNT,
    page: ({ records }, page, { account }) => listIn(records, account, records.projects(account, page)),
    key: ({ name }) => name,
  }),
  updateProject: changing<ProjectUpdate>()({
    need: 'account_administrator',
    subject: PROJECT,
    revokes: ({ enabled }) => enabled === false,
    work: async ({ change, subject }, { enabled }) => {
      if (enabled === undefined) return subject
      if (enabled !== subject.enabled) await change.setProjectEnabled(subject, enabled)
      else change.writer.repeat('project.enable', subject)
      return { ...subject, enabled }
    },
  }),
  deleteProject: changing<NamedRequest>()({
    need: 'account_administrator',
    subject: PROJECT,
    revokes: () => true,
    work: ({ change, subject }) => change.deleteProject(subject),
  }),

  getAddressRestriction: reading<AccountRequest>()({
    need: 'account_administrator',
    subject: ACCOUNT,
    ownersFromAnywhere: true,
    work: async ({ records, subject }): Promise<AddressRestriction> => ({
      ranges: await records.addressRules(subject.id),
    }),
  }),
  setAddressRestriction: changing<AddressRestrictionRequest>()({
    need: 'account_administrator',
    subject: ACCOUNT,
    // A user with `iam.admin` could lock the owner out, or lift what the owner set.
    forOwners: { request: () => true },
    proof: true,
    ownersFromAnywhere: true,
    prepare: ({ requester }, { ranges, allowExcludingRequester }) => {
      const canonical = canonicalRanges(ranges)
      if (!allowExcludingRequester) expectInside(requester, canonical)
      return canonical
    },
    work: async ({ change, records, subject, ready }): Promise<AddressRestriction> => {
      await change.setAddressRules(subject, ready)
      return { ranges: await records.addressRules(subject.id) }
    },
  }),
  previewAddressRestriction: reading<AddressPreviewRequest>()({
    need: 'account_administrator',
    subject: ACCOUNT,
    ownersFromAnywhere: true,
    prepare: (_, { ranges }) => canonicalRanges(ranges),
    work: async ({ administration, records, requester, subject, ready: ranges }): Promise<AddressPreview> => {
      const { known, truncated } = await records.knownAddresses(subject, administration.now())
      const own = ownAddress(requester)
      const others: AddressPreview['others'][number][] = []
      for (const { userName: who, address, lastSeenMs } of inCanonicalForm(known)) {
        if (requester?.type === 'user' && requester.user.name === who && address === own) continue
        others.push({ who, address, lastSeenMs, allowed: isAllowed(ipAddress(address), ranges) })
        // A thousand addresses in a thousand ranges take a while.
        if (others.length % 20 === 0) await otherWork()
      }
      const allowed = requester?.type !== 'user' || isAllowed(own, ranges)
      return { requester: { address: own ?? '', allowed }, others, truncated }
    },
  }),
}

/**
 * Where users came from, each user at each address once, and each IP address in its canonical form.
 *
 * @param known the one that was seen last is first
 */
function inCanonicalForm(known: readonly KnownAddress[]): KnownAddress[] {
  const byUser = new Map<string, KnownAddress>()
  for (const seen of known) {
    const address = seen.address === 'unix socket' ? THIS_MACHINE : ipAddress(seen.address)
    const key = JSON.stringify([seen.userName, address])
    if (address !== undefined && !byUser.has(key)) byUser.set(key, { ...seen, address })
  }
  return [...byUser.values()]
}

/** Where the requester is. */
function ownAddress(requester: Requester | undefined): IpAddress | undefined {
  return ipAddress(requester?.type === 'user' ? requester.clientAddress : requester?.from.address)
}

/** @throws CallError where the ranges exclude the requester. A restriction does not apply to an operator. */
function expectInside(requester: Requester | undefined, ranges: readonly string[]): void {
  if (requester?.type !== 'user') return
  const { clientAddress } = requester
  if (!isAllowed(clientAddress, ranges))
    throw callError('REQUESTER_EXCLUDED', { address: clientAddress ?? 'which is unknown' })
}

/** How many ranges an account can restrict its addresses to. */
const ADDRESS_RANGES_MAX = 1000

/** @throws CallError that names each one that is not a range */
function canonicalRanges(ranges: readonly string[]): string[] {
  if (ranges.length > ADDRESS_RANGES_MAX)
    throw invalidArgument({
      field: 'ranges',
      expected: `at most ${ADDRESS_RANGES_MAX} ranges, not ${ranges.length}`,
    })
  const readings = ranges.map(readRange)
  const faults = readings.flatMap((reading, index) =>
    reading.ok ? [] : [{ field: `ranges[${index}]`, expected: reading.expected }],
  )
  if (faults.length > 0) throw invalidFields(faults)
  // Survives: `[]` → `["Stryker was here"]`. Every reading is right here.
  return readings.flatMap((reading) => (reading.ok ? [reading.range] : []))
}
