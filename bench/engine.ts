/**
 * The engine in this process: what a decision costs in terms of two look-ups in a table of APIs and kinds, the
 * least that any answer can cost, and how many bytes it allocates.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { compile, type Decision, type Engine } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { ALLOCATION_FLAGS, type Allocations } from './allocations.ts'
import { interleave, type Measure, median, ratioOf } from './compare.ts'
import { cellQuestions, withHandles, withTargets } from './questions.ts'
import { secondsPerRun } from './stopwatch.ts'
import type { Figure, Row, Size, Suite, SuiteReport } from './suite.ts'

export const engineSuite: Suite = { name: 'engine', run }

const SIZES = {
  full: { pairs: 401, rounds: 101, sampleSeconds: 0.001, allocationCalls: 500_000 },
  smoke: { pairs: 3, rounds: 2, sampleSeconds: 0.0005, allocationCalls: 200_000 },
} as const

const TIME_METHOD =
  'benchmark.js times a function that asks about all 90 cells, and the time is divided by 90; A and B take turns, and the ratio is the median over the pairs.'
const ALONE_METHOD = 'As above, alone: an absolute time, which drifts with the machine.'
const ALLOCATION_METHOD =
  'Growth of the heap over many calls in a process of its own, with no collection in between; the median of seven rounds (bench/allocations.ts).'

async function run(size: Size): Promise<SuiteReport> {
  const { pairs, rounds, sampleSeconds, allocationCalls } = SIZES[size]
  const engine = compile(supportMatrix)
  const answersChecked = checkAnswers(engine)
  const works = worksOf(engine)
  const timed = (name: keyof typeof works): Measure => {
    const { work, calls } = works[name]
    return () => (secondsPerRun(work, sampleSeconds) / calls) * 1e9
  }

  // The gated pair first and alone: what runs later cannot have taught the compiler other habits.
  const pair = await interleave({ decide: timed('decide'), lookUps: timed('lookUps') }, pairs)
  const handlePair = await interleave({ decideAt: timed('decideAt'), lookUp: timed('lookUp') }, pairs)
  const others = await interleave(
    { decideWithTarget: timed('decideWithTarget'), deny: timed('deny'), extract: timed('extract') },
    rounds,
  )
  const compiling = await interleave({ compile: timed('compile') }, rounds)
  const bytes = await allocations(allocationCalls)

  const rows: Row[] = [
    {
      id: 'decide',
      what: 'decide, 90 cells',
      a: nanoseconds('decide', pair.decide),
      b: nanoseconds('two Map.get', pair.lookUps),
      ratio: ratioOf(pair.decide, pair.lookUps),
      method: TIME_METHOD,
    },
    {
      id: 'decide-at',
      what: 'decide by handle, 90 cells',
      a: nanoseconds('decideAt', handlePair.decideAt),
      b: nanoseconds('one Map.get', handlePair.lookUp),
      ratio: ratioOf(handlePair.decideAt, handlePair.lookUp),
      method: `${TIME_METHOD} The handles are looked up before; the Map holds an answer for each API.`,
    },
    alone('decide-with-target', 'decide with a target', nanoseconds('decide', others.decideWithTarget)),
    alone('deny', 'deny', nanoseconds('deny', others.deny)),
    alone('extract', 'extract a credential from 8 headers', nanoseconds('extract', others.extract)),
    alone('compile', 'compile the shipped matrix', {
      name: 'compile',
      value: median(compiling.compile) / 1e6,
      unit: 'ms',
    }),
    allocation('decide-allocation', 'decide, bytes a call', bytes.decide),
    allocation('decide-with-target-allocation', 'decide with a target, bytes a call', bytes.decideWithTarget),
    allocation('decide-at-allocation', 'decide by handle, bytes a call', bytes.decideAt),
    allocation('deny-allocation', 'deny, bytes a call', bytes.deny),
    allocation('copy-allocation', 'control: a decision copied, bytes a call', bytes.copy),
  ]
  return { rows, answersChecked }
}

/** Every cell against the matrix file, which is what the engine was compiled from; by handle against by name. */
function checkAnswers(engine: Engine): number {
  const accepted = new Map(supportMatrix.apis.map(({ id, accepts }) => [id, accepts]))
  const questions = cellQuestions(engine)
  for (const question of [...questions, ...withTargets(questions)]) {
    const { allowed } = engine.decide(question)
    if (allowed !== accepted.get(question.api)?.includes(question.kind))
      throw new Error(`a wrong answer: ${JSON.stringify(question)}, allowed: ${allowed}`)
  }
  for (const { handle, scope, ...question } of withHandles(engine, questions))
    if (engine.decideAt(handle, scope) !== engine.decide({ ...question, scope }))
      throw new Error(`another answer by handle: ${JSON.stringify(question)}`)
  return questions.length * 3
}

/**
 * What is timed. Each answer is compared with one that never comes, so that the compiler cannot leave the
 * question out, and the comparison is the same on both sides.
 */
function worksOf(engine: Engine) {
  const questions = cellQuestions(engine)
  const targeted = withTargets(questions)
  const apis = [...engine.apis.keys()]
  const table = new Map<string, Map<string, Decision>>()
  for (const question of questions) {
    const row = table.get(question.api) ?? new Map<string, Decision>()
    table.set(question.api, row.set(question.kind, engine.decide(question)))
  }
  const answersByApi = new Map(questions.map((question) => [question.api, engine.decide(question)]))
  const handled = withHandles(engine, questions)
  const headers = requestHeaders(engine)
  const never = {}
  const consume = (answer: unknown) => {
    if (answer === never) throw new Error('an answer that never comes has come')
  }
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
  }
}

/** Headers as a service receives them, the credential last. */
function requestHeaders(engine: Engine): [string, string][] {
  const [kind] = engine.tokenKinds.values()
  return [
    ['host', 'api.example.com'],
    ['user-agent', 'curl/8.5.0'],
    ['accept', '*/*'],
    ['accept-encoding', 'gzip, deflate'],
    ['content-type', 'application/json'],
    ['content-length', '2'],
    ['x-request-id', '5f2b9f0e-6f0c-4f5e-9d0b-0a3c1f6f2e11'],
    [kind?.header ?? '', 'x'.repeat(400)],
  ]
}

async function allocations(calls: number): Promise<Allocations> {
  const program = join(import.meta.dirname, 'allocations.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...ALLOCATION_FLAGS,
    program,
    String(calls),
  ])
  return JSON.parse(stdout) as Allocations
}

function nanoseconds(name: string, samples: readonly number[]): Figure {
  return { name, value: median(samples), unit: 'ns' }
}

function alone(id: string, what: string, a: Figure): Row {
  return { id, what, a, method: ALONE_METHOD }
}

function allocation(id: string, what: string, bytes: number): Row {
  return { id, what, a: { name: what, value: bytes, unit: 'bytes' }, method: ALLOCATION_METHOD }
}
