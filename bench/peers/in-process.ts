/**
 * A program: compares libraries that decide in the calling process with `decide`, on the same questions.
 *
 *     node bench/peers/in-process.ts full|smoke     (a child of bench/suites/peers.ts)
 */
import type { Engine, Question } from '../../engine/index.ts'
import { interleave, type Measure } from '../harness/compare.ts'
import { comparedRow } from '../harness/rows.ts'
import { Skips } from '../harness/skips.ts'
import { secondsPerAwaitedRun, secondsPerRun } from '../harness/stopwatch.ts'
import type { Row, Size, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { cellQuestions, shippedEngine, withHandles } from '../workloads/questions.ts'
import { casbinPeers } from './casbin.ts'
import { caslPeers } from './casl.ts'
import { cedarPeer } from './cedar.ts'
import { compileToWasm, installOpa } from './opa.ts'
import { opaWasmPeer } from './opa-wasm.ts'
import { type Count, type Peer, type Rule, refuseWrong, rulesOf } from './peer.ts'
import { runForParent } from './program.ts'

// V8 optimises the peers later than `decide`: CASL is at its best after about eighty turns.
const SIZES = {
  full: { warmUps: 120, pairs: 301, sampleSeconds: 0.001 },
  smoke: { warmUps: 1, pairs: 2, sampleSeconds: 0.0005 },
} as const

const METHOD =
  'The time of a loop that asks about all 90 cells and counts the allowed ones, divided by 90. A and B are warmed up alike and take turns, and the ratio is the median over the pairs. `decide` judges the scope as well.'

await runForParent(run)

async function run(size: Size): Promise<SuiteReport> {
  const engine = shippedEngine()
  const questions = cellQuestions(engine)
  const skips = new Skips()
  const peers = await setUp(engine, questions, skips)
  for (const peer of peers) refuseWrong(peer.name, engine, await peer.answers())

  const allowed = questions.filter((question) => engine.decide(question).allowed).length
  const rows: Row[] = []
  for (const peer of peers) rows.push(await compare(engine, questions, peer, allowed, size))
  return { rows, skipped: skips.list, answersChecked: peers.length * questions.length }
}

async function setUp(engine: Engine, questions: readonly Question[], skips: Skips): Promise<Peer[]> {
  const rules = rulesOf(engine)
  const opa = await skips.obtain(['opa-wasm'], installOpa)
  return [
    ...caslPeers(rules, questions),
    ...(await casbinPeers(rules, questions)),
    cedarPeer(rules, questions),
    ...(opa === undefined ? [] : [await compiledOpa(opa, rules, questions)]),
  ]
}

async function compiledOpa(
  opa: string,
  rules: readonly Rule[],
  questions: readonly Question[],
): Promise<Peer> {
  using stack = new DisposableStack()
  const folder = temporaryFolder(stack)
  return await opaWasmPeer(await compileToWasm(opa, folder), rules, questions)
}

async function compare(
  engine: Engine,
  questions: readonly Question[],
  { id, name, configured, countAllowed, atHand = false }: Peer,
  allowed: number,
  size: Size,
): Promise<Row> {
  const { warmUps, pairs, sampleSeconds } = SIZES[size]
  const timed =
    (count: Count): Measure =>
    () =>
      nanosecondsPerAnswer(count, { allowed, answers: questions.length, sampleSeconds })
  const ours = atHand ? decideAllByHandle(engine, questions) : decideAll(engine, questions)
  const contenders = { decide: timed(ours), peer: timed(countAllowed) }
  await interleave(contenders, warmUps)
  const samples = await interleave(contenders, pairs)
  return comparedRow(
    {
      id,
      what: `${atHand ? 'decide by handle' : 'decide'}, beside ${name}`,
      method: `${METHOD} ${configured}`,
    },
    'ns',
    { name: atHand ? 'decideAt' : 'decide', samples: samples.decide },
    { name, samples: samples.peer },
  )
}

function decideAll(engine: Engine, questions: readonly Question[]): Count {
  return {
    awaited: false,
    once: () => {
      let allowed = 0
      for (const question of questions) if (engine.decide(question).allowed) allowed++
      return allowed
    },
  }
}

function decideAllByHandle(engine: Engine, questions: readonly Question[]): Count {
  const handled = withHandles(engine, questions)
  return {
    awaited: false,
    once: () => {
      let allowed = 0
      for (const { handle, scope } of handled) if (engine.decideAt(handle, scope).allowed) allowed++
      return allowed
    },
  }
}

interface Timing {
  /** How many questions must be allowed each time. */
  readonly allowed: number
  readonly answers: number
  readonly sampleSeconds: number
}

async function nanosecondsPerAnswer(count: Count, timing: Timing): Promise<number> {
  const { allowed, answers, sampleSeconds } = timing
  const expect = (counted: number): void => {
    if (counted !== allowed) throw new Error(`expected ${allowed} questions to be allowed, got ${counted}`)
  }
  const seconds = count.awaited
    ? await secondsPerAwaitedRun(async () => expect(await count.once()), sampleSeconds)
    : secondsPerRun(() => expect(count.once()), sampleSeconds)
  return (seconds / answers) * 1e9
}
