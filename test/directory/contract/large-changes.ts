/** Changes of many records: what they cost the processes that follow, whatever their number. */
import { expect, onTestFinished, test } from 'vitest'
import type { Remembered } from '../../../sidecar/directory/feed/recent-changes.ts'
import type { Position } from '../../../sidecar/directory/feed/touches.ts'
import { eventually } from '../../support/suite/resources.ts'
import { changing } from './people.ts'
import type { Subject } from './subject.ts'

/** Of one statement, and of one thing that clients hear of. */
const ENOUGH_TO_OVERFLOW = 3_000
/** More than a process reads. */
const TOO_MANY = 10_000

export function largeChangesContract(subject: () => Subject): void {
  test.each([ENOUGH_TO_OVERFLOW, TOO_MANY])(
    'of %d records a listener hears once, also one that asks again',
    async (size) => {
      const { store, newAccount } = subject()
      const { account } = await newAccount()
      const { changes } = store.verification
      const token = { tokenId: 't', subject: { id: 'user-1' }, scope: { account } }
      const remembered: Remembered = { token, moment: changes.moment() ?? 0 }
      let heard = 0
      onTestFinished(
        changes.watch(() => {
          heard++
          changes.moment()
          changes.latest()
          expect(changes.outage()).toBeUndefined()
        }),
      )
      await changing(subject(), async ({ writer }) => {
        for (let user = 1; user < size; user++)
          writer.record('service_user.disable', { account, name: 'a user', id: `user-${user}` })
        writer.record('account.enable', { account, name: account })
      })
      const last = await store.records.changeNumber()
      expect(changes.moment() !== undefined && changes.isTrue(remembered)).toBe(false)
      await eventually(() => heard > 0 && changes.latest()?.sequence === last)
      expect(heard).toBeLessThanOrEqual(3)
    },
  )

  test('a process that starts knows the last 1,000 records, so followers of the one before it go on', async () => {
    const { place, clock, store, newAccount } = subject()
    const { account } = await newAccount()
    const { changes } = store.verification
    /** The position after that many further records. */
    const after = async (records: number) => {
      await changing(subject(), async ({ writer }) => {
        for (let record = 0; record < records; record++)
          writer.record('account.enable', { account, name: account })
      })
      const last = await store.records.changeNumber()
      await eventually(() => changes.latest()?.sequence === last)
      return changes.latest() as Position
    }
    const tooOld = await after(1)
    const known = await after(1)
    const last = await after(1_000)
    const { store: next } = await place.open(() => clock.nowMs)
    onTestFinished(() => next.close())
    const { followed } = next.verification.changes
    expect(followed?.position).toEqual(last)
    expect(followed?.records.placeAfter(tooOld)).toBeUndefined()
    const missed = followed?.records.from(followed.records.placeAfter(known) ?? -1) ?? []
    expect(missed).toHaveLength(1_000)
    expect(missed.at(-1)).toEqual({ ...last, account, touched: { thing: 'account', id: account } })
    expect(followed?.records.placeAfter(last)).toBe(followed?.records.end)
  })
}
