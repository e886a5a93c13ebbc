/** How a decision's cost grows with the matrix, beside that of bare Maps of the same size asked in the same order. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Decision, Engine, Question } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { interleave, type Measure, median, ratioOf } from './compare.ts'
import type { CompileCost } from './compile-cost.ts'
import { enlargedEngine, enlargedMatrix, type MatrixSize, shuffledQuestions } from './enlarged.ts'
import type { Figure, Row, SuiteReport, Unit } from './suite.ts'

export interface DecideSizes {
  /** Numbers of APIs, the smallest first, each with the shipped kinds. */
  readonly apis: readonly number[]
  /** Numbers of kinds, each with the shipped APIs. */
  readonly kinds: readonly number[]
  readonly rounds: number
  /** At least so many questions a sample. */
  readonly questions: number
}

const COST_METHOD =
  'Every cell of the shipped matrix enlarged by copies, once each in a shuffled order that is the same for both; ids in the questions are strings of their own, and of each answer `allowed` is read. The Maps are one of Maps by API, of the same frozen decisions by kind. A and B take turns, and the ratio is the median over the rounds.'
const SLOWDOWN_METHOD =
  'From the same samples: how many times slower decide is at the larger size than at the smaller, in terms of how many times slower the Maps are, round by round.'
const COMPILE_METHOD =
  'Time of compiling in a process of its own, the median where it is repeated (bench/compile-cost.ts), divided by the APIs; the ratio is of one process each.'
const HEAP_METHOD =
  'Growth of the collected heap by one engine of that size, in a process of its own (bench/compile-cost.ts), divided by the APIs.'

/** Nanoseconds a question, one sample a round. */
interface Samples {
  readonly decide: readonly number[]
  readonly maps: readonly number[]
}

export async function growthOfDecide(sizes: DecideSizes): Promise<SuiteReport> {
  const [fewApis = 0, manyApis = 0] = [sizes.apis[0], sizes.apis.at(-1)]
  const [fewKinds = 0, manyKinds = 0] = [sizes.kinds[0], sizes.kinds.at(-1)]
  const matrices: MatrixSize[] = [
    ...sizes.apis.map((apis) => ({ apis, kinds: supportMatrix.tokenKinds.length })),
    ...sizes.kinds.map((kinds) => ({ apis: supportMatrix.apis.length, kinds })),
  ]
  const measures: Record<string, Measure> = {}
  let answersChecked = 0
  for (const matrix of matrices) {
    // Both series may begin with the shipped matrix.
    if (`decide ${nameOf(matrix)}` in measures) continue
    const engine = enlargedEngine(matrix)
    const questions = shuffledQuestions(engine)
    answersChecked += checkAnswers(matrix, engine, questions)
    const passes = Math.ceil(sizes.questions / questions.length)
    const table = mapsOf(engine, questions)
    measures[`decide ${nameOf(matrix)}`] = () =>
      nsPerQuestion(questions, passes, (question) => engine.decide(question).allowed)
    measures[`maps ${nameOf(matrix)}`] = () =>
      nsPerQuestion(questions, passes, ({ api, kind }) => table.get(api)?.get(kind)?.allowed)
  }
  // Once around, so that the compiler has seen every size before the first figure.
  await interleave(measures, 1)
  const samples = await interleave(measures, sizes.rounds)
  const at = (apis: number, kinds: number): Samples => ({
    decide: samples[`decide ${nameOf({ apis, kinds })}`] as number[],
    maps: samples[`maps ${nameOf({ apis, kinds })}`] as number[],
  })
  const atApis = (apis: number) => at(apis, supportMatrix.tokenKinds.length)
  const atKinds = (kinds: number) => at(supportMatrix.apis.length, kinds)

  // Beside the next smaller size: at the smallest, what is compiled once for all APIs would show.
  const fewerApis = sizes.apis.at(-2) ?? 0
  const [fewer, many] = [await compileCost(fewerApis), await compileCost(manyApis)]
  const rows: Row[] = [
    ...sizes.apis.map((apis) => costRow(`decide-${apis}-apis`, `decide, ${text(apis)} APIs`, atApis(apis))),
    ...sizes.apis
      .slice(1)
      .map((apis) =>
        slowdownRow(
          apis === manyApis ? 'slowdown-apis' : `slowdown-${apis}-apis`,
          `${text(fewApis)} → ${text(apis)} APIs`,
          atApis(fewApis),
          atApis(apis),
        ),
      ),
    costRow(`decide-${manyKinds}-kinds`, `decide, ${manyKinds} kinds of token`, atKinds(manyKinds)),
    slowdownRow('slowdown-kinds', `${fewKinds} → ${manyKinds} kinds`, atKinds(fewKinds), atKinds(manyKinds)),
    compileRow(manyApis, many, fewerApis, fewer),
    {
      id: 'compiled-memory',
      what: `an engine of ${text(manyApis)} APIs, for each API`,
      a: figure('engine', many.bytesPerApi, 'bytes'),
      method: HEAP_METHOD,
    },
  ]
  return { rows, answersChecked }
}

