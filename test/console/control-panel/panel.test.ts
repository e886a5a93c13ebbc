/** The user who is logged in, as the tabs of a browser know it, and by whose clock. */
import { expect, test } from 'vitest'
import { samePerson } from '../../../console/panel/model/panel.ts'
import type { Who } from '../../../console/panel/model/wire.ts'
import { AHEAD_MS, ANNA, fakePanel, NOW_MS, sessionOf } from '../../support/console/panel.ts'

test('the page asks once who is logged in, however many want to know', async () => {
  const { panel, asked } = fakePanel(() => [200, sessionOf()])
  expect(panel.state().session).toBe(undefined)
  await Promise.all([panel.open(), panel.open()])
  await panel.open()
  expect(asked).toHaveLength(1)
  expect(panel.state().session).toEqual(sessionOf())
})

test('where it is unknown who is logged in, the fault is known, and it is asked again', async () => {
  const { panel } = fakePanel((_, before) =>
    before === 0 ? [500, { reason: 'INTERNAL', message: '' }] : [200, sessionOf()],
  )
  await panel.open()
  expect(panel.state()).toMatchObject({ session: undefined, problem: { reason: 'INTERNAL' } })
  await panel.open()
  expect(panel.state()).toMatchObject({ session: sessionOf(), problem: undefined })
})

test('times are those of the sidecar, whatever the clock of this machine says', async () => {
  const { panel } = fakePanel(() => [200, sessionOf()])
  expect(panel.nowMs()).toBe(NOW_MS)
  await panel.open()
  expect(panel.nowMs()).toBe(NOW_MS + AHEAD_MS)
})

test('the other tabs learn of a login and a logout, and do not repeat what they learned', async () => {
  const { panel, told } = fakePanel((path) => (path.endsWith('/end') ? [204] : [200, sessionOf()]))
  panel.accept(sessionOf())
  await panel.logOut()
  expect(told).toEqual(['in', 'out'])
  expect(panel.state().session).toEqual({ signedIn: false, passkeys: true })
  await panel.heard('in')
  expect(panel.state().session).toEqual(sessionOf())
  await panel.heard('out')
  expect(panel.state().session?.signedIn).toBe(false)
  expect(told).toEqual(['in', 'out'])
})

test('an announced revocation is done while there is a session, and its failure keeps no user logged in', async () => {
  const order: string[] = []
  const { panel } = fakePanel(() => {
    order.push('end')
    return [204]
  })
  panel.accept(sessionOf())
  panel.beforeLogOut(async () => void order.push('revoke'))
  panel.beforeLogOut(() => Promise.reject(new Error('no answer')))
  panel.beforeLogOut(async () => void order.push('taken back'))()
  await panel.logOut()
  expect(order).toEqual(['revoke', 'end'])
})

test('a session that cannot be ended is not shown as ended', async () => {
  const { panel, told } = fakePanel(() => [500, { reason: 'INTERNAL', message: '' }])
  panel.accept(sessionOf())
  await expect(panel.logOut()).rejects.toMatchObject({ reason: 'INTERNAL' })
  expect([panel.state().session?.signedIn, told]).toEqual([true, ['in']])
})

const OPS: Who = {
  type: 'operator',
  name: 'anna',
  rights: { everything: true, read: false, revoke: false, administer: [] },
}

test.each<[one: Who | undefined, other: Who | undefined, same: boolean]>([
  [ANNA, { ...ANNA, owner: false } as Who, true],
  [ANNA, { ...ANNA, name: 'ben' }, false],
  [ANNA, { ...ANNA, account: '2' } as Who, false],
  [ANNA, OPS, false],
  [OPS, ANNA, false],
  [OPS, OPS, true],
  [undefined, ANNA, false],
  [undefined, undefined, false],
])('%j and %j: %s', (one, other, same) => {
  expect(samePerson(one, other)).toBe(same)
})
