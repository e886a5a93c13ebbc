/** Real child processes of the command line. Each is stopped by its own pid when the test file ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { eventually, newFolder, whenTheFileEnds } from './sidecar.ts'

/** Where processes run: what they make by default must not end up in the checkout. */
const workingFolder = newFolder()

/** Compiled once, not by each process: half of what a short command costs. */
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/portcullis-test', import.meta.url))

const program = fileURLToPath(new URL('../../sidecar/portcullis.js', import.meta.url))

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>
  /** What comes in on standard input; a promise: when it is there. */
  readonly input?: string | Promise<string>
  /** Where standard output goes instead of to the test: to a full disk, or to somebody who reads nothing and leaves. */
  readonly stdout?: 'full' | 'unread'
  /** Of an installed package; default: of the checkout. */
  readonly launcher?: string
}

/** How a process ended, and everything that it printed. */
export interface Ended {
  /** Exit code; `null` where a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunningProcess {
  readonly pid: number
  /** What it printed so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  signal(name: NodeJS.Signals): void
  /** Resolves when it has ended. */
  readonly ended: Promise<Ended>
}

/** Starts the command line with these arguments, and with next to nothing of this process's environment. */
export function start(
  args: readonly string[],
  { environment, input, stdout: to, launcher = program }: RunOptions = {},
): RunningProcess {
  const full = to === 'full' ? openSync('/dev/full', 'w') : undefined
  const child: ChildProcess = spawn(process.execPath, [launcher, ...args], {
    cwd: workingFolder,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ['pipe', full ?? 'pipe', 'pipe'],
  })
  if (full !== undefined) closeSync(full)
  if (to === 'unread') child.stdout?.destroy()
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  // A process that ends before it has read its input is no fault of the test's.
  child.stdin?.on('error', () => {})
  if (input instanceof Promise) void input.then((text) => child.stdin?.end(text))
  else child.stdin?.end(input ?? '')
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
  whenTheFileEnds(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
  })
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    signal: (name) => void child.kill(name),
    ended,
  }
}

/** Runs a command to its end. */
export function run(args: readonly string[], options?: RunOptions): Promise<Ended> {
  return start(args, options).ended
}

/** The line that `serve --json` prints when it is ready. */
export interface Ready {
  readonly event: 'ready'
  readonly grpc: string
  readonly http: string
  readonly matrix_digest: string
  readonly demo?: {
    readonly account: string
    readonly project: string
    readonly service_user: { readonly name: string; readonly password: string }
    readonly static_token: string
  }
}

/** Starts a sidecar on free ports, and waits until it is ready. */
export async function serve(
  args: readonly string[],
  options?: RunOptions,
): Promise<RunningProcess & { readonly ready: Ready }> {
  const child = start(['serve', '--json', '--grpc', '127.0.0.1:0', '--http', 'off', ...args], options)
  let over = false
  void child.ended.then(() => {
    over = true
  })
  const line = await eventually(() => {
    if (over) throw new Error(`the sidecar ended before it was ready: ${child.stderr()}`)
    return /^.*\n/.exec(child.stdout())?.[0]
  })
  return { ...child, ready: JSON.parse(line) as Ready }
}
