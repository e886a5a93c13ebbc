/** Administration of accounts: their projects, and the address ranges that they restrict their tokens to. */
import type { KeyObject } from 'node:crypto'
import type { TokenKind } from '../../engine/index.ts'
import { callError, invalidArgument } from '../base/call-error.ts'
import { type DirectoryChange, NoSuchProject } from '../directory/change.ts'
import { AlreadyExists } from '../directory/database.ts'
import type { AccountRecord, Page, ProjectRecord } from '../directory/directory.ts'
import type { DirectoryStore } from '../directory/store.ts'
import { readRange } from './addresses.ts'
import type { IamTokenSigner } from './iam-token.ts'
import { checkName, found, noAccount, noProject } from './lookups.ts'
import type { Passwords } from './password.ts'

export interface AdministrationParts {
  readonly store: DirectoryStore
  readonly passwords: Passwords
  readonly pepper: KeyObject
  readonly signer: IamTokenSigner
  /** The kinds of the matrix in force. */
  readonly tokenKinds: () => Iterable<TokenKind>
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** How many ranges an account can restrict its addresses to. */
const ADDRESS_RANGES_MAX = 1000

/** Every change names its actor, for the audit trail. Every method throws `CallError` where there is no answer. */
export class AccountAdministration {
  protected readonly parts: AdministrationParts

  constructor(parts: AdministrationParts) {
    this.parts = parts
  }

  async createAccount(actor: string, account: string): Promise<AccountRecord> {
    if (!/^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$/.test(account))
      throw invalidArgument({
        field: 'account',
        expected: '1 to 64 letters, digits, dots, hyphens and underscores',
      })
    return this.change(actor, `account \`${account}\``, async (change) => {
      await change.createAccount(account)
      return found(await change.account(account), noAccount(account))
    })
  }

  async account(account: string): Promise<AccountRecord> {
    return found(await this.parts.store.records.account(account), noAccount(account))
  }

  accountById(id: string): Promise<AccountRecord | undefined> {
    return this.parts.store.records.accountById(id)
  }

  accounts(page: Page): Promise<AccountRecord[]> {
    return this.parts.store.records.accounts(page)
  }

  setAccountEnabled(actor: string, account: string, enabled: boolean): Promise<AccountRecord> {
    return this.change(actor, '', async (change) => {
      const record = found(await change.account(account), noAccount(account))
      if (record.enabled !== enabled) await change.setAccountEnabled(record, enabled)
      return { ...record, enabled }
    })
  }

  /** With everything in it: how many projects and users that was. */
  deleteAccount(actor: string, account: string): Promise<{ projects: number; users: number }> {
    return this.change(actor, '', async (change) =>
      change.deleteAccount(found(await change.account(account), noAccount(account))),
    )
  }

  createProject(actor: string, account: string, name: string): Promise<ProjectRecord> {
    checkName('name', name)
    return this.change(actor, `project \`${name}\``, async (change) => {
      await change.createProject(found(await change.account(account), noAccount(account)), name)
      return found(await change.project(account, name), noProject(account, name))
    })
  }

  async project(account: string, name: string): Promise<ProjectRecord> {
    return found(await this.parts.store.records.project(account, name), noProject(account, name))
  }

  projectById(id: string): Promise<ProjectRecord | undefined> {
    return this.parts.store.records.projectById(id)
  }

  projects(account: string, page: Page): Promise<ProjectRecord[]> {
    return this.ofAccount(account, this.parts.store.records.projects(account, page))
  }

  setProjectEnabled(actor: string, account: string, name: string, enabled: boolean): Promise<ProjectRecord> {
    return this.change(actor, '', async (change) => {
      const record = found(await change.project(account, name), noProject(account, name))
      if (record.enabled !== enabled) await change.setProjectEnabled(record, enabled)
      return { ...record, enabled }
    })
  }

  deleteProject(actor: string, account: string, name: string): Promise<void> {
    return this.change(actor, '', async (change) =>
      change.deleteProject(found(await change.project(account, name), noProject(account, name))),
    )
  }

  async addressRestriction(account: string): Promise<string[]> {
    return this.parts.store.records.addressRules((await this.account(account)).id)
  }

  /** Restricts the account's tokens to these ranges (CIDR, IPv4 and IPv6); none: no restriction (§1). */
  setAddressRestriction(actor: string, account: string, ranges: readonly string[]): Promise<string[]> {
    if (ranges.length > ADDRESS_RANGES_MAX)
      throw invalidArgument({
        field: 'ranges',
        expected: `at most ${ADDRESS_RANGES_MAX} ranges, not ${ranges.length}`,
      })
    const canonical = ranges.map((range, index) => {
      const reading = readRange(range)
      if (!reading.ok) throw invalidArgument({ field: `ranges[${index}]`, expected: reading.expected })
      return reading.range
    })
    return this.change(actor, '', async (change) => {
      const record = found(await change.account(account), noAccount(account))
      await change.setAddressRules(record, canonical)
      return change.addressRules(record.id)
    })
  }

  /** What an account has; nothing of one that is not there is no empty list. */
  protected async ofAccount<T>(account: string, list: Promise<T[]>): Promise<T[]> {
    const records = await list
    if (records.length === 0) await this.account(account)
    return records
  }

  /** `subject` is named where its name turns out to be taken. */
  protected async change<T>(
    actor: string,
    subject: string,
    work: (change: DirectoryChange) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.parts.store.change(actor, work)
    } catch (error) {
      if (error instanceof AlreadyExists) throw callError('ALREADY_EXISTS', { what: subject })
      if (error instanceof NoSuchProject) throw callError('NO_SUCH_PROJECT', error)
      throw error
    }
  }
}
