/**
 * How the cost of a decision grows with the matrix, compared with plain Maps of the same size and the same
 * questions.
 */
import { join } from 'node:path'
import type { Question } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { interleave, type Measure } from '../harness/compare.ts'
import { runProgram } from '../harness/program.ts'
import { comparedRow, singleRow } from '../harness/rows.ts'
import type { Row, SuiteReport } from '../harness/suite.ts'
import { enlargedEngine, enlargedMatrix, type MatrixSize, shuffledQuestions } from '../workloads/matrices.ts'
import { decisionMaps, refuseWrongDecisions } from '../workloads/questions.ts'
import type { CompileCost } from './compile-cost.ts'

export interface DecideSizes {
  /** Numbers of APIs, the smallest first, each with the shipped kinds. */
  readonly apis: readonly number[]
  /** Numbers of kinds, each with the shipped APIs. */
  readonly kinds: readonly number[]
  readonly rounds: number
  /** The least questions of a sample. */
  readonly questions: number
}

const COST_METHOD =
  'Every cell of the shipped matrix enlarged by copies, each once, in a shuffled order that is the same for both. The ids in the questions are new strings, and `allowed` of each answer is read. The Maps are one Map by API that holds Maps by kind with the same decisions. A and B take turns, and the ratio is the median over the rounds.'
const SLOWDOWN_METHOD =
  'From the same samples: how many times slower decide is at the larger size, divided by how many times slower the Maps are, round by round.'
const COMPILE_METHOD =
  'Time of compiling in a separate process, the median if it is repeated (bench/suites/compile-cost.ts), divided by the APIs. The ratio is of one process each. The decisions of the small matrix are built, and those of the large one are built when they are asked for.'
const HEAP_METHOD =
  'Growth of the collected heap by one engine of that size, in a separate process (bench/suites/compile-cost.ts), divided by the APIs. No decision is built yet.'

/** Nanoseconds a question, one sample a round. */
interface Samples {
  readonly decide: readonly number[]
  readonly maps: readonly number[]
}

/** The samples of a size. */
type SamplesAt = (size: MatrixSize) => Samples

export async function growthOfDecide(sizes: DecideSizes): Promise<SuiteReport> {
  const matrices = [...sizes.apis.map(withApis), ...sizes.kinds.map(withKinds)]
  const { samplesAt, answersChecked } = await measureDecide(matrices, sizes)
  return {
    rows: [
      ...apiRows(sizes.apis, samplesAt),
      ...kindRows(sizes.kinds, samplesAt),
      ...(await compileRows(sizes)),
    ],
    answersChecked,
  }
}

/** Measures all sizes in turns. */
async function measureDecide(
  matrices: readonly MatrixSize[],
  { rounds, questions: questionsMin }: DecideSizes,
): Promise<{ readonly samplesAt: SamplesAt; readonly answersChecked: number }> {
  const measures: Record<string, Measure> = {}
  let answersChecked = 0
  for (const size of matrices) {
    // Both series may begin with the shipped matrix.
    if (`decide ${nameOf(size)}` in measures) continue
    const engine = enlargedEngine(size)
    const questions = shuffledQuestions(engine)
    refuseWrongDecisions(engine, enlargedMatrix(size), questions)
    answersChecked += questions.length
    const passes = Math.ceil(questionsMin / questions.length)
    const table = decisionMaps(engine, questions)
    measures[`decide ${nameOf(size)}`] = () =>
      nsPerQuestion(questions, passes, (question) => engine.decide(question).allowed)
    measures[`maps ${nameOf(size)}`] = () =>
      nsPerQuestion(questions, passes, ({ api, kind }) => table.get(api)?.get(kind)?.allowed)
  }
  // One round as a warm-up, so that the compiler has seen every size before the first figure.
  await interleave(measures, 1)
  const samples = await interleave(measures, rounds)
  const samplesAt = (size: MatrixSize): Samples => ({
    decide: samples[`decide ${nameOf(size)}`] as number[],
    maps: samples[`maps ${nameOf(size)}`] as number[],
  })
  return { samplesAt, answersChecked }
}

