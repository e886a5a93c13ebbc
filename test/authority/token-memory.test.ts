/** The tokens that are remembered, and those that are forgotten first. */
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { TokenMemory } from '../../sidecar/authority/token-memory.ts'

const digestOf = (name: string | number) => hash('sha256', String(name), 'base64')
const digests = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => digestOf(from + index))

describe('the memory of tokens', () => {
  test('knows nothing at first, and then what was set last', () => {
    const memory = new TokenMemory<{ readonly of: string }>(1_000)
    expect(memory.get(digestOf('one'))).toBeUndefined()
    memory.set(digestOf('one'), { of: 'one' })
    memory.set(digestOf('one'), { of: 'one again' })
    expect(memory.get(digestOf('one'))).toEqual({ of: 'one again' })
    expect(memory.get(digestOf('two'))).toBeUndefined()
    expect(memory.size).toBe(1)
    memory.clear()
    expect(memory.get(digestOf('one'))).toBeUndefined()
    expect(memory.size).toBe(0)
  })

  test.each([1, 640, 6_400])('has %d, whatever the order of use, and never more', (max) => {
    const memory = new TokenMemory<object>(max)
    const rotation = digests(max)
    for (const digest of rotation) memory.set(digest, {})
    for (const digest of [...rotation, ...rotation.toReversed()]) expect(memory.get(digest)).toBeDefined()
    for (const digest of digests(3 * max, max)) {
      memory.set(digest, {})
      expect(memory.size).toBe(max)
    }
  })

  test('keeps what is used while others come, and says what it forgets', () => {
    const forgotten: string[] = []
    const memory = new TokenMemory<object>(1_000, (digest) => forgotten.push(digest))
    const [used, unused] = [digests(500), digests(500, 500)]
    for (const digest of [...used, ...unused]) memory.set(digest, {})
    for (const digest of used) memory.get(digest)
    for (const digest of digests(500, 1_000)) memory.set(digest, {})
    const kept = used.filter((digest) => memory.get(digest) !== undefined).length
    expect(kept / used.length).toBeGreaterThan(0.95)
    expect(forgotten).toHaveLength(500)
    expect(forgotten.filter((digest) => memory.get(digest) !== undefined)).toEqual([])
  })

  test('a deleted token is not found, and its place is used again', () => {
    const memory = new TokenMemory<object>(2)
    const [one, two, three, four] = digests(4) as [string, string, string, string]
    for (const digest of [one, two]) memory.set(digest, {})
    memory.delete(one)
    memory.delete(one)
    expect([memory.get(one), memory.size]).toEqual([undefined, 1])
    memory.set(three, {})
    expect(memory.get(two)).toBeDefined()
    memory.set(four, {})
    expect(memory.size).toBe(2)
  })

  test('a token that is in use is never forgotten, whatever number of others comes', () => {
    const memory = new TokenMemory<object>(6_400)
    const used = digestOf('used')
    memory.set(used, {})
    for (const [index, digest] of digests(100_000).entries()) {
      memory.set(digest, {})
      if (index % 1_000 === 0) expect(memory.get(used)).toBeDefined()
    }
  })
})
