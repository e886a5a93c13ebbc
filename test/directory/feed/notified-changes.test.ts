/** Answers from memory of a process on PostgreSQL: as long as it knows that it has missed nothing. */
import { afterEach, describe, expect, test } from 'vitest'
import { callError } from '../../../sidecar/base/call-error.ts'
import { NotifiedChanges } from '../../../sidecar/directory/feed/notified-changes.ts'
import type { Remembered } from '../../../sidecar/directory/feed/recent-changes.ts'

const BOUND_MS = 5_000
const TOKEN = { tokenId: 't', subject: { id: 'u' }, scope: { account: 'a' }, projectId: 'p' }

/** A record of the audit trail, as a table has it. */
const record = (sequence: number, touches: string | null) => ({
  ...{ sequence, at_ms: 1_000 + sequence, account: 'a', touches },
})
const at = (sequence: number) => ({ sequence, atMs: 1_000 + sequence })
const heard = (sequence: number, touches: string | null) => ({
  ...{ sequence, atMs: 1_000 + sequence, account: 'a', touches },
})

let close = () => {}
afterEach(() => close())

/** A process that follows a directory with these records, which the test changes. */
async function following(stalenessMs = BOUND_MS) {
  const place = {
    ...{ records: [record(100, '')], nowMs: 0, answers: true, lost: false, answerMs: 0 },
    waits: undefined as Promise<void> | undefined,
    onAnswer: undefined as (() => void) | undefined,
  }
  const asked: number[] = []
  const changes = new NotifiedChanges({
    has: async () => true,
    stalenessMs,
    now: () => place.nowMs,
    ask: async (_sql, { position = 0 } = {}) => {
      asked.push(Number(position))
      const rows =
        position === 0
          ? place.records.slice(-1)
          : place.records.filter(({ sequence }) => sequence >= Number(position)).slice(0, 10_000)
      await place.waits
      if (place.lost) throw callError('DIRECTORY_CHANGES_LOST', {})
      if (!place.answers) throw new Error('no answer')
      place.nowMs += place.answerMs
      place.onAnswer?.()
      return rows
    },
  })
  close = () => changes.close()
  await changes.look()
  const remember = (): Remembered => ({ token: TOKEN, moment: changes.moment() ?? Number.NaN })
  return { place, asked, changes, remember }
}

describe('a remembered answer', () => {
  test('counts for the bound, from the start of the question', async () => {
    const { place, changes } = await following()
    place.nowMs = 1_000
    place.answerMs = 3_000
    await changes.look()
    place.nowMs = 1_000 + BOUND_MS - 1
    expect(changes.moment()).toBeDefined()
    place.nowMs++
    expect(changes.moment()).toBeUndefined()
  })

  test('counts again after an outage, if nothing touched it meanwhile', async () => {
    const { place, changes, remember } = await following()
    const remembered = remember()
    place.answers = false
    place.nowMs = 2 * BOUND_MS
    await changes.look()
    expect(changes.moment()).toBeUndefined()
    place.answers = true
    place.records.push(record(101, 'user:another'))
    await changes.look()
    expect(changes.moment()).toBeDefined()
    expect(changes.isTrue(remembered)).toBe(true)
  })

  test('never counts with a bound of 0', async () => {
    const { changes } = await following(0)
    expect(changes.moment()).toBeUndefined()
  })

  test.each([
    ['the token', 'token:t', false],
    ['its holder', 'user:u', false],
    ['its account', 'account:a', false],
    ['its project', 'project:p', false],
    ['no row is named', null, false],
    ['what a later version says', 'region:r', false],
    ['another token', 'token:u', true],
    ['nothing', '', true],
  ])('a change touches %s, whether it is read or heard of', async (_what, touches, still) => {
    for (const way of ['read', 'heard', 'heard after a gap', 'made here']) {
      const { place, changes, remember } = await following()
      const remembered = remember()
      if (way === 'read') place.records.push(record(101, touches))
      if (way === 'read') await changes.look()
      if (way === 'heard') changes.hear(at(100), [heard(101, touches)])
      if (way === 'heard after a gap') changes.hear(at(105), [heard(106, touches)])
      if (way === 'made here') changes.touch([heard(101, touches)])
      expect([way, changes.isTrue(remembered)]).toEqual([way, still])
      // A question after it counts.
      expect([way, changes.isTrue(remember())]).toEqual([way, true])
    }
  })

  test('does not count where it was asked for before a change that was heard of before the answer', async () => {
    const { changes, remember } = await following()
    const { moment } = remember()
    changes.hear(at(100), [heard(101, 'user:u')])
    expect(changes.isTrue({ token: TOKEN, moment })).toBe(false)
  })
})

