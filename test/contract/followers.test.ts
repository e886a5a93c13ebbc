/** Followers that do not read, many followers, and changes of which one may be missing. */
import { afterEach, expect, test } from 'vitest'
import { WatchChangesResponse } from '../../proto/gen/portcullis/v1/authorization.ts'
import { RecentRecords } from '../../sidecar/directory/feed/recent-records.ts'
import { basisOf } from '../../sidecar/usecases/answer-basis.ts'
import { followersOf } from '../support/contract/followers.ts'
import { Reader } from '../support/contract/reader.ts'
import { eventually, passing } from '../support/suite/resources.ts'

let end = () => {}
afterEach(() => end())

function start() {
  const position = { sequence: 0, atMs: 1_000 }
  const state = {
    nowMs: 5,
    knownForMs: 3_000 as number | undefined,
    keyIds: ['a', 'b'],
    rules: Buffer.alloc(0),
  }
  const followed = { position, records: new RecentRecords(position) }
  const { followers, open, tell } = followersOf({
    changes: { followed, knownForMs: () => state.knownForMs },
    rules: () => state.rules,
    basis: () => basisOf(state.keyIds, ''),
    now: () => state.nowMs,
  })
  end = () => followers.end()
  return {
    ...{ state, followers },
    /** This many changes, of which each touches another user. */
    change: (count = 1, id = (sequence: number) => `user-${sequence}`) => {
      for (let time = 0; time < count; time++) {
        const sequence = followed.position.sequence + 1
        followed.position = { sequence, atMs: 1_000 + sequence }
        const touched = { thing: 'user', id: id(sequence) } as const
        followed.records.add({ ...followed.position, account: 'a', touched })
      }
      tell()
    },
    forget: () => {
      followed.records.startAgain(followed.position)
      tell()
    },
    open: () => {
      const reader = new Reader(WatchChangesResponse.decode)
      open(reader, { accounts: new Set(), after: undefined, basis: '' })
      return reader
    },
  }
}

const users = ({ got }: Reader<WatchChangesResponse>) => got.flatMap(({ voided }) => voided?.userIds ?? [])

test('a follower that does not read gets nothing more, and all of it at once when it has read', async () => {
  const { open, change } = start()
  const [reader, slow] = [open(), open()]
  slow.unread = true
  change()
  change()
  await eventually(() => users(reader).length === 2)
  expect(slow.got).toHaveLength(1)
  slow.unread = false
  await eventually(() => users(slow).length === 2)
  expect(slow.got).toHaveLength(2)
})

test('a follower whose response cannot be written ends alone, and the others are notified', async () => {
  const { open, change } = start()
  const [broken, reader] = [open(), open()]
  broken.write = () => {
    throw new RangeError('a defect')
  }
  change()
  await eventually(() => users(reader).length === 1)
  expect(broken.failure).toEqual(new RangeError('a defect'))
  change()
  await eventually(() => users(reader).length === 2)
})

test('one that has missed more than a response names forgets everything', async () => {
  const { open, change } = start()
  const slow = open()
  slow.unread = true
  change(1_001)
  slow.unread = false
  await eventually(() => slow.got.length === 2)
  expect(slow.got[1]?.voided).toMatchObject({ everything: true, userIds: [] })
  expect(slow.got[1]?.position?.change).toBe(1_001)
})

test('one that has missed the same change many times over learns of it once', async () => {
  const { open, change } = start()
  const slow = open()
  slow.unread = true
  change(900, () => 'one')
  slow.unread = false
  await eventually(() => slow.got.length === 2)
  expect(users(slow)).toEqual(['one'])
})

test('one that has read nothing for 20 seconds is refused', async () => {
  const { open, state, followers } = start()
  const slow = open()
  slow.unread = true
  state.nowMs += 20_000
  await eventually(() => slow.failure !== undefined)
  expect(String(slow.failure)).toContain('clients that do not read')
  expect(followers.size).toBe(0)
})

test('while a change may be missing, followers get nothing, and then all of it', async () => {
  const { open, change, state } = start()
  const reader = open()
  state.knownForMs = undefined
  const late = open()
  change()
  state.nowMs += 10_000
  await passing(250)
  expect(reader.got).toHaveLength(1)
  // The rules do not announce a change. They come with no time.
  expect(late.got).toMatchObject([
    { rules: {}, voided: { everything: true }, validFor: { seconds: 0, nanos: 0 } },
  ])
  state.knownForMs = 2_000
  await eventually(() => users(reader).length === 1 && late.got.length === 2)
  expect(late.got[1]?.voided?.everything).toBe(true)
  expect(reader.got[1]?.validFor).toEqual({ seconds: 2, nanos: 0 })
})

test('where the sidecar forgets everything, every follower does', async () => {
  const { open, forget } = start()
  const reader = open()
  forget()
  await eventually(() => reader.got.length === 2)
  expect(reader.got[1]?.voided?.everything).toBe(true)
})

test('where a key is withdrawn, every follower forgets everything; where one is added, none does', async () => {
  const { open, state, change } = start()
  const reader = open()
  state.keyIds = ['a', 'b', 'c']
  await passing(150)
  change()
  await eventually(() => reader.got.length === 2)
  expect(reader.got[1]?.voided?.everything).toBe(false)
  state.keyIds = ['a', 'c']
  await eventually(() => reader.got.at(-1)?.voided?.everything === true)
})

test('a response about a change says that a key was withdrawn, too', () => {
  const { state, open, change } = start()
  const reader = open()
  // No response may be sent between the two: it would prolong answers that rest on that key.
  state.keyIds = ['a']
  change()
  expect(reader.got[1]?.voided?.everything).toBe(true)
})

test('ten thousand are notified a few at a time, and each of every change', async () => {
  const { open, change } = start()
  const readers = Array.from({ length: 10_000 }, () => open())
  for (let time = 0; time < 5; time++) {
    change()
    await passing(1)
  }
  await eventually(() => readers.every((reader) => users(reader).length === 5))
  expect(readers.every(({ got }) => got.at(-1)?.position?.change === 5)).toBe(true)
})

test('the bound of sent_at and valid_for is taken before the response is made', async () => {
  const { open, state } = start()
  state.nowMs = 1_234.5
  const [first] = open().got
  expect(first?.sentAt).toEqual({ seconds: 1, nanos: 234_500_000 })
  expect(first?.validFor).toEqual({ seconds: 3, nanos: 0 })
})
