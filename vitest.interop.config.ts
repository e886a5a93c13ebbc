/** How the interoperability tests run: clients in other languages are obtained once, then ask real sidecars. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/interop/**/*.test.ts'],
    globalSetup: ['test/interop/setup.ts', 'test/interop/postgres/setup.ts'],
    // Two cores: two files at a time, each in a process of its own.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
