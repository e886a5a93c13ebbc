/** How the tests run: everything but the interoperability tests, which need foreign software. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**'],
    // Two cores: two files at a time, each in a process of its own.
    pool: 'forks',
    maxWorkers: 2,
    // It only ends what hangs: on a busy machine everything takes its time.
    testTimeout: 120_000,
    // Packing, installing and starting servers happen in hooks.
    hookTimeout: 300_000,
  },
})
