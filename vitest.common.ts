/** What the configurations of Vitest have in common. */

/**
 * It only ends what hangs, after the limit of each step (test/support/suite/resources.ts). Tests set no limit
 * of their own (test/architecture/time.test.ts).
 */
const HANGS_MS = 60 * 60_000

export const COMMON = {
  setupFiles: ['test/support/suite/setup.ts'],
  globalSetup: ['test/support/suite/generated.ts'],
  reporters: ['default', './test/support/suite/report.ts'],
  // A list that is wrong is printed with its lines: where CI ran, nothing else tells what failed.
  chaiConfig: { truncateThreshold: 2_000 },
  pool: 'forks' as const,
  testTimeout: HANGS_MS,
  // Packing, installing and starting servers happen in hooks.
  hookTimeout: HANGS_MS,
}
