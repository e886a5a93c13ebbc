/** A day of operation by a fast clock, at its smallest size. In earnest: `npm run day`. */
import { describe, expect, test } from 'vitest'
import { obtainFaketime } from '../day/clock.ts'
import { live } from '../day/day.ts'
import { run } from '../support/interop/command.ts'
import { obtained } from '../support/interop/obtain.ts'
import { defectsOf, moduleOf } from '../world/defects.ts'

const openssl = await obtained('openssl', () => run('openssl', ['version']))
const faketime = await obtained('libfaketime', obtainFaketime)

describe.runIf(faketime.ok && openssl.ok)('a day', () => {
  const library = faketime.ok ? faketime.value : ''

  test('breaks no promise, and does not grow by its end', { timeout: 0 }, async () => {
    const found = await live(library, { forMs: 45_000, seed: 1 })
    const { allowed, denied, acknowledged, logins, memoryFirst, memorySecond } = found
    for (const count of [allowed, denied, acknowledged, memoryFirst, memorySecond])
      expect(count).toBeGreaterThan(50)
    expect(logins).toBeGreaterThan(0)
  })

  test.each(defectsOf('fast clock'))('finds: $name', { timeout: 0 }, async ({ name }) => {
    const living = live(library, { forMs: 45_000, seed: 1, planted: [moduleOf(name)] })
    await expect(living).rejects.toThrow(/was ended/)
  })
})
