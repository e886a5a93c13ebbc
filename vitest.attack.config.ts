/** How the attacks run: each against a real sidecar in a process of its own, while a neighbour and an operator go on working. */
import { defineConfig } from 'vitest/config'

export default defineConfig(({ mode }) => ({
  test: {
    setupFiles: ['test/support/setup.ts'],
    include: ['test/attack/**/*.test.ts'],
    // `npm run docs:attack` keeps the figures for the page.
    env: { ATTACK_RESULTS: mode === 'docs' ? 'record' : '' },
    // One after the other: what they measure is a ratio to the quiet before the attack.
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    // It only ends what hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
}))
