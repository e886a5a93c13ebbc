/**
 * How the interoperability tests run: clients in other languages are obtained once, then ask real sidecars.
 */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    setupFiles: ['test/support/suite/setup.ts'],
    // A list that is wrong is printed with its lines: where CI ran, nothing else tells what failed.
    chaiConfig: { truncateThreshold: 2_000 },
    include: ['test/interop/**/*.test.ts'],
    globalSetup: ['test/support/suite/console.ts', 'test/interop/setup.ts', 'test/interop/postgres/setup.ts'],
    // Two cores: two files at a time, each in a process of its own.
    pool: 'forks',
    maxWorkers: 2,
    // They only end what hangs: on a busy machine everything takes its time.
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
})
