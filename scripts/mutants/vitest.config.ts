/** How tests run that judge changed code: the files that are named, in this order, in one process. */
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const ROOT = join(import.meta.dirname, '../..')
const TESTS = (process.env.MUTANTS_TESTS ?? '').split(' ')

/** Those that find most, soonest: Stryker ends the run at the first test that fails. */
class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) =>
      TESTS.findIndex((path) => moduleId.endsWith(`/${path}`))
    return files.toSorted((one, other) => place(one) - place(other))
  }
}

/** How many inputs a property gets. */
const RUNS = 20

/**
 * Random inputs are the same few in each run: a mutant that was killed once is killed always, and soon.
 * The input that killed it is not read, so none is shrunk.
 */
const fewInputs: Plugin = {
  name: 'few-inputs',
  transform(code, id) {
    if (!id.startsWith(join(ROOT, 'test')) || !code.includes("from 'fast-check'")) return undefined
    const few = code.replace(/\bnumRuns: [\d_]+/g, `numRuns: ${RUNS}`)
    return `${few}\nfc.configureGlobal({ seed: 1, numRuns: ${RUNS}, endOnFailure: true })\n`
  },
}

export default defineConfig({
  plugins: [fewInputs],
  test: {
    root: ROOT,
    include: TESTS,
    setupFiles: [join(ROOT, 'test/support/suite/setup.ts')],
    sequence: { sequencer: InOrder },
    pool: 'threads',
    isolate: false,
    testTimeout: 120_000,
    env: { DECIDE_CALLS: '2000' },
  },
  resolve: {
    alias: [
      { find: './password-cost.ts', replacement: join(ROOT, 'test/support/suite/cheap-password-cost.ts') },
    ],
  },
})
