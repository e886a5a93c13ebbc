/** How `npm test` runs: everything that needs only Node, and gives the same verdict on any machine. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { COMMON } from './vitest.common.ts'

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  test: {
    ...COMMON,
    // Two cores: three files at a time, in processes, because some wait for most of their time.
    maxWorkers: 3,
    // Programs that tests start are compiled once, not each time.
    env: { NODE_COMPILE_CACHE: pathOf('node_modules/.cache/portcullis-test') },
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**', 'test/nightly/**', 'test/attack/**'],
    // One file after the other in the same process: loading the sidecar anew takes as long as most files do.
    isolate: false,
  },
  resolve: {
    alias: [{ find: './password-cost.ts', replacement: pathOf('test/support/suite/cheap-password-cost.ts') }],
  },
})
