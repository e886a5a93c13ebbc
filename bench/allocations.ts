/**
 * Counts the bytes that a call allocates. A program of its own, because it needs flags (`ALLOCATION_FLAGS`):
 *
 *     node FLAGS bench/allocations.ts CALLS
 *
 * Method: after a warm-up (compiling allocates, deciding does not) collect garbage, read the heap's size, call
 * some hundred thousand times, and read it again; take off what two readings around nothing differ by, which is
 * what the readings themselves allocate. Nothing may be collected in between, or the second reading hides
 * what was allocated: the young generation is made large enough to hold it all, and a round in which the
 * collector ran all the same, as `GCProfiler` tells, is thrown away. The median of several rounds counts: what
 * a call allocates, it allocates in every round.
 * A call that copies its answer is counted by the same method, to show that the method sees an object.
 */
import { fileURLToPath } from 'node:url'
import { GCProfiler } from 'node:v8'
import { compile } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { median } from './compare.ts'
import { cellQuestions, withHandles, withTargets } from './questions.ts'

/** Bytes a call, by what was called. */
export interface Allocations {
  readonly decide: number
  readonly decideWithTarget: number
  readonly decideAt: number
  readonly deny: number
  /** The control: a call that allocates one small object. */
  readonly copy: number
}

/**
 * What Node has to be started with. The compiler's own allocations must not fall into a round: it may not work in the
 * background, nor compile a running loop anew (on-stack replacement), which it would do in each round.
 */
export const ALLOCATION_FLAGS = [
  '--expose-gc',
  '--no-use-osr',
  '--no-concurrent-recompilation',
  ...['--min-semi-space-size=128', '--max-semi-space-size=128'],
]

const ROUNDS = 7
const CHUNK = 1_000

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(JSON.stringify(countAllocations(Number(process.argv[2]))))

function countAllocations(calls: number): Allocations {
  const engine = compile(supportMatrix)
  const questions = cellQuestions(engine)
  const targeted = withTargets(questions)
  const sink: { answer: unknown } = { answer: undefined }
  return {
    decide: bytesPerCall(questions, calls, (question) => {
      sink.answer = engine.decide(question)
    }),
    decideWithTarget: bytesPerCall(targeted, calls, (question) => {
      sink.answer = engine.decide(question)
    }),
    decideAt: bytesPerCall(withHandles(engine, questions), calls, ({ handle, scope }) => {
      sink.answer = engine.decideAt(handle, scope)
    }),
    deny: bytesPerCall(questions, calls, (question) => {
      sink.answer = engine.deny(question.api, 'CREDENTIAL_MISSING')
    }),
    copy: bytesPerCall(questions, calls, (question) => {
      sink.answer = { answer: engine.decide(question) }
    }),
  }
}

function bytesPerCall<Asked>(
  questions: readonly Asked[],
  calls: number,
  call: (question: Asked) => void,
): number {
  // In chunks: a function that is called often is optimised in the warm-up. No iterator: in code that is not
  // optimised it would allocate by itself.
  const callChunk = () => {
    for (let done = 0; done < CHUNK; done++) call(questions[done % questions.length] as Asked)
  }
  const callAll = () => {
    for (let done = 0; done < calls; done += CHUNK) callChunk()
  }
  callAll()
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const nothing = bytesAllocated(() => {})
    const bytes = bytesAllocated(callAll)
    if (nothing !== undefined && bytes !== undefined) rounds.push(bytes - nothing)
  }
  if (rounds.length === 0) throw new Error('the collector ran in every round: fewer calls, or a larger heap')
  return Math.max(0, median(rounds)) / calls
}

/** `undefined` where the collector ran, so that the difference says nothing. */
function bytesAllocated(work: () => void): number | undefined {
  if (gc === undefined) throw new Error('expected Node to be started with --expose-gc')
  gc()
  const profiler = new GCProfiler()
  profiler.start()
  const before = process.memoryUsage().heapUsed
  work()
  const after = process.memoryUsage().heapUsed
  return profiler.stop().statistics.length === 0 ? after - before : undefined
}
