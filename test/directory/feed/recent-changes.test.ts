/** A state at a moment, and whether it is still true after the changes since. */
import { describe, expect, test } from 'vitest'
import { RecentChanges } from '../../../sidecar/directory/feed/recent-changes.ts'
import type { TokenDependency } from '../../../sidecar/directory/feed/touches.ts'

const TOKEN = {
  tokenId: 't',
  derivedFrom: ['first', 'second'],
  subject: { id: 'u' },
  scope: { account: 'a' },
  projectId: 'p',
}

/** The state that was just read of the token. */
const read = (changes: RecentChanges) => ({ token: TOKEN, moment: changes.moment })

describe('a state that was read', () => {
  test.each<[thing: TokenDependency, id: string, isTrue: boolean]>([
    ['token', 't', false],
    ['token', 'first', false],
    ['token', 'second', false],
    ['user', 'u', false],
    ['account', 'a', false],
    ['project', 'p', false],
    ['token', 'other', true],
    // The same id of another thing.
    ['user', 't', true],
    ['token', 'u', true],
    ['project', 'a', true],
    ['account', 'p', true],
  ])('after a change of %s `%s`', (thing, id, isTrue) => {
    const changes = new RecentChanges()
    const remembered = read(changes)
    changes.touch(thing, id)
    expect(changes.isTrue(remembered)).toBe(isTrue)
    // Asked a second time, and read again afterwards.
    expect(changes.isTrue(remembered)).toBe(isTrue)
    expect(changes.isTrue(read(changes))).toBe(true)
  })

  test('does not depend on a project that the token does not have', () => {
    const changes = new RecentChanges()
    const { projectId: _, derivedFrom: __, ...token } = TOKEN
    const remembered = { token, moment: changes.moment }
    for (const [thing, id] of [
      ['project', 'p'],
      ['token', 'first'],
    ] as const)
      changes.touch(thing, id)
    expect(changes.isTrue(remembered)).toBe(true)
  })

  test('is no longer true where anything may have changed', () => {
    const changes = new RecentChanges()
    const remembered = read(changes)
    changes.touchAll()
    expect(changes.isTrue(remembered)).toBe(false)
    expect(changes.isTrue(read(changes))).toBe(true)
  })

  test('is not true if a change came before it arrived', () => {
    const changes = new RecentChanges()
    const { moment } = changes
    changes.touch('user', 'u')
    changes.touch('user', 'other')
    expect(changes.isTrue({ token: TOKEN, moment })).toBe(false)
  })
})

describe('the memory of changes', () => {
  test('loses half at a time, and states that were read before are asked again', () => {
    const changes = new RecentChanges(4)
    const before = read(changes)
    for (const id of ['1', '2']) changes.touch('user', id)
    const between = read(changes)
    for (const id of ['3', '4', '5']) changes.touch('user', id)
    // 1 to 3 are forgotten.
    expect(changes.isTrue(before)).toBe(false)
    expect(changes.isTrue(between)).toBe(false)
    const after = read(changes)
    for (const id of ['6', 'u']) changes.touch('user', id)
    expect(changes.isTrue(after)).toBe(false)
    expect(changes.isTrue(read(changes))).toBe(true)
  })

  test('holds a thing once, however often it is touched', () => {
    const changes = new RecentChanges(4)
    const remembered = read(changes)
    for (let time = 0; time < 100; time++) changes.touch('user', 'other')
    expect(changes.isTrue(remembered)).toBe(true)
  })

  test('has separate room for each sort of thing', () => {
    const changes = new RecentChanges(2)
    const remembered = read(changes)
    for (const thing of ['token', 'user', 'account', 'project'] as const)
      for (const id of ['1', '2']) changes.touch(thing, id)
    expect(changes.isTrue(remembered)).toBe(true)
  })
})
