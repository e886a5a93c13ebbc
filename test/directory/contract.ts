/** What every store of the directory promises. The same rows run on SQLite and on PostgreSQL. */
import { afterAll, beforeAll, describe } from 'vitest'
import type { Database } from '../../sidecar/directory/database.ts'
import type { DirectoryStore } from '../../sidecar/directory/store.ts'
import type { Location } from '../support/directory/process.ts'
import { auditContract } from './contract/audit.ts'
import { namesContract } from './contract/names.ts'
import { processesContract } from './contract/processes.ts'
import { recordsContract } from './contract/records.ts'
import { tokenStatusContract } from './contract/token-status.ts'
import { transactionsContract } from './contract/transactions.ts'

/** A directory that was just made. */
export interface Place {
  readonly location: Location
  /** Statement that makes it look as if a Portcullis of that version had written it. */
  readonly asOfVersion: (version: number) => string
  /** @param now wall clock, in milliseconds since the epoch */
  open(now: () => number): Promise<Opened>
}

export interface Opened {
  readonly store: DirectoryStore
  /** For what the directory itself would never do. */
  readonly database: Database
}

/** What the tests of a contract share: one directory, a clock that they set, and accounts of their own. */
export interface Subject extends Opened {
  readonly place: Place
  readonly newPlace: () => Promise<Place>
  readonly clock: { nowMs: number }
  /** An account that no other test uses. */
  newAccount(): Promise<Account>
}

export type Account = NonNullable<Awaited<ReturnType<DirectoryStore['records']['account']>>>

/** Declares the tests. What they use is there from the first of them on. */
export function directoryContract(newPlace: () => Promise<Place>): void {
  const clock = { nowMs: Date.now() }
  let opened: (Opened & { place: Place }) | undefined
  let accounts = 0
  beforeAll(async () => {
    const place = await newPlace()
    opened = { place, ...(await place.open(() => clock.nowMs)) }
  })
  afterAll(() => opened?.store.close())

  const subject = (): Subject => {
    if (opened === undefined) throw new TypeError('a contract is asked before its tests run')
    const { store } = opened
    return {
      ...opened,
      newPlace,
      clock,
      newAccount: async () => {
        const name = `account-${accounts++}`
        await store.change('a test', (change) => change.createAccount(name))
        return (await store.records.account(name)) as Account
      },
    }
  }
  describe('records', () => recordsContract(subject))
  describe('names', () => namesContract(subject))
  describe('what tokens rest on', () => tokenStatusContract(subject))
  describe('transactions', () => transactionsContract(subject))
  describe('the audit trail', () => auditContract(subject))
  describe('several processes', () => processesContract(subject))
}
