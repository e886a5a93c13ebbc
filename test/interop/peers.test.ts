/**
 * The benchmark suites that compare us with other software, at a tiny size, and the types of their programs.
 * Software that cannot be obtained is skipped, and a printed line says why.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { installPeers } from '../../bench/harness/install.ts'
import { suites } from '../../bench/suites/index.ts'
import { runAtSmokeSize } from '../bench/expected.ts'
import { repository, run } from '../support/interop/command.ts'

/** The first run compiles OPA and uWSGI. */
const TEST_MS_MAX = 600_000

const folder = join(repository, 'bench', 'peers')
const packages = await installPeers(folder)
// Those of the clients take minutes to compile: `npm run test:clients` has them.
const withPeers = suites.filter(({ needs, onlyByName }) => needs === 'peers' && onlyByName !== true)

test.each(withPeers)(
  'the $name suite runs, checks its answers and produces its rows',
  {
    timeout: TEST_MS_MAX,
  },
  async (suite) => {
    for (const { row, why } of await runAtSmokeSize(suite))
      process.stderr.write(`interop: ${suite.name}/${row} is skipped: ${why}\n`)
  },
)

test.skipIf(!packages.ok)('the programs of bench/peers pass the type check', async () => {
  const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc')
  expect(await run(process.execPath, [tsc, '--project', folder])).toBe('')
})
