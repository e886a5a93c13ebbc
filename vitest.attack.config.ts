/**
 * How the attacks run: each against a real sidecar in a process of its own, while a neighbour and an operator
 * go on working.
 */
import { defineConfig } from 'vitest/config'

/** Tests of `npm test` that run here again, at another size. With `npm run docs:attack` they do not. */
const LARGER: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'test/engine/hostile.test.ts': { DECIDE_CALLS: 20_000_000 },
  'test/sidecar/hostile-checks.test.ts': { CHECKS: 1_000_000 },
  'test/kills/kills.test.ts': { KILLS: 40 },
  'test/http2/fuzz.test.ts': { HTTP2_FUZZ_FRAMES: 2_000_000 },
}

export default defineConfig(({ mode }) => {
  const measures = mode === 'docs'
  const sizes = Object.assign({}, ...Object.values(LARGER)) as Record<string, number>
  return {
    test: {
      setupFiles: ['test/support/suite/setup.ts'],
      // A list that is wrong is printed with its lines: where CI ran, nothing else tells what failed.
      chaiConfig: { truncateThreshold: 2_000 },
      include: ['test/attack/**/*.test.ts', ...(measures ? [] : Object.keys(LARGER))],
      env: {
        // `npm run docs:attack` keeps the figures for the page.
        ATTACK_RESULTS: measures ? 'record' : '',
        // A size that somebody sets stays.
        ...Object.fromEntries(
          Object.entries(sizes).map(([name, size]) => [name, process.env[name] ?? String(size)]),
        ),
      },
      // One after the other: what they measure is a ratio to the quiet before the attack.
      pool: 'forks',
      maxWorkers: 1,
      fileParallelism: false,
      // It only ends what hangs.
      testTimeout: 120_000,
      hookTimeout: 120_000,
    },
  }
})
