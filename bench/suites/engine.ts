/**
 * The engine in this process. The time of a decision is compared with two look-ups in a table of APIs and
 * kinds, which is the least that any answer can cost. The bytes that a decision allocates are counted as
 * well.
 */
import { join } from 'node:path'
import { compile, type Engine } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { interleave, type Measure, median } from '../harness/compare.ts'
import { runProgram } from '../harness/program.ts'
import { comparedRow, singleRow } from '../harness/rows.ts'
import { secondsPerRun } from '../harness/stopwatch.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import {
  cellQuestions,
  decisionMaps,
  refuseWrongDecisions,
  requestHeaders,
  shippedEngine,
  withHandles,
  withTargets,
} from '../workloads/questions.ts'
import type { Allocations } from './allocations.ts'

export const engineSuite: Suite = { name: 'engine', run }

const SIZES = {
  full: { pairs: 401, rounds: 101, sampleSeconds: 0.001, allocationCalls: 500_000 },
  smoke: { pairs: 3, rounds: 2, sampleSeconds: 0.0005, allocationCalls: 100_000 },
} as const

const TIME_METHOD =
  'benchmark.js times a function that asks about all 90 cells, and the time is divided by 90. A and B take turns, and the ratio is the median over the pairs.'
const HANDLE_METHOD = `${TIME_METHOD} The handles are looked up before. The Map holds an answer for each API.`
const ALONE_METHOD =
  'Timed in the same way, but compared with nothing: an absolute time, which drifts with the machine.'
const ALLOCATION_METHOD =
  'Growth of the heap over many calls in a separate process, without a collection in between; the median of seven rounds (bench/suites/allocations.ts).'

/**
 * The flags of Node to count allocations. The compiler must not allocate during a round, so it may not work
 * in the background, nor recompile a running loop (on-stack replacement), which it would do in each round.
 */
const ALLOCATION_FLAGS = [
  '--expose-gc',
  '--no-use-osr',
  '--no-concurrent-recompilation',
  ...['--min-semi-space-size=128', '--max-semi-space-size=128'],
]

async function run(size: Size): Promise<SuiteReport> {
  const { pairs, rounds, sampleSeconds, allocationCalls } = SIZES[size]
  const engine = shippedEngine()
  const answersChecked = checkAnswers(engine)
  const works = { ...decidingWorks(engine), ...otherWorks(engine) }
  const timed = (name: keyof typeof works): Measure => {
    const { work, calls } = works[name]
    return () => (secondsPerRun(work, sampleSeconds) / calls) * 1e9
  }

  // The gated pairs come first: later code cannot have influenced their compilation.
  const pair = await interleave({ decide: timed('decide'), lookUps: timed('lookUps') }, pairs)
  const handlePair = await interleave({ decideAt: timed('decideAt'), lookUp: timed('lookUp') }, pairs)
  const others = await interleave(
    { decideWithTarget: timed('decideWithTarget'), deny: timed('deny'), extract: timed('extract') },
    rounds,
  )
  const compiling = await interleave({ compile: timed('compile') }, rounds)
  const bytes = await runProgram<Allocations>(
    join(import.meta.dirname, 'allocations.ts'),
    [String(allocationCalls)],
    ALLOCATION_FLAGS,
  )

  const rows = [
    comparedRow(
      { id: 'decide', what: 'decide, 90 cells', method: TIME_METHOD },
      'ns',
      { name: 'decide', samples: pair.decide },
      { name: 'two Map.get', samples: pair.lookUps },
    ),
    comparedRow(
      { id: 'decide-at', what: 'decide by handle, 90 cells', method: HANDLE_METHOD },
      'ns',
      { name: 'decideAt', samples: handlePair.decideAt },
      { name: 'one Map.get', samples: handlePair.lookUp },
    ),
    ...timeRows({ ...others, ...compiling }),
    ...allocationRows(bytes),
  ]
  return { rows, answersChecked }
}

