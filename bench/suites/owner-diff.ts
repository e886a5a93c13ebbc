/**
 * The questions about all of a large matrix: the cells that a change flips, and the cells that an
 * expression fits. It is compared with compiling the matrix once.
 */
import { compile, type Matrix } from '../../engine/index.ts'
import { compareMatrices, queryMatrix } from '../../matrix/index.ts'
import { interleave } from '../harness/compare.ts'
import { comparedRow } from '../harness/rows.ts'
import type { Row, Size, SuiteReport } from '../harness/suite.ts'
import { enlargedMatrix } from '../workloads/matrices.ts'

const SIZES = {
  full: { apis: 100_000, kinds: 16, rounds: 5 },
  smoke: { apis: 300, kinds: 4, rounds: 2 },
} as const

/** One API in this number accepts a kind less in the other matrix. */
const CHANGED_EACH = 100

/** It looks at every cell in both modes, at the API and at the kind. */
const EXPRESSION = 'allowed and not strict.allowed or scope = project and opened by static_token'

const method = (apis: number, kinds: number) =>
  `The shipped matrix enlarged by copies to ${apis.toLocaleString('en')} APIs × ${kinds} kinds, in this process. A and B take turns, and the ratio is the median over the rounds.`

export async function diffRows(size: Size): Promise<SuiteReport> {
  const { apis, kinds, rounds } = SIZES[size]
  const matrix = enlargedMatrix({ apis, kinds })
  const other = changed(matrix)
  const flips = Math.ceil(apis / CHANGED_EACH)
  if (compareMatrices(matrix, other).flips.length !== flips)
    throw new Error(`expected ${flips} cells to close`)
  const asked = askedOf(matrix)
  const samples = await interleave(
    {
      compile: () => millisecondsOf(() => compile(matrix)),
      diff: () => millisecondsOf(() => compareMatrices(matrix, other)),
      query: () => millisecondsOf(() => queryMatrix(matrix, EXPRESSION)),
    },
    rounds,
  )
  const row = (id: 'diff' | 'query', what: string, how: string): Row =>
    comparedRow(
      { id, what, method: `${how} ${method(apis, kinds)}` },
      'ms',
      { name: id, samples: samples[id] },
      { name: 'compile', samples: samples.compile },
    )
  return {
    rows: [
      row(
        'diff',
        `two matrices of ${apis.toLocaleString('en')} APIs compared`,
        `Both modes and all lists are compared; one API in ${CHANGED_EACH} takes a kind less.`,
      ),
      row(
        'query',
        `a query of ${apis.toLocaleString('en')} APIs`,
        `The expression is \`${EXPRESSION}\`; it fits ${asked.toLocaleString('en')} cells.`,
      ),
    ],
    answersChecked: flips + asked,
  }
}

/** How many cells the expression fits. @throws Error where another look at the rows finds other cells */
function askedOf(matrix: Matrix): number {
  const { tokenKinds, apis, conflicts } = matrix
  const projects = tokenKinds.filter(({ scopeLevel }) => scopeLevel === 'project')
  const expected = new Set(
    conflicts.flatMap(({ cells, resolution }) =>
      cells
        .filter(({ api, kind }) => {
          const isMarked = apis.some(({ id, accepts }) => id === api && accepts.includes(kind))
          return isMarked !== (resolution === 'prose')
        })
        .map(({ api, kind }) => `${api} ${kind}`),
    ),
  )
  for (const { id, accepts } of apis)
    if (accepts.includes('static_token')) for (const kind of projects) expected.add(`${id} ${kind.id}`)
  const answer = queryMatrix(matrix, EXPRESSION)
  const found = answer.about === 'cells' ? answer.cells.map(({ api, kind }) => `${api} ${kind}`) : []
  if (found.length !== expected.size || !found.every((cell) => expected.has(cell)))
    throw new Error(`expected ${expected.size} cells, found ${found.length}`)
  return found.length
}

/** Another matrix in memory, as if it was read from another file. */
function changed(matrix: Matrix): Matrix {
  const copy = structuredClone(matrix)
  const apis = copy.apis.map((api, index) =>
    index % CHANGED_EACH === 0 ? { ...api, accepts: api.accepts.slice(1) } : api,
  )
  return { ...copy, apis }
}

function millisecondsOf(work: () => unknown): number {
  const start = performance.now()
  work()
  return performance.now() - start
}
