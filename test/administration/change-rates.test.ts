/**
 * Who changes much waits for themselves: rates by principal, lanes by who they are, and no limit on taking
 * rights away.
 */
import { expect, test } from 'vitest'
import type { ChangeAuthor, ChangeLane } from '../../sidecar/directory/author.ts'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

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
