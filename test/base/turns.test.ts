/** Turns of costly work: a share of each turn of the event loop, and connections one after the other. */
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Turns } from '../../sidecar/base/turns.ts'

// The clock stands still except where work takes time, so a busy machine changes nothing.
beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => vi.useRealTimers())

/**
 * More than all work of one turn of the event loop may take, and more than that of one connection, in
 * milliseconds.
 */
const LONG_MS = 1
const SHORT_MS = 0.3
const takes = (ms: number) => vi.advanceTimersByTime(ms)

const [a, b, c] = [{}, {}, {}]

/** Turns in which nothing more is done before the next turn of the event loop. */
function exhausted(): Turns {
  const turns = new Turns()
  turns.run({}, () => takes(LONG_MS))
  return turns
}

/** Asks for work of these connections, in this order. @returns the order in which it is done */
async function order(turns: Turns, asked: readonly (readonly [connection: object, name: string])[]) {
  const done: string[] = []
  const work = (name: string) => () => {
    done.push(name)
    takes(SHORT_MS)
  }
  await Promise.all(asked.map(([connection, name]) => turns.run(connection, work(name))))
  return done.join(' ')
}

/** So many times the same. */
const times = (count: number, connection: object, name: string) =>
  Array.from({ length: count }, () => [connection, name] as const)

test('work is done at once until this turn of the event loop has no time left', async () => {
  const turns = new Turns()
  expect(turns.run(a, () => 1)).toBe(1)
  expect(turns.run(b, () => takes(LONG_MS))).toBe(vi)
  const waiting = turns.run(a, () => 2)
  expect(waiting).toBeInstanceOf(Promise)
  expect(await waiting).toBe(2)
  await setImmediate()
  expect(turns.run(a, () => 3)).toBe(3)
})

test('others have their turn between the work of one connection', async () => {
  const turns = new Turns()
  let done = 0
  const all = Promise.all(
    times(10, a, '').map(() =>
      turns.run(a, () => {
        takes(LONG_MS)
        done++
      }),
    ),
  )
  const seen: number[] = []
  while (done < 10) {
    seen.push(done)
    await setImmediate()
  }
  await all
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('connections take turns, however much one of them asks for', async () => {
  expect(await order(exhausted(), [...times(5, a, 'a'), ...times(2, b, 'b'), [c, 'c']])).toBe(
    'a b c a b a a a',
  )
})

test('those that have sent a forged token come after the others, and get a fifth of the turns', async () => {
  const turns = exhausted()
  turns.suspect(a)
  const asked = [...times(3, a, 'a'), ...times(9, b, 'b')]
  expect(await order(turns, asked)).toBe('b b b b a b b b b a b a')
  takes(10_000)
  turns.run(c, () => takes(LONG_MS))
  expect(await order(turns, [...times(2, a, 'a'), ...times(2, b, 'b')])).toBe('a b a b')
})

test('a connection that comes under suspicion loses its place to those that wait', async () => {
  const turns = exhausted()
  turns.run(a, () => {
    turns.suspect(a)
    takes(SHORT_MS)
  })
  expect(await order(turns, [...times(2, a, 'a'), ...times(4, b, 'b')])).toBe('b b b a b a')
})

test('waiting work is counted, and separately that of connections that are suspected', async () => {
  const turns = exhausted()
  turns.suspect(a)
  const all = [...times(3, a, 'a'), ...times(2, b, 'b')].map(([connection]) =>
    turns.run(connection, () => {}),
  )
  expect(turns.waiting).toEqual({ unsuspected: 2, suspected: 3 })
  await Promise.all(all)
  expect(turns.waiting).toEqual({ unsuspected: 0, suspected: 0 })
})

test('work that other work asks for is part of it', async () => {
  const turns = exhausted()
  const inner = turns.run(a, () => {
    takes(LONG_MS)
    return turns.run(b, () => 'at once')
  })
  expect(await inner).toBe('at once')
})

test('an error of the work goes to its caller, at once or later', async () => {
  const fails = () => {
    throw new Error('it fails')
  }
  expect(() => new Turns().run(a, fails)).toThrow('it fails')
  await expect(exhausted().run(a, fails)).rejects.toThrow('it fails')
})

test('a connection with too much work that waits is refused more, and no other one is', async () => {
  const turns = exhausted()
  const waiting = times(4_000, a, 'a').map(() => turns.run(a, () => {}))
  const refused = expect.objectContaining({ reason: 'VERIFICATIONS_EXHAUSTED' })
  expect(() => turns.run(a, () => {})).toThrow(refused)
  // They share equally. Each of them may wait for something.
  const others = times(2_000, b, 'b').map(() => turns.run(b, () => {}))
  expect(() => turns.run(b, () => {})).toThrow(refused)
  expect(await turns.run(c, () => 'c')).toBe('c')
  await Promise.all([...waiting, ...others])
})

/** Asks for pieces of work that take three turns each. @returns how many have begun and not ended, at most */
async function longWork(turns: Turns, connections: readonly object[], count: number) {
  let begun = 0
  let most = 0
  const piece = async (connection: object) => {
    await turns.run(connection, () => {
      most = Math.max(most, ++begun)
      takes(LONG_MS)
    })
    await turns.run(connection, () => takes(LONG_MS), true)
    await turns.run(connection, () => takes(LONG_MS), true)
    begun--
  }
  await Promise.all(connections.flatMap((each) => times(count, each, '').map(() => piece(each))))
  return most
}

test('of much work that takes several turns, a bounded part has begun', async () => {
  expect(await longWork(exhausted(), [a], 300)).toBeLessThanOrEqual(20)
  expect(await longWork(exhausted(), [a, b], 300)).toBeLessThanOrEqual(20)
})

test('every connection may begin something, however many have begun', async () => {
  const many = Array.from({ length: 100 }, () => ({}))
  expect(await longWork(exhausted(), many, 2)).toBeLessThanOrEqual(110)
})

test('work that goes on and work that begins take turns within a connection', async () => {
  const turns = exhausted()
  const done: string[] = []
  const work = (name: string) => () => {
    done.push(name)
    takes(SHORT_MS)
  }
  await Promise.all([
    turns.run(a, work('on'), true),
    turns.run(a, work('on'), true),
    turns.run(a, work('new')),
    turns.run(a, work('new')),
    turns.run(b, work('other'), true),
  ])
  expect(done.join(' ')).toBe('on other new on new')
})
