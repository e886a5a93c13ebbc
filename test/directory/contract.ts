/** The contract of every store of the directory. The same tests run on SQLite and on PostgreSQL. */
import { afterAll, beforeAll, describe } from 'vitest'
import { applicationCredentialsContract } from './contract/application-credentials.ts'
import { auditContract } from './contract/audit.ts'
import { auditPagesContract } from './contract/audit-pages.ts'
import { factorsContract } from './contract/factors.ts'
import { knownAddressesContract } from './contract/known-addresses.ts'
import { largeChangesContract } from './contract/large-changes.ts'
import { lastUsedDaysContract } from './contract/last-used-days.ts'
import { matrixVersionsContract } from './contract/matrix-versions.ts'
import { namesContract } from './contract/names.ts'
import { panelContract } from './contract/panel.ts'
import { processesContract } from './contract/processes.ts'
import { promotionsContract } from './contract/promotions.ts'
import { rangesContract } from './contract/ranges.ts'
import { recordsContract } from './contract/records.ts'
import { removalContract } from './contract/removal.ts'
import { requestersContract } from './contract/requesters.ts'
import { revokedContract } from './contract/revoked.ts'
import type { Account, Opened, Place, Subject } from './contract/subject.ts'
import { tokenStatusContract } from './contract/token-status.ts'
import { transactionsContract } from './contract/transactions.ts'

/** Declares the tests. Their directory is opened before the first test. */
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
    if (opened === undefined)
      throw new TypeError('the directory of the contract is used before its tests run')
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
  describe('numbers', () => rangesContract(subject))
  describe('names', () => namesContract(subject))
  describe('token status', () => tokenStatusContract(subject))
  describe('requesters', () => requestersContract(subject))
  describe('application credentials', () => applicationCredentialsContract(subject))
  describe('the control panel', () => panelContract(subject))
  describe('revoked tokens', () => revokedContract(subject))
  describe('promotions', () => promotionsContract(subject))
  describe('matrices in force', () => matrixVersionsContract(subject))
  describe('second factors', () => factorsContract(subject))
  describe('large changes', () => largeChangesContract(subject))
  describe('removal', () => removalContract(subject))
  describe('transactions', () => transactionsContract(subject))
  describe('the audit trail', () => auditContract(subject))
  describe('parts of the audit trail', () => auditPagesContract(subject))
  describe('days of last use', () => lastUsedDaysContract(subject))
  describe('known addresses', () => knownAddressesContract(subject))
  describe('several processes', () => processesContract(subject))
}
