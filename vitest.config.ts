/** How the tests run: everything but the interoperability tests, which need foreign software. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/**
 * Tests of what passwords cost, and of many logins at once. One of them replaces a module for all that its
 * process loads.
 */
const PASSWORDS = [
  'test/administration/callers.test.ts',
  'test/administration/passwords.test.ts',
  'test/administration/second-look.test.ts',
  'test/administration/throttle.test.ts',
  'test/identity/equal.test.ts',
  'test/sidecar/stream.test.ts',
]

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  test: {
    setupFiles: ['test/support/suite/setup.ts'],
    // A list that is wrong is printed with its lines: where CI ran, nothing else tells what failed.
    chaiConfig: { truncateThreshold: 2_000 },
    globalSetup: ['test/support/suite/console.ts'],
    // Two cores: three files at a time, in processes, because some wait for most of their time.
    pool: 'forks',
    maxWorkers: 3,
    // It only ends what hangs: on a busy machine everything takes its time.
    testTimeout: 120_000,
    // Packing, installing and starting servers happen in hooks.
    hookTimeout: 300_000,
    // Programs that tests start are compiled once, not each time.
    env: { NODE_COMPILE_CACHE: pathOf('node_modules/.cache/portcullis-test') },
    projects: [
      {
        extends: true,
        test: { name: 'passwords', include: PASSWORDS },
      },
      {
        extends: true,
        test: {
          name: 'others',
          include: ['test/**/*.test.ts'],
          exclude: ['test/interop/**', 'test/attack/**', ...PASSWORDS],
          // One file after the other in the same process: loading the sidecar anew takes as long as most
          // files do.
          isolate: false,
          sequence: { groupOrder: 1 },
        },
        resolve: {
          alias: [
            { find: './password-cost.ts', replacement: pathOf('test/support/suite/cheap-password-cost.ts') },
          ],
        },
      },
    ],
  },
})
