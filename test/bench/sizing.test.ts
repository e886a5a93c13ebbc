/** The command that measures sizes runs, at a tiny size. */
import { expect, test } from 'vitest'
import { measureSize } from '../../bench/sizing.ts'

test('a directory is made, served and measured', async () => {
  const { fileBytes, readyMs, idleBytes, usedBytes } = await measureSize({ users: 3, tokens: 5 })
  for (const figure of [fileBytes, readyMs, idleBytes, usedBytes]) expect(figure).toBeGreaterThan(0)
})
