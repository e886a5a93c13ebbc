/** The days on which static tokens were last used: they only rise, and change nothing else. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { changing, newPanelUser } from './people.ts'
import type { Subject } from './subject.ts'

export function lastUsedDaysContract(subject: () => Subject): void {
  /** A user with this many static tokens. */
  async function withTokens(count: number) {
    const { store } = subject()
    const { account, user } = await newPanelUser(subject())
    const hashes = Array.from({ length: count }, () => randomBytes(32))
    const ids = await changing(subject(), async (change) => {
      const made: string[] = []
      for (const [index, hash] of hashes.entries()) {
        const token = { kind: 'static_token', name: `key-${index}`, hash, pepper: 'a fingerprint' }
        made.push(await change.addStaticToken(user, token))
      }
      return made
    })
    const raise = (...days: [id: string | undefined, day: number][]) =>
      changing(subject(), (change) =>
        change.raiseLastUsedDays(new Map(days.map(([id = '', day]) => [id, day]))),
      )
    const days = async () => {
      const tokens = await store.records.staticTokens(user.id, { after: '', size: 1000 })
      const byId = new Map(tokens.map(({ id, lastUsedDay }) => [id, lastUsedDay]))
      return ids.map((id) => byId.get(id))
    }
    return { store, account, ids, hashes, raise, days }
  }

  test('a day rises and never falls; tokens that are not named, or do not exist, do not matter', async () => {
    const { ids, raise, days } = await withTokens(3)
    const [one, two] = ids
    expect(await days()).toEqual([undefined, undefined, undefined])
    await raise([one, 20_000], [two, 20_001], ['no such token', 20_000])
    expect(await days()).toEqual([20_000, 20_001, undefined])
    await raise([one, 20_002], [two, 20_000])
    expect(await days()).toEqual([20_002, 20_001, undefined])
  })

  test('a verification finds the day, of an active token and of a revoked one', async () => {
    const { store, account, ids, hashes, raise } = await withTokens(1)
    const [[id], [hash = Buffer.of()]] = [ids, hashes]
    const found = async () => (await store.verification.staticToken(hash))?.lastUsedDay
    expect(await found()).toBeUndefined()
    await raise([id, 20_000])
    expect(await found()).toBe(20_000)
    await changing(subject(), (change) => change.revoke(id ?? '', account.account))
    await raise([id, 20_001])
    expect(await found()).toBe(20_001)
  })

  test('the days of many tokens are one change, without a record in the audit trail', async () => {
    const { store, ids, raise, days } = await withTokens(450)
    const before = await store.records.changeNumber()
    await raise(...ids.map((id, index): [string, number] => [id, 20_000 + (index % 2)]))
    expect(await days()).toEqual(ids.map((_, index) => 20_000 + (index % 2)))
    expect(await store.records.changeNumber()).toBe(before)
  })
}