/** Times that are compared with nothing. */
function timeRows(
  samples: Readonly<Record<'decideWithTarget' | 'deny' | 'extract' | 'compile', readonly number[]>>,
): Row[] {
  const row = (id: string, what: string, name: string, times: readonly number[]) =>
    singleRow({ id, what, method: ALONE_METHOD }, { name, value: median(times), unit: 'ns' })
  const compiling = median(samples.compile) / 1e6
  return [
    row('decide-with-target', 'decide with a target', 'decide', samples.decideWithTarget),
    row('deny', 'deny', 'deny', samples.deny),
    row('extract', 'extract a credential from 8 headers', 'extract', samples.extract),
    singleRow(
      { id: 'compile', what: 'compile the shipped matrix', method: ALONE_METHOD },
      { name: 'compile', value: compiling, unit: 'ms' },
    ),
  ]
}

function allocationRows(bytes: Allocations): Row[] {
  const row = (id: string, what: string, value: number) =>
    singleRow({ id, what, method: ALLOCATION_METHOD }, { name: what, value, unit: 'bytes' })
  return [
    row('decide-allocation', 'decide, bytes a call', bytes.decide),
    row('decide-with-target-allocation', 'decide with a target, bytes a call', bytes.decideWithTarget),
    row('decide-at-allocation', 'decide by handle, bytes a call', bytes.decideAt),
    row('deny-allocation', 'deny, bytes a call', bytes.deny),
    row('copy-allocation', 'control: a decision copied, bytes a call', bytes.copy),
  ]
}

/** Compares every cell with the matrix, and the answers by handle with those by name. */
function checkAnswers(engine: Engine): number {
  const questions = cellQuestions(engine)
  refuseWrongDecisions(engine, supportMatrix, [...questions, ...withTargets(questions)])
  for (const { handle, scope, ...question } of withHandles(engine, questions))
    if (engine.decideAt(handle, scope) !== engine.decide({ ...question, scope }))
      throw new Error(`another answer by handle: ${JSON.stringify(question)}`)
  return questions.length * 3
}

/** Work to be timed, and how many calls it makes. */
interface Work {
  readonly calls: number
  readonly work: () => void
}

/**
 * Each answer is compared with an object that is never an answer. So the compiler cannot leave the question
 * out, and the comparison costs both sides the same.
 */
const NEVER = {}
function consume(answer: unknown): void {
  if (answer === NEVER) throw new Error('got an answer that is impossible')
}

/** Deciding, and the look-ups that it is compared with. */
function decidingWorks(engine: Engine) {
  const questions = cellQuestions(engine)
  const table = decisionMaps(engine, questions)
  const answersByApi = new Map(questions.map((question) => [question.api, engine.decide(question)]))
  const handled = withHandles(engine, questions)
  return {
    decide: {
      calls: questions.length,
      work: () => {
        for (const question of questions) consume(engine.decide(question))
      },
    },
    lookUps: {
      calls: questions.length,
      work: () => {
        for (const { api, kind } of questions) consume(table.get(api)?.get(kind))
      },
    },
    decideAt: {
      calls: handled.length,
      work: () => {
        for (const { handle, scope } of handled) consume(engine.decideAt(handle, scope))
      },
    },
    lookUp: {
      calls: questions.length,
      work: () => {
        for (const { api } of questions) consume(answersByApi.get(api))
      },
    },
  } satisfies Record<string, Work>
}

function otherWorks(engine: Engine) {
  const targeted = withTargets(cellQuestions(engine))
  const apis = [...engine.apis.keys()]
  const headers = requestHeaders(engine)
  return {
    decideWithTarget: {
      calls: targeted.length,
      work: () => {
        for (const question of targeted) consume(engine.decide(question))
      },
    },
    deny: {
      calls: apis.length,
      work: () => {
        for (const api of apis) consume(engine.deny(api, 'CREDENTIAL_MISSING'))
      },
    },
    extract: { calls: 1, work: () => consume(engine.extract(headers)) },
    compile: { calls: 1, work: () => consume(compile(supportMatrix)) },
  } satisfies Record<string, Work>
}
