/** The command that measures sizes runs, at a tiny size. */
import { expect, test } from 'vitest'
import { measureSize } from '../../bench/sizing.ts'

test('a directory is made, served and measured', async () => {
  for (const figure of Object.values(await measureSize({ users: 3, tokens: 5 })))
    expect(figure).toBeGreaterThan(0)
})