function costRow(id: string, what: string, { decide, maps }: Samples): Row {
  return {
    id,
    what,
    a: figure('decide', median(decide), 'ns'),
    b: figure('two Map.get', median(maps), 'ns'),
    ratio: ratioOf(decide, maps),
    method: COST_METHOD,
  }
}

function slowdownRow(id: string, sizes: string, small: Samples, large: Samples): Row {
  const times = (contender: keyof Samples) =>
    large[contender].map((sample, round) => sample / (small[contender][round] as number))
  const [decide, maps] = [times('decide'), times('maps')]
  return {
    id,
    what: `slowdown of decide, ${sizes}`,
    a: figure('decide', median(decide), '×'),
    b: figure('two Map.get', median(maps), '×'),
    ratio: ratioOf(decide, maps),
    method: SLOWDOWN_METHOD,
  }
}

function compileRow(manyApis: number, large: CompileCost, fewApis: number, small: CompileCost): Row {
  return {
    id: 'compile-large',
    what: `compile ${text(manyApis)} APIs, for each API`,
    a: figure('compile', large.microsecondsPerApi, 'µs'),
    b: figure(`${text(fewApis)} APIs`, small.microsecondsPerApi, 'µs'),
    ratio: ratioOf([large.microsecondsPerApi], [small.microsecondsPerApi]),
    method: COMPILE_METHOD,
  }
}

/** Every answer against the rows of the matrix, which is what the engine was compiled from. */
function checkAnswers(size: MatrixSize, engine: Engine, questions: readonly Question[]): number {
  const accepted = new Map(enlargedMatrix(size).apis.map(({ id, accepts }) => [id, new Set(accepts)]))
  for (const question of questions) {
    const { allowed } = engine.decide(question)
    if (allowed !== accepted.get(question.api)?.has(question.kind))
      throw new Error(`a wrong answer: ${JSON.stringify(question)}, allowed: ${allowed}`)
  }
  return questions.length
}

/** The same decisions in bare Maps, with the engine's own ids for keys, as the engine has them. */
function mapsOf(engine: Engine, questions: readonly Question[]): Map<string, Map<string, Decision>> {
  const decided = new Map<string, Map<string, Decision>>()
  for (const api of engine.apis.keys()) decided.set(api, new Map())
  for (const question of questions)
    decided.get(question.api)?.set(engine.tokenKinds.get(question.kind)?.id ?? '', engine.decide(question))
  return decided
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
  if (allowed === 0) throw new Error('an answer that never comes has come')
  return (milliseconds * 1e6) / (questions.length * passes)
}

async function compileCost(apis: number): Promise<CompileCost> {
  const program = join(import.meta.dirname, 'compile-cost.ts')
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, String(apis)])
  return JSON.parse(stdout) as CompileCost
}

function figure(name: string, value: number, unit: Unit): Figure {
  return { name, value, unit }
}

function nameOf({ apis, kinds }: MatrixSize): string {
  return `${apis} × ${kinds}`
}

function text(count: number): string {
  return count.toLocaleString('en')
}
