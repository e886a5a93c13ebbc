/**
 * A large matrix is exchanged under load: for how long the event loop is blocked at most, and when the new
 * one is in force. Before it was made in slices, the same exchange blocked it for two seconds.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile, type Engine, type Matrix } from '../../engine/index.ts'
import { loadMatrix } from '../../matrix/index.ts'
import { median } from '../harness/compare.ts'
import { type Contender, contend } from '../harness/contender.ts'
import { CHECK_PATH, type GrpcLoad, type Workload } from '../harness/grpc.ts'
import type { ServerProcess } from '../harness/process.ts'
import { singleRow } from '../harness/rows.ts'
import type { Size, Suite, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { type SidecarReady, startSidecar } from '../servers/start.ts'
import { answerTo, checkQuestion } from '../workloads/checks.ts'
import { enlargedFile } from '../workloads/matrices.ts'

export const swapSuite: Suite = { name: 'swap', run }

const SIZES = {
  full: { apis: 10_000, asked: 300, swaps: 21, calls: 5_000, warmUpCalls: 60_000 },
  smoke: { apis: 100, asked: 10, swaps: 1, calls: 100, warmUpCalls: 100 },
} as const

const KIND = 'static_token'

const blockMethod = (apis: number, swaps: number) =>
  `The matrix file is replaced by another one with ${apis.toLocaleString('en')} APIs, ${swaps} times, while checks of claims are asked, 8 connections × 16 in flight. Between two turns of the event loop, one each millisecond if it is idle, the processor time of its thread is noted; the largest over all exchanges counts. A block by the clock also has the time that other programs take on a busy machine.`
const TIME_METHOD =
  'From the replacement of the file to the first answer by it under that load; the sidecar looks at the file every 20 ms.'

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const { apis, asked, swaps, calls, warmUpCalls } = SIZES[size]
  const texts = ['one', 'two'].map((title) => JSON.stringify(enlargedFile({ apis, kinds: 3 }, title)))
  const file = new MatrixFile(join(temporaryFolder(stack), 'matrix.json'), texts)
  file.put(0)
  const server = await startSidecar({
    flags: ['--matrix', file.path],
    environment: { PORTCULLIS_MATRIX_POLL_MS: '20' },
  })
  const sidecar = await contend(server, server.ready.grpc, stack)
  const workload = await workloadOf(file.engines[0] as Engine, asked, sidecar.load)
  await sidecar.load.run(workload, warmUpCalls)

  await server.longestBlockMicroseconds()
  await sidecar.load.run(workload, warmUpCalls)
  const alone = await server.longestBlockMicroseconds()
  const exchanges: Exchange[] = []
  for (let index = 1; index <= swaps; index++)
    exchanges.push(await exchange(sidecar, file, index % 2, workload, calls))
  const answersChecked =
    asked + (await workloadOf(file.engines[swaps % 2] as Engine, asked, sidecar.load)).questions.length
  const longest = Math.max(...exchanges.map(({ blockMicroseconds }) => blockMicroseconds))
  return {
    rows: [
      singleRow(
        { id: 'longest-block', what: 'longest block, matrix exchanged', method: blockMethod(apis, swaps) },
        { name: 'longest block', value: longest / 1000, unit: 'ms CPU' },
      ),
      singleRow(
        { id: 'longest-block-alone', what: 'longest block, the load alone', method: blockMethod(apis, 0) },
        { name: 'longest block', value: alone / 1000, unit: 'ms CPU' },
      ),
      singleRow(
        { id: 'time', what: 'a new matrix, until in force', method: TIME_METHOD },
        { name: 'in force', value: median(exchanges.map(({ milliseconds }) => milliseconds)), unit: 'ms' },
      ),
    ],
    answersChecked,
  }
}

/** The file, and the matrices that it has in turn. */
class MatrixFile {
  readonly path: string
  readonly engines: readonly Engine[]
  readonly #texts: readonly string[]

  constructor(path: string, texts: readonly string[]) {
    this.path = path
    this.#texts = texts
    this.engines = texts.map((text) => compile(loadMatrix(text) as Matrix))
  }

  put(index: number): void {
    writeFileSync(`${this.path}.new`, this.#texts[index] ?? '')
    renameSync(`${this.path}.new`, this.path)
  }
}

interface Exchange {
  readonly blockMicroseconds: number
  readonly milliseconds: number
}

async function exchange(
  { server, load }: Contender<ServerProcess<SidecarReady>>,
  file: MatrixFile,
  index: number,
  workload: Workload,
  calls: number,
): Promise<Exchange> {
  await server.longestBlockMicroseconds()
  const start = performance.now()
  file.put(index)
  const question = workload.questions[0] as Buffer
  const wanted = file.engines[index]?.digest
  do await load.run(workload, calls)
  while (answerTo(await load.ask(CHECK_PATH, [question])).digest !== wanted)
  const milliseconds = performance.now() - start
  // Garbage of the exchange may be collected now.
  await load.run(workload, calls)
  return { milliseconds, blockMicroseconds: await server.longestBlockMicroseconds() }
}

/** Claims of one kind for some of the APIs. @throws Error where an answer is not that of the engine */
async function workloadOf(engine: Engine, asked: number, load: GrpcLoad): Promise<Workload> {
  const questions: Buffer[] = []
  const answerBytes: number[] = []
  for (const api of [...engine.apis.keys()].slice(-asked)) {
    const token = { kind: KIND, scope: { account: '1' } }
    const question = checkQuestion({ api, token })
    const answers = await load.ask(CHECK_PATH, [question])
    const { allowed, message, digest } = answerTo(answers)
    const decision = engine.decide({ api, ...token })
    if (digest !== decision.digest || allowed !== decision.allowed || message !== decision.message)
      throw new Error(`a wrong answer about ${api}`)
    questions.push(question)
    answerBytes.push(answers[0]?.length ?? 0)
  }
  return { path: CHECK_PATH, questions, answerBytes }
}
