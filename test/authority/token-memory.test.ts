/** What is remembered of tokens, and what is forgotten first. */
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

  test.each([640, 6_400])('never has more than %d, and keeps the third that was used last', (max) => {
    const memory = new TokenMemory<object>(max)
    const all = digests(4 * max)
    let most = 0
    for (const digest of all) {
      memory.set(digest, {})
      most = Math.max(most, memory.size)
    }
    expect(most).toBeLessThanOrEqual(max)
    // The 64 parts fill up at different times, so a small one can lose some of its half.
    const last = all.slice(-max / 3)
    const kept = last.filter((digest) => memory.get(digest) !== undefined).length
    expect(kept / last.length).toBeGreaterThan(max < 6_400 ? 0.9 : 0.999)
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

  test('what is replaced while it is old is not found again as it was', () => {
    const memory = new TokenMemory<{ readonly version: number }>(128)
    const one = digestOf('one')
    memory.set(one, { version: 1 })
    // Others with the same first character make it old.
    const same = digests(10_000).filter((digest) => digest[0] === one[0])
    memory.set(same[0] as string, { version: 0 })
    memory.set(one, { version: 2 })
    expect(memory.get(one)).toEqual({ version: 2 })
    for (const digest of same.slice(1, 3)) memory.set(digest, { version: 0 })
    expect([undefined, { version: 2 }]).toContainEqual(memory.get(one))
  })
})
