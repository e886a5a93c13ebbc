/** How the tests run: everything but the interoperability tests, which need foreign software. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**'],
    // Two cores: two files at a time, each in a process of its own.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    // Packing, installing and starting servers happen in hooks.
    hookTimeout: 300_000,
  },
})
