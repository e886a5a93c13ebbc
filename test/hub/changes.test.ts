/** The word of a hub that a sidecar without a directory believes, and for how long. */
import { describe, expect, test } from 'vitest'
import { HubBehind, HubChanges, type HubResponse, WrongHub } from '../../sidecar/authority/hub/hub-changes.ts'
import { KnownPosition } from '../../sidecar/directory/feed/known-position.ts'
import type { Remembered } from '../../sidecar/directory/feed/recent-changes.ts'
import type { Position } from '../../sidecar/directory/feed/touches.ts'

const TOKEN = {
  tokenId: 't',
  subject: { id: 'u' },
  scope: { account: 'a' },
  projectId: 'p',
  derivedFrom: ['d'],
}
const EVERYTHING = [undefined]
const BASIS = 'keys'
const at = (sequence: number) => ({ sequence, atMs: 1_000 + sequence })

/** @param spread which part of the longest time passes before everything is void */
function following({ stalenessMs = 5_000, spread = 0 } = {}) {
  const clock = { nowMs: 0 }
  const known = new KnownPosition()
  const changes = new HubChanges({ stalenessMs, known, spread: () => spread, now: () => clock.nowMs })
  /** A response that was sent then, on the clock of the hub. */
  const hear = (sequence: number, sentAtMs: number, more: Partial<HubResponse> = {}) =>
    changes.hear({
      ...{ position: at(sequence), touched: [], validForMs: 3_000, sentAtMs },
      basis: BASIS,
      ...more,
    })
  const begin = () => {
    changes.begin()
    hear(100, 50_000, { touched: EVERYTHING })
  }
  const remember = (): Remembered => ({ token: TOKEN, moment: changes.moment() ?? -1 })
  return { clock, known, changes, hear, begin, remember }
}

describe('a remembered answer counts', () => {
  test('from the time when the response was sent, not from when it arrives', () => {
    const { clock, changes, hear, begin } = following()
    begin()
    clock.nowMs = 2_900
    // Sent one second after the first one, and almost two on its way.
    hear(100, 51_000)
    clock.nowMs = 3_999
    expect(changes.moment()).toBeDefined()
    clock.nowMs = 4_000
    expect(changes.moment()).toBeUndefined()
    expect(changes.knownForMs()).toBeUndefined()
  })

  test('no longer than from its arrival, where the clock of the hub runs fast', () => {
    const { clock, changes, hear, begin } = following()
    begin()
    clock.nowMs = 1_000
    hear(100, 500_000)
    clock.nowMs = 4_000
    expect(changes.moment()).toBeUndefined()
  })

  test('no longer than this sidecar allows, whatever the hub says', () => {
    const { clock, changes, hear, begin } = following({ stalenessMs: 1_000 })
    begin()
    hear(100, 50_000, { validForMs: 3_600_000 })
    clock.nowMs = 1_000
    expect(changes.moment()).toBeUndefined()
  })

  test('while another stream is asked for, as long as it did before', () => {
    const { clock, changes, begin, remember } = following()
    begin()
    const remembered = remember()
    clock.nowMs = 2_000
    changes.begin()
    expect(changes.moment()).toBeDefined()
    expect(changes.isTrue(remembered)).toBe(true)
    clock.nowMs = 3_000
    expect(changes.moment()).toBeUndefined()
  })

  test('and is true again where the next stream goes on from the position', () => {
    const { clock, changes, hear, begin, remember } = following()
    begin()
    const remembered = remember()
    clock.nowMs = 60_000
    changes.begin()
    hear(105, 7, { touched: [{ thing: 'user', id: 'other' }] })
    expect(changes.moment()).toBeDefined()
    expect(changes.isTrue(remembered)).toBe(true)
  })
})

test.each([
  ['the token', { thing: 'token', id: 't' }, false],
  ['one that it was derived from', { thing: 'token', id: 'd' }, false],
  ['its holder', { thing: 'user', id: 'u' }, false],
  ['its account', { thing: 'account', id: 'a' }, false],
  ['its project', { thing: 'project', id: 'p' }, false],
  ['everything', undefined, false],
  ['another user', { thing: 'user', id: 'other' }, true],
] as const)('a response that voids %s', (_what, touched, still) => {
  const { changes, hear, begin, remember } = following()
  begin()
  const remembered = remember()
  hear(101, 50_001, { touched: [touched] })
  expect(changes.isTrue(remembered)).toBe(still)
  expect(changes.isTrue(remember())).toBe(true)
})