describe('the caller of a change made here', () => {
  const noted = async (touching: Promise<void>) => {
    let isTold = false
    void touching.then(() => {
      isTold = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    return isTold
  }

  test('sees what others recorded before it', async () => {
    const { place, changes, remember } = await following()
    const remembered = remember()
    place.records.push(record(101, 'token:t'), record(102, 'user:x'))
    await changes.touch([heard(102, 'user:x')])
    expect([changes.isTrue(remembered), changes.position]).toEqual([false, 102])
  })

  test.each<[what: string, sequences: readonly number[]]>([
    ['nothing is missing', [101]],
    ['it is in the past', [99]],
  ])('waits for nothing where %s', async (_what, sequences) => {
    const { asked, changes } = await following()
    for (const sequence of sequences) await changes.touch([heard(sequence, 'user:x')])
    await changes.touch([])
    expect(asked).toEqual([0])
  })

  test('sees what has the number of a change whose COMMIT failed', async () => {
    const { place, changes, remember } = await following()
    await changes.touch([heard(101, 'user:x')])
    const remembered = remember()
    place.records.push(record(101, 'token:t'), record(102, 'user:x'))
    await changes.touch([heard(102, 'user:x')])
    expect(changes.isTrue(remembered)).toBe(false)
  })

  test('is given no answer that came before they asked', async () => {
    for (let later = 0; later < 10; later++) {
      const { place, asked, changes } = await following()
      const { promise, resolve } = Promise.withResolvers<void>()
      const lookAfter = (turns: number): void => {
        if (turns > 0) queueMicrotask(() => lookAfter(turns - 1))
        else resolve(changes.look().then(() => {}))
      }
      place.onAnswer = () => {
        place.onAnswer = undefined
        lookAfter(later)
      }
      await Promise.all([changes.look(), promise])
      expect(asked).toEqual([0, 100, 100])
      changes.close()
    }
  })

  test('gets the error of the last question, once what is remembered counts no longer', async () => {
    const { place, changes } = await following()
    place.answers = false
    await changes.look()
    expect(changes.outage()).toBeUndefined()
    place.nowMs = BOUND_MS
    expect(changes.outage()?.reason).toBe('DIRECTORY_UNAVAILABLE')
    place.lost = true
    await changes.look()
    place.lost = false
    await changes.look()
    // The server that has lost them may be gone, and no other was found that has them.
    expect(changes.outage()?.reason).toBe('DIRECTORY_CHANGES_LOST')
    place.answers = true
    await changes.look()
    expect(changes.outage()).toBeUndefined()
  })

  test('sees what was recorded before, also where it was so already', async () => {
    const { place, changes, remember } = await following()
    const remembered = remember()
    place.records.push(record(101, 'token:t'))
    await changes.touch([{ ...heard(0, 'user:x'), atMs: 0 }])
    expect(changes.isTrue(remembered)).toBe(false)
  })

  test('is notified soon, and nothing is remembered until the changes before it are known', async () => {
    const { place, changes } = await following()
    place.records.push(record(101, 'token:t'), record(102, 'user:x'))
    const answer = Promise.withResolvers<void>()
    place.waits = answer.promise
    const touching = changes.touch([heard(102, 'user:x')])
    expect([await noted(touching), changes.moment()]).toEqual([false, expect.any(Number)])
    await touching
    expect(changes.moment()).toBeUndefined()
    answer.resolve()
    place.waits = undefined
    await changes.look()
    expect([changes.moment(), changes.position]).toEqual([expect.any(Number), 102])
  })

  test('remembers nothing after an answer to a question from before the change', async () => {
    const { place, changes } = await following()
    const [early, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    place.waits = early.promise
    const looking = changes.look()
    place.records.push(record(101, 'token:t'), record(102, 'user:x'))
    await changes.touch([heard(102, 'user:x')])
    place.waits = late.promise
    early.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    expect(changes.moment()).toBeUndefined()
    late.resolve()
    await looking
    expect([changes.moment(), changes.position]).toEqual([expect.any(Number), 102])
  })
})

describe('the position', () => {
  test('is not advanced over a gap, which is asked about', async () => {
    const { place, asked, changes } = await following()
    place.records.push(record(101, 'user:x'), record(102, ''))
    changes.hear(at(101), [heard(102, '')])
    await changes.look()
    expect(asked).toEqual([0, 100, ...asked.slice(2)])
    expect(changes.position).toBe(102)
  })

  test('is not that of another history that a notification follows', async () => {
    const { place, changes, remember } = await following()
    place.records = [record(99, ''), { ...record(100, 'user:u'), at_ms: 7 }, record(101, '')]
    const remembered = remember()
    changes.hear({ sequence: 100, atMs: 7 }, [heard(101, '')])
    await changes.look()
    expect(changes.isTrue(remembered)).toBe(false)
  })

  test('stays where a notification is from the past, or comes twice', async () => {
    const { changes, remember } = await following()
    const remembered = remember()
    for (let time = 0; time < 2; time++) changes.hear(at(100), [heard(101, '')])
    changes.hear(at(90), [heard(91, '')])
    expect(changes.position).toBe(101)
    expect(changes.isTrue(remembered)).toBe(true)
  })

  test.each([
    ['a server that lacks the last changes', [record(90, '')]],
    ['a server that gave the number to another change', [{ ...record(100, ''), at_ms: 7 }, record(101, '')]],
    ['an archive that took the record', [record(103, '')]],
    ['an empty directory', []],
  ])('is that of %s, and everything counts as touched', async (_what, records) => {
    const { place, changes, remember } = await following()
    const remembered = remember()
    place.records = records
    changes.reconnected()
    await changes.look()
    const last = records.at(-1)?.sequence ?? 0
    expect(changes.position).toBe(last)
    expect(changes.isTrue(remembered)).toBe(false)
    // The next change of that server counts, whatever its number.
    const after = remember()
    place.records.push(record(last + 1, 'user:u'))
    await changes.look()
    expect(changes.isTrue(after)).toBe(false)
  })

  test('jumps where too much was missed, and everything counts as touched', async () => {
    const { place, changes, remember } = await following()
    const remembered = remember()
    for (let sequence = 101; sequence < 10_200; sequence++) place.records.push(record(sequence, ''))
    await changes.look()
    expect(changes.position).toBe(10_199)
    expect(changes.isTrue(remembered)).toBe(false)
  })
})

describe('how often something was touched', () => {
  test('counts a record once, though it was made here and is heard of and read', async () => {
    const { place, changes } = await following()
    const made = [heard(101, 'matrix:m'), heard(102, 'user:u')]
    place.records.push(record(101, 'matrix:m'), record(102, 'user:u'))
    const reading = changes.look()
    changes.touch(made)
    changes.hear(at(100), made)
    await reading
    await changes.look()
    expect(changes.state.touched).toMatchObject({ matrix: 1, user: 1, everything: 0 })
  })

  test('is known to a listener when it is notified', async () => {
    const { changes } = await following()
    const told: (number | undefined)[] = []
    changes.watch(() => told.push(changes.state.touched.everything))
    changes.reconnected()
    expect(told).toEqual([1])
  })
})
