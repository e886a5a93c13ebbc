/** How the tests run: everything but the interoperability tests, which need foreign software. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Files that replace a module for everybody in their process. */
const ALONE = ['test/identity/equal.test.ts']

export default defineConfig({
  test: {
    setupFiles: ['test/support/setup.ts'],
    // Two cores: two files at a time, in processes.
    pool: 'forks',
    maxWorkers: 2,
    // It only ends what hangs: on a busy machine everything takes its time.
    testTimeout: 120_000,
    // Packing, installing and starting servers happen in hooks.
    hookTimeout: 300_000,
    // Programs that tests start are compiled once, not each time.
    env: {
      NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/portcullis-test', import.meta.url)),
    },
    projects: [
      {
        extends: true,
        test: { name: 'alone', include: ALONE },
      },
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: ['test/interop/**', ...ALONE],
          // One file after the other in the same process: loading the sidecar anew takes as long as most files do.
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
