/**
 * Starting: how long until the installed package answers, and what memory it takes, compared with a bare Node
 * process that loads grpc-js and binds a server. All code is compiled JavaScript, HTTP is on unless the row
 * says otherwise, and the log has its default target. Commands that ask a sidecar one question are compared
 * with Node that runs nothing.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { nodeMs } from '../harness/command-time.ts'
import { interleave } from '../harness/compare.ts'
import { contend } from '../harness/contender.ts'
import { ROOT } from '../harness/paths.ts'
import { ServerProcess } from '../harness/process.ts'
import { comparedRow } from '../harness/rows.ts'
import type { Row, Size, Suite, SuiteReport, Unit } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { installPackage } from '../servers/package.ts'
import { runPortcullis } from '../servers/portcullis.ts'
import { startSidecar, startSidecarOn } from '../servers/start.ts'
import { BATCH_LENGTH, prepareWorkloads } from '../workloads/checks.ts'

export const startSuite: Suite = { name: 'start', run }

const SIZES = {
  // Sometimes V8 enlarges the young generation once more before the server is ready. With this many starts
  // the median does not change.
  full: { warmUps: 1, starts: 15, commands: 25, memories: 9, batched: 1_000_000, unary: 100_000 },
  smoke: { warmUps: 0, starts: 1, commands: 1, memories: 1, batched: 200, unary: 50 },
} as const

const BARE = join(ROOT, 'bench', 'servers', 'bare-grpc.js')
const HTTP = ['--http', '127.0.0.1:0']

const READY_METHOD =
  'Time on the clock from spawning the process until it prints that it is ready. The package is compiled, and the data folder exists already (with --dev it is made anew, with an account in it). A and B take turns.'
const IDLE_METHOD =
  'Resident memory after a collection, when the process is ready and has answered no call; the processes are started in turn.'
const COMMAND_METHOD =
  'Processor time of the whole process (all threads, user and system), as the shell tells it, with the package that is compiled and a sidecar that runs. A and B take turns.'
const usedMethod = (batched: number, unary: number) =>
  `Resident memory after a collection, after ${batched.toLocaleString('en')} checks of claims in CheckBatch calls of ${BATCH_LENGTH} and ${unary.toLocaleString('en')} unary ones, against that of the same process before the first.`

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const folder = temporaryFolder(stack)
  const installed = join(folder, 'package')
  mkdirSync(installed)
  const launcher = await installPackage(installed)
  const data = join(folder, 'data')
  const { warmUps, starts, commands, memories, batched, unary } = SIZES[size]

  const ready = await startTimes(launcher, data, warmUps, starts)
  const asked = await commandTimes(launcher, data, commands)
  const idle = await interleave(
    {
      bare: () => idleBytes(ServerProcess.start(BARE, [])),
      grpc: () => idleBytes(startSidecarOn(data, { launcher })),
      sidecar: () => idleBytes(startSidecarOn(data, { flags: HTTP, launcher })),
    },
    memories,
  )
  const used = await memoryInUse(launcher, batched, unary)
  const checks = (batched + unary).toLocaleString('en')
  return {
    rows: [
      besideBare('ready', 'serve, until ready', 'ms', ready.ready, ready.bare, READY_METHOD),
      besideBare('ready-grpc', 'serve --http off, until ready', 'ms', ready.grpc, ready.bare, READY_METHOD),
      besideBare('ready-dev', 'serve --dev, until ready', 'ms', ready.dev, ready.bare, READY_METHOD),
      besideNode('check', asked.check, asked.node),
      besideNode('health', asked.health, asked.node),
      besideBare('idle-memory-grpc', 'memory, idle, --http off', 'bytes', idle.grpc, idle.bare, IDLE_METHOD),
      besideBare('idle-memory', 'memory, idle', 'bytes', idle.sidecar, idle.bare, IDLE_METHOD),
      comparedRow(
        { id: 'used-memory', what: `memory after ${checks} checks`, method: usedMethod(batched, unary) },
        'bytes',
        { name: `memory after ${checks} checks`, samples: [used.afterBytes] },
        { name: 'idle', samples: [used.idleBytes] },
      ),
    ],
    answersChecked: used.answersChecked,
  }
}

/** A row that compares the sidecar with the bare server. */
function besideBare(
  id: string,
  what: string,
  unit: Unit,
  sidecar: readonly number[],
  bare: readonly number[],
  method: string,
): Row {
  const [a, b] = [
    { name: what, samples: sidecar },
    { name: 'bare grpc-js', samples: bare },
  ]
  return comparedRow({ id, what, method }, unit, a, b)
}

/** A row that compares a command with Node that runs nothing. */
function besideNode(command: string, ours: readonly number[], node: readonly number[]): Row {
  return comparedRow(
    { id: `command-${command}`, what: `the command ${command}`, method: COMMAND_METHOD },
    'ms CPU',
    { name: `portcullis ${command}`, samples: ours },
    { name: 'node -e 0', samples: node },
  )
}

/** The cost of commands that ask a sidecar one question, in milliseconds of processor time. */
async function commandTimes(launcher: string, data: string, samples: number) {
  const server = await startSidecarOn(data, { launcher })
  const at = ['--address', server.ready.grpc]
  const check = ['check', 'reports', '--kind', 'static_token', '--account', '1', ...at]
  try {
    return await interleave(
      {
        node: () => nodeMs(['-e', '0']),
        check: () => runPortcullis(check, { launcher }),
        health: () => runPortcullis(['health', ...at], { launcher }),
      },
      samples,
    )
  } finally {
    await server.stop()
  }
}

/** How long each takes until it is ready, in milliseconds, several times in turns. */
async function startTimes(launcher: string, data: string, warmUps: number, starts: number) {
  const serve = [launcher, 'serve', '--json', '--grpc', '127.0.0.1:0']
  const contenders = {
    bare: () => msToReady([BARE]),
    grpc: () => msToReady([...serve, '--http', 'off', '--data', data]),
    ready: () => msToReady([...serve, ...HTTP, '--data', data]),
    dev: () => msToReady([...serve, ...HTTP, '--dev']),
  }
  // The first start makes the data folder, and brings all files into the page cache.
  await interleave(contenders, warmUps)
  return interleave(contenders, starts)
}

/** Starts a program, waits for its first line, and stops it. */
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
  const server = await startSidecar({ flags: HTTP, launcher })
  const idleBytes = await server.residentBytes()
  const { load } = await contend(server, server.ready.grpc, stack)
  const workloads = await prepareWorkloads(server.ready, load)
  await load.run(workloads.batch, batched / BATCH_LENGTH)
  await load.run(workloads.claims, unary)
  return {
    idleBytes,
    afterBytes: await server.residentBytes(),
    answersChecked: workloads.answersChecked,
  }
}