describe('that everything is void is put off', () => {
  /** A token is remembered, and half of the bound later everything is void. */
  function putOff(spread: number) {
    const follower = following({ spread })
    const { clock, hear, begin, remember } = follower
    begin()
    const remembered = remember()
    // Later than the bound after the first response.
    for (let time = 1; time <= 5; time++) {
      clock.nowMs = time * 1_000
      hear(100, 50_000 + clock.nowMs)
    }
    // Memory counts for two seconds more.
    clock.nowMs = 6_000
    hear(200, 56_000, { touched: EVERYTHING })
    const isTrue = () => follower.changes.moment() !== undefined && follower.changes.isTrue(remembered)
    return { ...follower, isTrue }
  }

  test.each([
    [0, 6_000],
    [0.5, 6_500],
    [1, 7_000],
  ])('for a part of the time for which memory counts, %s of half of it', (spread, untilMs) => {
    const { clock, changes, isTrue } = putOff(spread)
    clock.nowMs = untilMs - 1
    expect(isTrue()).toBe(spread > 0)
    expect(changes.latest()).toEqual(spread > 0 ? at(100) : at(200))
    clock.nowMs = untilMs
    expect(isTrue()).toBe(false)
    expect(changes.latest()).toEqual(at(200))
    expect(changes.moment()).toBeDefined()
    expect(changes.isPutOff).toBe(false)
  })

  test('and no response prolongs the memory meanwhile', () => {
    const { clock, changes, hear, isTrue } = putOff(1)
    clock.nowMs = 6_900
    hear(201, 56_900)
    expect(changes.knownForMs()).toBe(1_100)
    expect(isTrue()).toBe(true)
    clock.nowMs = 7_000
    expect(isTrue()).toBe(false)
    // From now on the last one counts.
    expect(changes.knownForMs()).toBe(2_900)
    expect(changes.latest()).toEqual(at(201))
  })

  test('except what is named', () => {
    const { changes, hear, remember, isTrue } = putOff(1)
    const other = remember()
    hear(201, 56_001, { touched: [{ thing: 'user', id: 'u' }] })
    expect(isTrue()).toBe(false)
    expect(changes.isTrue({ ...other, token: { ...TOKEN, subject: { id: 'other' } } })).toBe(true)
    // A restart does not forget it.
    expect(changes.told).toEqual(at(201))
  })

  test.each<[what: string, happens: (follower: ReturnType<typeof putOff>) => void]>([
    ['another stream is asked for', ({ changes }) => changes.begin()],
    ['a key is withdrawn', ({ hear }) => hear(200, 56_001, { basis: 'other', touched: EVERYTHING })],
    ['a follower of this sidecar knows more', ({ changes }) => void changes.has(at(200))],
    ['the hub is left', ({ changes }) => changes.distrust()],
  ])('until %s', (_what, happens) => {
    const follower = putOff(1)
    expect(follower.isTrue()).toBe(true)
    happens(follower)
    expect(follower.isTrue()).toBe(false)
    expect(follower.changes.isPutOff).toBe(false)
  })

  test('not where it is because of other keys', () => {
    const { changes, hear, begin, clock } = following({ spread: 1 })
    begin()
    clock.nowMs = 5_000
    hear(100, 55_000)
    hear(100, 55_001, { basis: 'other', touched: EVERYTHING })
    expect(changes.isPutOff).toBe(false)
  })

  test('once within the bound', () => {
    const { clock, changes, hear } = putOff(1)
    clock.nowMs = 7_000
    hear(300, 57_000, { touched: EVERYTHING })
    expect(changes.latest()).toEqual(at(300))
  })

  test('not where nothing is known any more', () => {
    const { clock, changes, hear, begin } = following({ spread: 1 })
    begin()
    clock.nowMs = 60_000
    changes.begin()
    hear(300, 1, { touched: EVERYTHING })
    expect(changes.isPutOff).toBe(false)
    expect(changes.latest()).toEqual(at(300))
  })
})

