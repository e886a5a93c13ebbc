/**
 * How the interoperability tests run: clients in other languages are obtained once, then ask real sidecars.
 */
import { defineConfig } from 'vitest/config'
import { COMMON } from './vitest.common.ts'

export default defineConfig({
  test: {
    ...COMMON,
    globalSetup: [...COMMON.globalSetup, 'test/interop/setup.ts', 'test/interop/postgres/setup.ts'],
    include: ['test/interop/**/*.test.ts'],
    // Two cores: two files at a time, each in a process of its own.
    maxWorkers: 2,
  },
})
