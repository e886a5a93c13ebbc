/** Linting a large matrix, beside compiling it. */
import { compile, type Matrix } from '../../engine/index.ts'
import { findingsOf, lintFile } from '../../matrix/index.ts'
import { interleave } from '../harness/compare.ts'
import { comparedRow } from '../harness/rows.ts'
import type { Size, SuiteReport } from '../harness/suite.ts'
import { enlargedFile, type MatrixSize } from '../workloads/matrices.ts'

const SIZES = {
  full: { apis: 100_000, kinds: 16, rounds: 3 },
  smoke: { apis: 300, kinds: 16, rounds: 1 },
} as const

const methodOf = ({ apis, kinds }: MatrixSize) =>
  `The shipped matrix enlarged by copies to ${apis.toLocaleString('en')} APIs and ${kinds} kinds, with two ids of APIs that differ in a mark. A and B take turns, once each a round.`

export async function lintRows(size: Size): Promise<SuiteReport> {
  const { rounds, ...shape } = SIZES[size]
  const matrix = withSlip(enlargedFile(shape, 'large'))
  const text = JSON.stringify(matrix)
  const measures = {
    lint: () => timeOf(() => refuseOtherFindings(findingsOf(matrix))),
    file: () => timeOf(() => refuseOtherFindings(lintFile(text))),
    compile: () => timeOf(() => compile(matrix)),
  }
  await interleave(measures, 1)
  const samples = await interleave(measures, rounds)
  const compiled = { name: 'compile', samples: samples.compile }
  const texts = { method: methodOf(shape) }
  return {
    rows: [
      comparedRow(
        { ...texts, id: 'lint', what: 'lint a large matrix' },
        'ms',
        { name: 'all findings', samples: samples.lint },
        compiled,
      ),
      comparedRow(
        { ...texts, id: 'lint-file', what: 'read its file, and lint it' },
        'ms',
        { name: 'JSON, and all findings', samples: samples.file },
        compiled,
      ),
    ],
    answersChecked: 2,
  }
}

/** With similar ids in the last rows, so that who finds them has looked at all; and without other faults. */
function withSlip(matrix: Matrix): Matrix {
  const rows = matrix.apis.slice(-2).map((api, index) => ({ ...api, id: `similar${'-_'[index]}row` }))
  const apis = [...matrix.apis.slice(0, -2), ...rows]
  // The control panel creates one kind, and not its copies.
  const tokenKinds = matrix.tokenKinds.map((kind) => ({ ...kind, obtained: { by: 'issue' as const } }))
  return { ...matrix, tokenKinds, apis }
}

/** @throws Error where the linter found something else than the two ids */
function refuseOtherFindings({ problems, warnings }: ReturnType<typeof findingsOf>): void {
  const codes = [...problems, ...warnings].map(({ code }) => code)
  if (codes.join() !== 'similar-ids') throw new Error(`expected similar-ids alone, found ${codes.join()}`)
}

function timeOf(work: () => void): number {
  const start = performance.now()
  work()
  return performance.now() - start
}
