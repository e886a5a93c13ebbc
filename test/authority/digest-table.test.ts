/** The digests of verified tokens that are kept outside the heap. */
import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { DigestTable } from '../../sidecar/authority/digest-table.ts'

const digests = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => hash('sha256', String(from + index), 'buffer'))

test('a table has what was added while it grows, and nothing else', () => {
  const table = new DigestTable(2 ** 20)
  const [added, others] = [digests(50_000), digests(50_000, 50_000)]
  for (const digest of added) table.set(digest, 7)
  expect(added.filter((digest) => table.get(digest) !== 7)).toEqual([])
  expect(others.filter((digest) => table.get(digest) !== undefined)).toEqual([])
})

test('a digest differs from one with another bit among its first 127', () => {
  const table = new DigestTable()
  const [digest] = digests(1) as [Buffer]
  table.set(digest, 7)
  const found = Array.from({ length: 128 }, (_, bit) => {
    const other = Buffer.from(digest)
    other[bit >> 3] = (other[bit >> 3] as number) ^ (1 << (bit & 7))
    return table.get(other) !== undefined ? bit : -1
  })
  expect(found.filter((bit) => bit >= 0)).toEqual([0])
})

test('a table is almost full before a digest takes the place of another', () => {
  const room = 2 ** 16
  const table = new DigestTable(room)
  const all = digests(0.8 * room)
  for (const digest of all) table.set(digest, 7)
  expect(all.filter((digest) => table.get(digest) === undefined).length).toBeLessThan(room / 500)
})

test('a full table takes each new digest in place of an older one', () => {
  const table = new DigestTable(1_024)
  const all = digests(20_000)
  for (const digest of all) {
    table.set(digest, 7)
    table.set(digest, 2 ** 32 - 1)
    expect(table.get(digest)).toBe(2 ** 32 - 1)
  }
  const kept = all.filter((digest) => table.get(digest) !== undefined).length
  expect(kept).toBeGreaterThan(1_000)
  expect(kept).toBeLessThanOrEqual(1_024)
  table.clear()
  expect(all.some((digest) => table.get(digest) !== undefined)).toBe(false)
})
