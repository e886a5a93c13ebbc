/** Followers that do not read, many followers, and changes of which one may be missing. */
import { afterEach, expect, test } from 'vitest'
import { Rules, WatchChangesResponse } from '../../proto/gen/portcullis/v1/authorization.ts'
import type { EncodedRules } from '../../sidecar/contract/change-messages.ts'
import { encode } from '../../sidecar/contract/responses.ts'
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
    rules: rulesWith(),
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
    open: (decode: (response: Buffer) => WatchChangesResponse = WatchChangesResponse.decode) => {
      const reader = new Reader(decode)
      open(reader, { accounts: new Set(), after: undefined, basis: '' })
      return reader
    },
  }
}

/** Rules in as many responses as there are ids of APIs. */
function rulesWith(...ids: readonly string[]): EncodedRules {
  const apis = ids.map((api) => ({ api, cells: [], notes: [] }))
  const rules = (some: typeof apis) => ({
    ...{ matrix: undefined, cells: [], apis: some, routes: undefined },
  })
  const none = { position: undefined, rules: undefined, voided: undefined, validFor: undefined }
  return {
    parts: apis.slice(0, -1).map((each) =>
      encode(WatchChangesResponse, {
        ...{ ...none, sentAt: undefined, timeOfDay: undefined },
        rulesPart: rules([each]),
      }),
    ),
    last: encode(Rules, rules(apis.slice(-1))),
  }
}

/** The APIs of what a follower got, each with the field that it came in; `-`: no rules. */
const apisIn = ({ got }: Reader<WatchChangesResponse>) =>
  got.map(({ rules, rulesPart, validFor }) => {
    const field = rules ? 'rules' : rulesPart ? 'part' : '-'
    const ids = (rules ?? rulesPart)?.apis.map(({ api }) => api).join() ?? ''
    return `${field} ${ids}${validFor ? ' and goes on' : ''}`
  })

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

test('rules in parts begin with what is void, and let a follower go on when they are whole', async () => {
  const { open, state } = start()
  state.rules = rulesWith('a', 'b', 'c')
  const reader = open()
  expect(reader.got[0]?.voided?.everything).toBe(true)
  await eventually(() => reader.got.length === 4)
  expect(apisIn(reader)).toEqual(['- ', 'part a', 'part b', 'rules c and goes on'])
})

test('the followers of rules in parts share the bytes of each', async () => {
  const { open, state } = start()
  state.rules = rulesWith('a', 'b')
  const written: Buffer[] = []
  const readers = Array.from({ length: 3 }, () =>
    open((response) => {
      if (state.rules.parts.includes(response)) written.push(response)
      return WatchChangesResponse.decode(response)
    }),
  )
  await eventually(() => readers.every(({ got }) => got.length === 3))
  expect(written).toHaveLength(3)
})

test('a follower that does not read gets the next part when it has read the last one', async () => {
  const { open, state, change } = start()
  state.rules = rulesWith('a', 'b', 'c')
  const slow = open()
  await eventually(() => slow.got.length === 2)
  slow.unread = true
  change()
  const reader = open()
  await eventually(() => reader.got.length === 4)
  expect(slow.got).toHaveLength(2)
  slow.unread = false
  await eventually(() => slow.got.length === 5)
  // The change is heard of first, and the earlier rules of the follower go on for as long as was said.
  expect(apisIn(slow).slice(2)).toEqual(['- ', 'part b', 'rules c and goes on'])
  expect(users(slow)).toEqual(['user-1'])
})

test('rules that are replaced on their way are finished, and a follower goes on by those in force alone', async () => {
  const { open, state, change } = start()
  const reader = open()
  expect(apisIn(reader)).toEqual(['rules  and goes on'])
  state.rules = rulesWith('a', 'b')
  await eventually(() => reader.got.length === 2)
  state.rules = rulesWith('x', 'y')
  await eventually(() => reader.got.length === 5)
  expect(apisIn(reader).slice(1)).toEqual(['part a', 'rules b', 'part x', 'rules y and goes on'])
  change()
  expect(apisIn(reader).at(-1)).toBe('-  and goes on')
})
