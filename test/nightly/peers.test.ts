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
import { missing } from '../support/interop/obtain.ts'

const folder = join(repository, 'bench', 'peers')
const packages = await installPeers(folder)
const withPeers = suites.filter(({ needs }) => needs === 'peers')

test.each(withPeers)('the $name suite runs, checks its answers and produces its rows', async (suite) => {
  for (const { row, why } of await runAtSmokeSize(suite)) missing(`${suite.name}/${row}`, why)
})

test.skipIf(!packages.ok)('the programs of bench/peers pass the type check', async () => {
  const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc')
  expect(await run(process.execPath, [tsc, '--project', folder])).toBe('')
})