describe('a hub is left', () => {
  test.each<[what: string, response: Partial<HubResponse>]>([
    ['with a clock that goes backwards', { sentAtMs: 49_999 }],
    ['with positions that go backwards', { position: at(99) }],
    ['that gives its position another time', { position: { sequence: 100, atMs: 7 } }],
    ['that names an invalid time', { validForMs: Number.NaN }],
    ['that names a negative time', { validForMs: -1 }],
  ])('%s', (_what, response) => {
    const { hear, begin } = following()
    begin()
    expect(() => hear(100, 50_000, response)).toThrow(expect.objectContaining({ name: 'WrongHub' }))
  })

  test('that does not say that everything is void to a sidecar that knows nothing', () => {
    const { changes, hear } = following()
    changes.begin()
    expect(() => hear(100, 1)).toThrow('its first response does not say that everything is void')
    expect(changes.moment()).toBeUndefined()
  })

  test('that goes on from an earlier stream, but with other keys', () => {
    const { changes, hear, begin } = following()
    begin()
    changes.begin()
    expect(() => hear(100, 2, { basis: 'other' })).toThrow('it goes on from what rests on other keys')
  })

  test('and then a follower of this sidecar must forget everything, too', () => {
    const { changes, hear, begin } = following()
    begin()
    hear(101, 50_001)
    const place = changes.followed?.records.end ?? -1
    changes.distrust()
    changes.begin()
    hear(140, 7, { touched: EVERYTHING })
    expect(changes.followed?.records.from(place)).toBeUndefined()
    expect(changes.followed?.records.placeAfter(at(101))).toBeUndefined()
  })

  test('and then nothing of what it said counts', () => {
    const { changes, begin, remember } = following()
    begin()
    const remembered = remember()
    changes.distrust()
    expect(changes.moment()).toBeUndefined()
    expect(changes.followed).toBeUndefined()
    begin()
    expect(changes.isTrue(remembered)).toBe(false)
  })
})

/** The first position of a hub on a new stream, to a sidecar that knows change 100. */
const FIRST: readonly (readonly [what: string, first: HubResponse['position'], behind: boolean])[] = [
  ['the same position', at(100), false],
  ['a later one', at(101), false],
  ['an earlier one', at(99), true],
  ['the beginning', { sequence: 0, atMs: 0 }, true],
  ['the same number at another time', { sequence: 100, atMs: at(100).atMs - 1 }, true],
]

describe.each(['that goes on', 'that was restarted'])('a sidecar %s', (which) => {
  test.each(FIRST)('and a hub that begins with %s', (_what, position, isBehind) => {
    const { changes: before, known, begin, remember } = following()
    begin()
    const remembered = remember()
    const isNew = which === 'that was restarted'
    const changes = isNew ? new HubChanges({ stalenessMs: 5_000, known, now: () => 0 }) : before
    changes.begin()
    const hear = () =>
      changes.hear({ position, touched: EVERYTHING, validForMs: 3_000, sentAtMs: 60_000, basis: BASIS })
    if (!isBehind) return expect(hear).not.toThrow()
    expect(hear).toThrow(HubBehind)
    // The hub is left, and what is remembered still counts for as long as it did.
    expect(changes.moment() !== undefined && changes.isTrue(remembered)).toBe(!isNew)
  })
})

test('everything is void where a hub goes back on its stream', () => {
  const { changes, hear, begin, remember } = following()
  begin()
  hear(101, 50_001)
  const remembered = remember()
  expect(() => hear(3, 50_002, { touched: EVERYTHING })).toThrow(WrongHub)
  changes.distrust()
  expect(changes.isTrue(remembered)).toBe(false)
  // The position that it has read is not forgotten with it.
  expect(changes.told).toEqual(at(101))
})

test('an answer may be remembered at the positions that the stream has named, and at no other', () => {
  const { changes, hear, begin } = following()
  begin()
  hear(101, 50_001)
  hear(104, 50_002)
  const wasTold = (position: Position | undefined, basis = BASIS) => changes.wasTold({ position, basis })
  for (const sequence of [100, 101, 104]) expect(wasTold(at(sequence))).toBe(true)
  expect(wasTold(at(102))).toBe(false)
  expect(wasTold(at(105))).toBe(false)
  expect(wasTold({ sequence: 104, atMs: 7 })).toBe(false)
  expect(wasTold(undefined)).toBe(false)
  // Of a process that has read other keys than that of the stream.
  expect(wasTold(at(104), 'other keys')).toBe(false)
})

test('a follower of this sidecar gets the same', () => {
  const { changes, hear, begin } = following()
  let news = 0
  changes.watch(() => news++)
  begin()
  const { records } = changes.followed ?? {}
  const place = records?.placeAfter(at(100)) ?? Number.NaN
  hear(102, 50_001, {
    touched: [
      { thing: 'user', id: 'x' },
      { thing: 'token', id: 'y' },
    ],
  })
  expect(changes.followed?.records.from(place)?.map(({ touched }) => touched)).toEqual([
    { thing: 'user', id: 'x' },
    { thing: 'token', id: 'y' },
  ])
  hear(103, 50_002)
  expect(changes.followed?.records.from(changes.followed.records.placeAfter(at(102)) ?? Number.NaN)).toEqual([
    { ...at(103), account: '', touched: 'nothing' },
  ])
  expect(changes.followed?.records.placeAfter(at(103))).toBe(changes.followed?.records.end)
  hear(104, 50_003, { touched: EVERYTHING })
  expect(changes.followed?.records.from(place)).toBeUndefined()
  expect(news).toBe(4)
})
