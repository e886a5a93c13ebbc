/** Administration of accounts, and of the address ranges that they restrict their tokens to. */

import { invalidArgument, invalidFields } from '../../base/call-error.ts'
import { ipAddress, THIS_MACHINE } from '../../base/ip-address.ts'
import type { AccountRecord, KnownAddress, KnownAddresses, Page } from '../../directory/directory.ts'
import type { DirectoryStore } from '../../directory/store.ts'
import type { Actor } from '../actor.ts'
import { readRange } from '../addresses.ts'
import { checkAccountNumber } from '../names.ts'
import { changeDirectory } from './change.ts'
import { accountIn } from './found.ts'

/** How many ranges an account can restrict its addresses to. */
const ADDRESS_RANGES_MAX = 1000

/** Every method throws `CallError` where there is no answer. */
export class AccountAdministration {
  readonly #store: DirectoryStore
  readonly #now: () => number

  /** @param now wall clock, in milliseconds since the epoch */
  constructor(store: DirectoryStore, now: () => number) {
    this.#store = store
    this.#now = now
  }

  async create(actor: Actor, account: string): Promise<AccountRecord> {
    checkAccountNumber('account', account)
    return changeDirectory(
      this.#store,
      actor,
      async (change) => {
        await change.createAccount(account)
        return accountIn(change.records, account)
      },
      `account \`${account}\``,
    )
  }

  get(account: string): Promise<AccountRecord> {
    return accountIn(this.#store.records, account)
  }

  byId(id: string): Promise<AccountRecord | undefined> {
    return this.#store.records.accountById(id)
  }

  list(page: Page): Promise<readonly AccountRecord[]> {
    return this.#store.records.accounts(page)
  }

  setEnabled(actor: Actor, account: string, enabled: boolean): Promise<AccountRecord> {
    return changeDirectory(this.#store, actor, async (change) => {
      const record = await accountIn(change.records, account)
      if (record.enabled !== enabled) await change.setAccountEnabled(record, enabled)
      else change.writer.repeat('account.enable', { account, name: account, id: record.id })
      return { ...record, enabled }
    })
  }

  /** Deletes it with everything in it. Returns how many projects and users that was. */
  delete(actor: Actor, account: string): Promise<{ projects: number; users: number }> {
    return changeDirectory(this.#store, actor, async (change) =>
      change.deleteAccount(await accountIn(change.records, account)),
    )
  }

  async addressRestriction(account: string): Promise<readonly string[]> {
    const { records } = this.#store
    return records.addressRules((await accountIn(records, account)).id)
  }

  /**
   * Where the users of the account came from lately, each IP address in its canonical form. The one that was
   * seen last is first.
   */
  async knownAddresses(account: string): Promise<KnownAddresses> {
    const { records } = this.#store
    const record = await accountIn(records, account)
    const { known, truncated } = await records.knownAddresses(record, this.#now())
    const byUser = new Map<string, KnownAddress>()
    for (const seen of known) {
      const address = seen.address === 'unix socket' ? THIS_MACHINE : ipAddress(seen.address)
      const key = JSON.stringify([seen.userName, address])
      if (address !== undefined && !byUser.has(key)) byUser.set(key, { ...seen, address })
    }
    return { known: [...byUser.values()], truncated }
  }

  /** Restricts the account's tokens to these ranges (CIDR, IPv4 and IPv6); none: no restriction (§1). */
  async setAddressRestriction(
    actor: Actor,
    account: string,
    ranges: readonly string[],
  ): Promise<readonly string[]> {
    const canonical = canonicalRanges(ranges)
    return changeDirectory(this.#store, actor, async (change) => {
      const record = await accountIn(change.records, account)
      await change.setAddressRules(record, canonical)
      return change.records.addressRules(record.id)
    })
  }
}

/** @throws CallError that names each one that is no range */
export function canonicalRanges(ranges: readonly string[]): string[] {
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
  return readings.flatMap((reading) => (reading.ok ? [reading.range] : []))
}
