/** The command that measures sizes runs, at a tiny size. */
import { afterAll, expect, test, vi } from 'vitest'
import { measureSize } from '../../bench/sizing.ts'
import { benchHere } from './here.ts'

benchHere()
afterAll(() => vi.restoreAllMocks())

test('a directory is made, served and measured', async () => {
  for (const figure of Object.values(await measureSize({ users: 3, tokens: 5 })))
    expect(figure).toBeGreaterThan(0)
})
