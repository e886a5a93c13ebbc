/**
 * How the tests of `.ci/nightly` run: what is random, long or judged by a clock. Attacks are measured against
 * the quiet before them, so everything runs one after the other.
 */
import { defineConfig } from 'vitest/config'
import { COMMON } from './vitest.common.ts'

export default defineConfig({
  test: {
    ...COMMON,
    globalSetup: [...COMMON.globalSetup, 'test/interop/setup.ts', 'test/interop/postgres/setup.ts'],
    include: ['test/nightly/**/*.test.ts', 'test/attack/**/*.test.ts'],
    maxWorkers: 1,
    fileParallelism: false,
  },
})