/** The cost at each number of APIs, and the slowdown from the first to each of the others. */
function apiRows(apis: readonly number[], samplesAt: SamplesAt): Row[] {
  const [fewest = 0, ...more] = apis
  const rowOf = (count: number) =>
    costRow(`decide-${count}-apis`, `decide, ${text(count)} APIs`, samplesAt(withApis(count)))
  const slowdownOf = (count: number) =>
    slowdownRow(
      count === apis.at(-1) ? 'slowdown-apis' : `slowdown-${count}-apis`,
      `${text(fewest)} → ${text(count)} APIs`,
      samplesAt(withApis(fewest)),
      samplesAt(withApis(count)),
    )
  return [...apis.map(rowOf), ...more.map(slowdownOf)]
}

function kindRows(kinds: readonly number[], samplesAt: SamplesAt): Row[] {
  const [few, many] = [kinds[0] ?? 0, kinds.at(-1) ?? 0]
  const [small, large] = [samplesAt(withKinds(few)), samplesAt(withKinds(many))]
  return [
    costRow(`decide-${many}-kinds`, `decide, ${many} kinds of token`, large),
    slowdownRow('slowdown-kinds', `${few} → ${many} kinds`, small, large),
  ]
}

/** Time and memory of compiling the largest matrix. */
async function compileRows({ apis }: DecideSizes): Promise<Row[]> {
  // Compared with the next smaller size: at the smallest, what is compiled once for all APIs would dominate.
  const [fewer, many] = [apis.at(-2) ?? 0, apis.at(-1) ?? 0]
  const [small, large] = [await compileCost(fewer), await compileCost(many)]
  return [
    comparedRow(
      { id: 'compile-large', what: `compile ${text(many)} APIs, for each API`, method: COMPILE_METHOD },
      'µs',
      { name: 'compile', samples: [large.microsecondsPerApi] },
      { name: `${text(fewer)} APIs`, samples: [small.microsecondsPerApi] },
    ),
    singleRow(
      { id: 'compiled-memory', what: `an engine of ${text(many)} APIs, for each API`, method: HEAP_METHOD },
      { name: 'engine', value: large.bytesPerApi, unit: 'bytes' },
    ),
  ]
}

function costRow(id: string, what: string, { decide, maps }: Samples): Row {
  return comparedRow(
    { id, what, method: COST_METHOD },
    'ns',
    { name: 'decide', samples: decide },
    { name: 'two Map.get', samples: maps },
  )
}

function slowdownRow(id: string, sizes: string, small: Samples, large: Samples): Row {
  const times = (contender: keyof Samples) =>
    large[contender].map((sample, round) => sample / (small[contender][round] as number))
  return comparedRow(
    { id, what: `slowdown of decide, ${sizes}`, method: SLOWDOWN_METHOD },
    '×',
    { name: 'decide', samples: times('decide') },
    { name: 'two Map.get', samples: times('maps') },
  )
}

function nsPerQuestion(
  questions: readonly Question[],
  passes: number,
  answer: (question: Question) => boolean | undefined,
): number {
  let allowed = 0
  const start = performance.now()
  for (let pass = 0; pass < passes; pass++) for (const question of questions) if (answer(question)) allowed++
  const milliseconds = performance.now() - start
  if (allowed === 0) throw new Error('expected some questions to be allowed')
  return (milliseconds * 1e6) / (questions.length * passes)
}

function compileCost(apis: number): Promise<CompileCost> {
  return runProgram(join(import.meta.dirname, 'compile-cost.ts'), [String(apis)], ['--expose-gc'])
}

/** So many APIs with the shipped kinds. */
function withApis(apis: number): MatrixSize {
  return { apis, kinds: supportMatrix.tokenKinds.length }
}

/** So many kinds with the shipped APIs. */
function withKinds(kinds: number): MatrixSize {
  return { apis: supportMatrix.apis.length, kinds }
}

function nameOf({ apis, kinds }: MatrixSize): string {
  return `${apis} × ${kinds}`
}

function text(count: number): string {
  return count.toLocaleString('en')
}
