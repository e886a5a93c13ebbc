/**
 * Starting: how long until the installed package answers, and what memory it takes, beside a bare Node process that
 * loads grpc-js and binds a server. Everything is compiled JavaScript, HTTP is on, and the log goes where it always does.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { compile } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { interleave, median, ratioOf } from './compare.ts'
import { Load } from './load.ts'
import { installPackage } from './package-form.ts'
import { ServerProcess, startSidecarOn, startSidecarProcess } from './server-process.ts'
import type { Row, Size, Suite, SuiteReport, Unit } from './suite.ts'
import { BATCH_LENGTH, prepareWorkloads } from './workloads.ts'

export const startSuite: Suite = { name: 'start', run }

const SIZES = {
  // Now and then V8 grows the young generation once more before it is ready: enough starts that the median says nothing of it.
  full: { starts: 15, memories: 9, batched: 1_000_000, unary: 100_000 },
  smoke: { starts: 1, memories: 1, batched: 200, unary: 50 },
} as const

const BARE = join(import.meta.dirname, 'bare-server.js')
const HTTP = ['--http', '127.0.0.1:0']

const READY_METHOD =
  'Time on the clock from spawning the process to its line that says it is ready; package compiled, data folder there already (with --dev: made anew, with an account in it). A and B take turns.'
const IDLE_METHOD =
  'Resident memory after a collection, once ready and before the first call, of processes started in turn.'
const after = (batched: number, unary: number) =>
  `Resident memory after a collection, after ${batched.toLocaleString('en')} checks of claims in CheckBatch calls of ${BATCH_LENGTH} and ${unary.toLocaleString('en')} unary ones, against that of the same process before the first.`

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const installed = join(folder, 'package')
  mkdirSync(installed)
  const launcher = await installPackage(installed)
  const data = join(folder, 'data')
  const { starts, memories, batched, unary } = SIZES[size]

  // The first start makes the folder, and brings everybody's files into the system's memory.
  const serve = [launcher, 'serve', '--json', '--grpc', '127.0.0.1:0', ...HTTP]
  const contenders = {
    bare: () => msToReady([BARE]),
    ready: () => msToReady([...serve, '--data', data]),
    dev: () => msToReady([...serve, '--dev']),
  }
  await interleave(contenders, 1)
  const ready = await interleave(contenders, starts)

  const idle = await interleave(
    {
      bare: () => idleBytes(ServerProcess.start(BARE, [])),
      sidecar: () => idleBytes(startSidecarOn(data, HTTP, launcher)),
    },
    memories,
  )
  const used = await memoryInUse(launcher, batched, unary)

  const row = (
    id: string,
    what: string,
    a: readonly number[],
    nameOfB: string,
    b: readonly number[],
    unit: Unit,
    method: string,
  ): Row => ({
    id,
    what,
    a: { name: what, value: median(a), unit },
    b: { name: nameOfB, value: median(b), unit },
    ratio: ratioOf(a, b),
    method,
  })
  return {
    rows: [
      row('ready', 'serve, until ready', ready.ready, 'bare grpc-js', ready.bare, 'ms', READY_METHOD),
      row('ready-dev', 'serve --dev, until ready', ready.dev, 'bare grpc-js', ready.bare, 'ms', READY_METHOD),
      row('idle-memory', 'memory, idle', idle.sidecar, 'bare grpc-js', idle.bare, 'bytes', IDLE_METHOD),
      row(
        'used-memory',
        `memory after ${(batched + unary).toLocaleString('en')} checks`,
        [used.afterBytes],
        'idle',
        [used.idleBytes],
        'bytes',
        after(batched, unary),
      ),
    ],
    answersChecked: used.answersChecked,
  }
}

/** Starts a program, waits for its first line, and ends it. */
async function msToReady(programArguments: readonly string[]): Promise<number> {
  const start = performance.now()
  const child = spawn(process.execPath, programArguments, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const line = await Promise.race([once(createInterface(child.stdout), 'line'), exit.then(() => undefined)])
  const milliseconds = performance.now() - start
  child.kill('SIGTERM')
  await exit
  if (line === undefined) throw new Error(`${programArguments[0]} ended before it was ready`)
  return milliseconds
}

async function idleBytes(starting: Promise<ServerProcess<unknown>>): Promise<number> {
  const server = await starting
  const bytes = await server.residentBytes()
  await server.stop()
  return bytes
}

async function memoryInUse(launcher: string, batched: number, unary: number) {
  await using stack = new AsyncDisposableStack()
  const server = await startSidecarProcess(HTTP, launcher)
  stack.defer(() => server.stop())
  const idleBytes = await server.residentBytes()
  const load = await Load.connect(server.ready.grpc)
  stack.defer(() => load.close())
  const works = await prepareWorkloads(compile(supportMatrix), server.ready, load)
  await load.run(works.batch, batched / BATCH_LENGTH)
  await load.run(works.claims, unary)
  return { idleBytes, afterBytes: await server.residentBytes(), answersChecked: works.answersChecked }
}
