/** Changes of many records: what they cost the processes that follow, whatever their number. */
import { expect, onTestFinished, test } from 'vitest'
import type { Remembered } from '../../../sidecar/directory/feed/recent-changes.ts'
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
}
