/**
 * Who changes much waits for themselves: rates by principal, lanes by who they are, and no limit on taking
 * rights away.
 */
import { expect, test } from 'vitest'
import type { ChangeAuthor, ChangeLane } from '../../sidecar/directory/author.ts'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { connect } from '../support/sidecar/client.ts'
import { operatorOf } from '../support/sidecar/operator.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

test('over the wire: a user learns when to come back; what takes rights away and operators are never refused', async () => {
  const running = await runSidecar({ flags: { 'changes.burst': 3, 'changes.user_per_minute': 6 } })
  await populate(running)
  const operator = operatorOf(running)
  const about = { account: ACCOUNT, name: 'owner' }
  await operator.directory.updateControlPanelUser({ ...about, owner: true })
  const { token } = await operator.directory.reissueControlPanelUserToken(about)
  const owner = connect(running.address, { iamToken: token?.value ?? '' })
  whenTheFileEnds(() => owner.close())
  const reissue = () => owner.directory.reissueControlPanelUserToken({ ...about, project: 'alpha' })
  for (let index = 0; index < 3; index++) await reissue()
  await expect(reissue()).rejects.toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    reason: 'CHANGES_THROTTLED',
    metadata: { retry_after_seconds: expect.stringMatching(/^(10|9)$/) },
  })
  for (let index = 0; index < 5; index++) {
    const user = { account: ACCOUNT, name: 'alpha' }
    await owner.directory.updateServiceUser({ ...user, enabled: false })
    await operator.directory.updateServiceUser({ ...user, enabled: true })
  }
})

test('of the changes that wait, operators and revocations have most turns, and users take turns', async () => {
  const store = new DirectoryStore(openSqlite(`${newFolder()}/directory.sqlite`), Date.now)
  whenTheFileEnds(() => store.close())
  const order: string[] = []
  const change = (lane: ChangeLane, principal: string) => {
    const author: ChangeAuthor = { name: principal, lane, principal }
    return store.change(author, async (made) => {
      order.push(`${lane} ${principal}`)
      await made.createAccount(`account-${order.length}`)
    })
  }
  const made = [
    ...Array.from({ length: 50 }, () => change('users', 'busy')),
    change('users', 'other'),
    ...Array.from({ length: 6 }, () => change('administrators', 'admin')),
    ...Array.from({ length: 6 }, () => change('revocations', 'holder')),
    ...Array.from({ length: 6 }, () => change('operators', 'operator')),
  ]
  await Promise.all(made)
  // Two were in progress when the others came.
  expect(order.slice(0, 2)).toEqual(['users busy', 'users busy'])
  expect(order.indexOf('operators operator')).toBe(2)
  expect(order.lastIndexOf('operators operator')).toBeLessThan(14)
  expect(order.lastIndexOf('revocations holder')).toBeLessThan(order.lastIndexOf('administrators admin'))
  expect(order.indexOf('users other')).toBeLessThan(30)
})
