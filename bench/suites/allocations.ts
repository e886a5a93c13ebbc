/**
 * Counts the bytes that a call allocates. It is a separate program, because it needs flags of Node
 * (engine.ts):
 *
 *     node FLAGS bench/suites/allocations.ts CALLS
 *
 * Method: warm up, because compiling allocates and deciding does not. Then collect garbage, read the size of
 * the heap, make some hundred thousand calls, and read it again. The readings themselves allocate, so the
 * difference of two readings around nothing is subtracted. A collection between the readings would hide what
 * was allocated. So the young generation is large enough to hold everything, and a round in which the
 * collector ran nevertheless is thrown away (`GCProfiler` shows it). The median of several rounds counts,
 * because a call that allocates does so in every round. As a control, a call that copies its answer is
 * counted in the same way: it shows that the method sees one object.
 */
import { GCProfiler } from 'node:v8'
import { median } from '../harness/compare.ts'
import { collectGarbage } from '../harness/program.ts'
import { cellQuestions, shippedEngine, withHandles, withTargets } from '../workloads/questions.ts'

/** Bytes a call. */
export interface Allocations {
  readonly decide: number
  readonly decideWithTarget: number
  readonly decideAt: number
  readonly deny: number
  /** The control: a call that allocates one small object. */
  readonly copy: number
}

const ROUNDS = 7
const CHUNK = 1_000

process.stdout.write(JSON.stringify(countAllocations(Number(process.argv[2]))))

function countAllocations(calls: number): Allocations {
  const engine = shippedEngine()
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
  // In chunks, because only a function that is called often is optimised in the warm-up. Without an iterator,
  // because that would allocate in code that is not optimised.
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
  if (rounds.length === 0)
    throw new Error('the collector ran in every round: use fewer calls or a larger heap')
  return Math.max(0, median(rounds)) / calls
}

/** @returns undefined if the collector ran, because the difference then says nothing */
function bytesAllocated(work: () => void): number | undefined {
  collectGarbage()
  const profiler = new GCProfiler()
  profiler.start()
  const before = process.memoryUsage().heapUsed
  work()
  const after = process.memoryUsage().heapUsed
  return profiler.stop().statistics.length === 0 ? after - before : undefined
}
