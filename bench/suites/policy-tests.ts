/**
 * Policy tests in this process. The time of a question, with its expectation and its coverage, is compared
 * with that of the decision alone.
 */
import { compile, type Engine } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import {
  Coverage,
  nameOf,
  type PolicyTests,
  runTests,
  type Surroundings,
} from '../../matrix/policy-tests/index.ts'
import { interleave, median } from '../harness/compare.ts'
import { comparedRow } from '../harness/rows.ts'
import { secondsPerRun } from '../harness/stopwatch.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { cellQuestions } from '../workloads/questions.ts'

export const policyTestsSuite: Suite = { name: 'policy-tests', run }

const SIZES = {
  full: { pairs: 201, sampleSeconds: 0.005 },
  smoke: { pairs: 3, sampleSeconds: 0.0005 },
} as const

const METHOD =
  'benchmark.js times a function that runs the tests of all 90 cells in both modes, with coverage, and the time is divided by 180. B asks `engine.decide` the same questions, made beforehand, and reads `allowed`. A and B take turns, and the ratio is the median over the pairs. Reading the file is not part of it.'

async function run(size: Size): Promise<SuiteReport> {
  const engines = { lenient: compile(supportMatrix), strict: compile(supportMatrix, { strict: true }) }
  const both: readonly Engine[] = [engines.lenient, engines.strict]
  const questions = cellQuestions(engines.lenient)
  const surroundings: Surroundings = { engines, mode: 'lenient', coverage: new Coverage(engines) }
  const documents = { rows: rowByRow(surroundings), table: asTable(surroundings) }
  const calls = questions.length * both.length
  for (const tests of Object.values(documents)) refuseFailures(tests, surroundings, calls)

  const nsOf = (work: () => void) => () => (secondsPerRun(work, SIZES[size].sampleSeconds) / calls) * 1e9
  const samples = await interleave(
    {
      rows: nsOf(() => void runTests(documents.rows, surroundings)),
      table: nsOf(() => void runTests(documents.table, surroundings)),
      decide: nsOf(() => {
        let allowed = 0
        for (const question of questions)
          for (const engine of both) if (engine.decide(question).allowed) allowed++
        if (allowed === 0) throw new Error('expected that some cells open')
      }),
    },
    SIZES[size].pairs,
  )
  const rowOf = (id: keyof typeof documents, what: string): Row =>
    comparedRow(
      { id, what, method: METHOD },
      'ns',
      { name: what, samples: samples[id], perSecond: 1e9 / median(samples[id]) },
      { name: 'decide', samples: samples.decide },
    )
  return {
    rows: [
      rowOf('rows', 'a question of a test of one cell'),
      rowOf('table', 'a question of a row of the table'),
    ],
    answersChecked: calls * Object.keys(documents).length,
  }
}

/** A test for each cell. */
function rowByRow({ engines }: Surroundings): PolicyTests {
  const tests = cellQuestions(engines.lenient).flatMap(({ api, kind, scope }) =>
    (['lenient', 'strict'] as const).map((mode) => {
      const { allowed, reason } = engines[mode].decide({ api, kind, scope })
      return { api, kind, scope, mode, allowed, reason }
    }),
  )
  return { tests }
}

/** A test for each API in each mode, of all kinds. */
function asTable({ engines }: Surroundings): PolicyTests {
  const tests = (['lenient', 'strict'] as const).flatMap((mode) =>
    Array.from(engines[mode].apis.values(), ({ id, accepted }) => ({
      ...{ api: id, mode },
      accepted: accepted.map(({ kind }) => kind),
    })),
  )
  return { tests }
}

/** @throws Error if a test fails, or another number of questions is asked */
function refuseFailures(tests: PolicyTests, surroundings: Surroundings, questions: number): void {
  const results = runTests(tests, surroundings)
  const asked = results.reduce((sum, result) => sum + result.questions, 0)
  if (asked !== questions) throw new Error(`expected ${questions} questions, found ${asked}`)
  const failed = results.find((result) => result.failed > 0)
  if (failed !== undefined) throw new Error(`a wrong answer: ${nameOf(failed.test)}`)
}
