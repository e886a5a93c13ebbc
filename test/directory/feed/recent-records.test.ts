/** The records for those who follow from outside: which are kept, and what has a place among them. */
import { expect, test } from 'vitest'
import { RecentRecords } from '../../../sidecar/directory/feed/recent-records.ts'

const at = (sequence: number) => ({ sequence, atMs: 1_000 + sequence })
const record = (sequence: number) => ({ ...at(sequence), account: 'a', touched: 'nothing' as const })

function following(count: number): RecentRecords {
  const records = new RecentRecords(at(100))
  for (let sequence = 101; sequence <= 100 + count; sequence++) records.add(record(sequence))
  return records
}

test('a position that is kept has the place after it, and what came after that can be read', () => {
  const records = following(3)
  expect(records.placeAfter(at(100))).toBe(0)
  expect(records.from(0)).toEqual([record(101), record(102), record(103)])
  const place = records.placeAfter(at(102)) ?? -1
  expect(records.from(place)).toEqual([record(103)])
  expect(records.from(records.end)).toEqual([])
})

test.each([
  ['older than the first one', at(99)],
  ['of the future', at(104)],
  ['with the time of another directory', { sequence: 102, atMs: 7 }],
  ['that the directory never had', { sequence: 102.5, atMs: 1_102.5 }],
])('a position %s has no place', (_what, position) => {
  expect(following(3).placeAfter(position)).toBeUndefined()
})

test('numbers may have gaps', () => {
  const records = new RecentRecords(at(100))
  for (const sequence of [105, 140]) records.add(record(sequence))
  expect(records.placeAfter(at(105))).toBe(1)
  expect(records.placeAfter(at(120))).toBeUndefined()
})

test('at most 20,000 are kept, and the newest 10,000 always', () => {
  const records = following(35_000)
  const last = 35_100
  expect(records.placeAfter(at(last))).toBe(records.end)
  expect(records.from(records.end - 10_000)).toHaveLength(10_000)
  expect(records.placeAfter(at(last - 10_000))).toBe(records.end - 10_000)
  expect(records.from(0)).toBeUndefined()
  expect(records.from(records.end - 20_001)).toBeUndefined()
})

test('after everything was forgotten, no earlier place counts, not even the last one', () => {
  const records = following(3)
  const { end } = records
  records.startAgain(at(103))
  expect(records.from(end)).toBeUndefined()
  expect(records.placeAfter(at(102))).toBeUndefined()
  expect(records.placeAfter(at(103))).toBe(records.end)
  records.add(record(104))
  expect(records.from(records.placeAfter(at(103)) ?? -1)).toEqual([record(104)])
})
