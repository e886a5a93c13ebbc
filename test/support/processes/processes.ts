/**
 * Processes that tests start, most of them of the command line. Each is stopped by its own pid when the test
 * file ends.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { HANGS_MS, newFolder, whenTheFileEnds } from '../suite/resources.ts'

/** Sources are compiled once, not by each process: that is half of what a short command costs. */
export const COMPILE_CACHE = fileURLToPath(
  new URL('../../../node_modules/.cache/portcullis-test', import.meta.url),
)

/** The program of the checkout. */
export const LAUNCHER = fileURLToPath(new URL('../../../sidecar/portcullis.js', import.meta.url))

/** The user that a process must run as. */
interface User {
  readonly uid: number
  readonly gid: number
}

export interface ProcessOptions {
  /**
   * Beside the path and the compile cache, which every process gets; nothing else of this process's
   * environment.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /**
   * The bytes on standard input; a promise: when they are there; `open`: those that `write` sends, until it
   * is stopped.
   */
  readonly input?: string | Promise<string> | 'open'
  /**
   * Where standard output goes instead of to the test: to a full disk, or to a reader that reads nothing and
   * leaves.
   */
  readonly stdout?: 'full' | 'unread'
  readonly cwd?: string
  readonly user?: User
}

/** How a process ended, and everything that it printed. */
export interface Ended {
  /** Exit code, or the signal that ended it. */
  readonly code: number | NodeJS.Signals
  readonly stdout: string
  readonly stderr: string
}

export interface RunningProcess {
  readonly pid: number
  /** Its output so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  /**
   * Resolves with what `look` finds; it looks whenever the process has printed. Rejects where the process
   * ends before.
   */
  until<T>(look: () => T | null | undefined | false): Promise<T>
  /** Calls back with every line that it prints on standard output from now on. */
  onLine(listener: (line: string) => void): void
  write(text: string): void
  signal(name: NodeJS.Signals): void
  /** Ends it with SIGTERM, or by the end of its input where that is open. */
  stop(): Promise<Ended>
  /** Resolves when it has ended. */
  readonly ended: Promise<Ended>
}

/** Starts a program, by default in a folder where it may leave what it likes. */
export function startProcess(
  [command = '', ...args]: readonly string[],
  { environment, input = '', stdout: to, cwd = tmpdir(), user }: ProcessOptions = {},
): RunningProcess {
  const full = to === 'full' ? openSync('/dev/full', 'w') : undefined
  const child = spawn(command, args, {
    ...user,
    cwd,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...environment },
    stdio: ['pipe', full ?? 'pipe', 'pipe'],
  })
  if (full !== undefined) closeSync(full)
  if (to === 'unread') child.stdout?.destroy()
  const output = collected(child)
  // The test is not to blame for a process that ends before it has read its input.
  child.stdin?.on('error', () => {})
  if (input instanceof Promise) void input.then((text) => child.stdin?.end(text))
  else if (input !== 'open') child.stdin?.end(input)
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code: code ?? signal ?? 0, ...output }))
  })
  // Code that waits for the end gets the error. Other processes may end as they like.
  ended.catch(() => {})
  whenTheFileEnds(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
  })
  return {
    pid: child.pid ?? 0,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    until: (look) => printed(child, ended, look),
    onLine: (listener) => {
      if (child.stdout !== null) createInterface(child.stdout).on('line', listener)
    },
    write: (text) => void child.stdin?.write(text),
    signal: (name) => void child.kill(name),
    stop: () => {
      if (input === 'open') child.stdin?.end()
      else child.kill('SIGTERM')
      return ended
    },
    ended,
  }
}

function collected({ stdout, stderr }: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' }
  stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text
  })
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text
  })
  return output
}

async function printed<T>(
  { stdout, stderr }: ChildProcess,
  ended: Promise<Ended>,
  look: () => T | null | undefined | false,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const lookAgain = () => {
    const found = look()
    if (found !== undefined && found !== null && found !== false) resolve(found)
  }
  stdout?.on('data', lookAgain)
  stderr?.on('data', lookAgain)
  lookAgain()
  ended.then(({ code, stderr: complaint }) => {
    reject(new Error(`the process ended with ${code}: ${complaint}`))
  }, reject)
  try {
    return await promise
  } finally {
    stdout?.off('data', lookAgain)
    stderr?.off('data', lookAgain)
  }
}

export interface RunOptions extends ProcessOptions {
  /** Of an installed package; default: of the checkout. */
  readonly launcher?: string
  /** How many files and connections it may open; default: as many as this process. */
  readonly descriptors?: number | undefined
}

/** Starts the command line with these arguments. */
export function start(
  args: readonly string[],
  { launcher = LAUNCHER, descriptors, ...options }: RunOptions = {},
): RunningProcess {
  // A busy machine must not look like a sidecar that does not answer.
  const asks = args.includes('--address') && !args.includes('--deadline')
  const patience = asks ? ['--deadline', `${HANGS_MS}`] : []
  const limit = descriptors === undefined ? [] : ['sh', '-c', `ulimit -n ${descriptors} && exec "$0" "$@"`]
  return startProcess([...limit, process.execPath, launcher, ...args, ...patience], {
    cwd: newFolder(),
    ...options,
  })
}

/** Runs a command to its end. */
export function run(args: readonly string[], options?: RunOptions): Promise<Ended> {
  return start(args, options).ended
}

/** Memory of a process in megabytes; 0 on systems that cannot report it. @throws Error where it has ended */
export function residentMb(pid: number): number {
  if (process.platform !== 'linux') return 0
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  // One that has ended and is not waited for yet is still listed.
  if (kilobytes === undefined) throw new Error(`process ${pid} has ended`)
  return Math.round(Number(kilobytes) / 1024)
}

/** The line that `serve --json` prints when it is ready. */
export interface Ready {
  readonly event: 'ready'
  readonly grpc: string
  readonly http: string
  readonly health?: string
  readonly matrix_digest: string
  /** With `--dev`. */
  readonly demo?: Demo
}

/** The users in the directory of a development sidecar. */
export interface Demo {
  readonly account: string
  readonly project: string
  readonly service_user: { readonly name: string; readonly password: string }
  readonly static_token: string
}

export interface Served extends RunningProcess {
  readonly ready: Ready
}

/**
 * Starts a sidecar, on free ports and without HTTP where nothing else is said, and waits until it is ready.
 */
export async function serve(args: readonly string[], options?: RunOptions): Promise<Served> {
  const child = start(['serve', '--json', '--grpc', '127.0.0.1:0', '--http', 'off', ...args], {
    ...options,
    // A busy machine must not look like a worker that hangs.
    environment: { PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '3600000', ...options?.environment },
  })
  const line = await child.until(() => /^.*\n/.exec(child.stdout())?.[0])
  return { ...child, ready: JSON.parse(line) as Ready }
}

/** Starts a development sidecar, on free ports where nothing else is said, and waits until it is ready. */
export async function serveDemo(
  args: readonly string[] = [],
  options?: RunOptions,
): Promise<Served & { readonly demo: Demo }> {
  const child = await serve(['--dev', ...args], options)
  const { demo } = child.ready
  if (demo === undefined) throw new Error('the development sidecar has no demo account')
  return { ...child, demo }
}
