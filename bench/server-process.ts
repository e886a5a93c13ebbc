/** Servers under load, each in a process of its own, so that the processor time it uses is its own too. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const REPORT_CPU = pathToFileURL(join(import.meta.dirname, 'report-cpu.js')).href

/** What each of many calls takes, in microseconds. */
export interface Cost {
  /** Processor time of the server: all threads, user and system. */
  readonly cpu: number
  /** Time on the clock, divided by the calls: the inverse of their rate, not how long each waits. */
  readonly time: number
}

/** A process under load, ours or foreign: what differs is how its processor time is learned. */
export abstract class MeasuredProcess {
  protected readonly child: ChildProcess

  protected constructor(child: ChildProcess) {
    this.child = child
  }

  /** Processor time used since the start, in microseconds: all threads, user and system, and of its workers. */
  abstract cpuMicroseconds(): number | Promise<number>

  /** What the work costs for each of the calls that it makes. */
  async costPerCall(calls: number, work: () => Promise<void>): Promise<Cost> {
    const cpuBefore = await this.cpuMicroseconds()
    const startMs = performance.now()
    await work()
    const elapsedMs = performance.now() - startMs
    return {
      cpu: ((await this.cpuMicroseconds()) - cpuBefore) / calls,
      time: (elapsedMs * 1000) / calls,
    }
  }

  /** Processor time for each of so many calls, in microseconds. */
  async cpuPerCall(calls: number, work: () => Promise<void>): Promise<number> {
    return (await this.costPerCall(calls, work)).cpu
  }

  /** Lets the server end in its own way. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exit = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    await exit
  }
}

/** A program of this project, which tells its processor time itself (report-cpu.js). */
export class ServerProcess<Ready> extends MeasuredProcess {
  /** What the server printed when it was ready. */
  readonly ready: Ready

  private constructor(child: ChildProcess, ready: Ready) {
    super(child)
    this.ready = ready
  }

  /**
   * Starts a program that prints one line of JSON when it is ready.
   *
   * @param nodeFlags flags of Node itself
   */
  static async start<Ready>(
    program: string,
    programArguments: readonly string[],
    nodeFlags: readonly string[] = [],
  ) {
    const child = spawn(
      process.execPath,
      ['--expose-gc', ...nodeFlags, '--import', REPORT_CPU, program, ...programArguments],
      { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
    )
    if (child.stdout === null) throw new Error('expected a pipe for what the server prints')
    const line = await Promise.race([
      once(createInterface(child.stdout), 'line'),
      once(child, 'exit').then(([code]) => {
        throw new Error(`${program} ended with code ${code} before it was ready`)
      }),
    ])
    return new ServerProcess<Ready>(child, JSON.parse(line[0] as string) as Ready)
  }

  override cpuMicroseconds(): Promise<number> {
    return this.#ask('cpu')
  }

  /** Memory that the process occupies, after it has collected what it no longer needs. */
  residentBytes(): Promise<number> {
    return this.#ask('memory')
  }

  async #ask(what: 'cpu' | 'memory'): Promise<number> {
    const answer = once(this.child, 'message')
    this.child.send(what)
    const [value] = await answer
    return value as number
  }
}

/** The sidecar's launcher in this checkout, which runs the sources. */
const LAUNCHER = join(import.meta.dirname, '..', 'sidecar', 'portcullis.js')

/** Flags of `serve` for a run beside others: free ports, no HTTP, and one line of JSON when it is ready. */
const SERVE = ['serve', '--json', '--grpc', '127.0.0.1:0', '--http', 'off']

/** The development sidecar as anyone starts it, default configuration; the ports are free ones, and nothing else differs. */
export function startSidecarProcess(
  flags: readonly string[] = [],
  launcher = LAUNCHER,
  nodeFlags: readonly string[] = [],
): Promise<ServerProcess<SidecarReady>> {
  return ServerProcess.start(launcher, [...SERVE, '--dev', ...flags], nodeFlags)
}

/** A sidecar on a data folder that is there already. */
export function startSidecarOn(
  dataFolder: string,
  flags: readonly string[] = [],
  launcher = LAUNCHER,
): Promise<ServerProcess<Pick<SidecarReady, 'grpc' | 'matrix_digest'>>> {
  return ServerProcess.start(launcher, [...SERVE, '--data', dataFolder, ...flags])
}

export interface SidecarReady {
  readonly grpc: string
  /** Where HTTP listens, or `off`. */
  readonly http: string
  readonly matrix_digest: string
  readonly demo: {
    readonly account: string
    readonly project: string
    readonly service_user: { readonly name: string; readonly password: string }
    readonly static_token: string
  }
}

/** The floor: see `constant-server.ts`. */
export function startConstantServer(
  answerBytes: number,
  ...work: readonly 'signature'[]
): Promise<ServerProcess<{ readonly grpc: string }>> {
  return ServerProcess.start(join(import.meta.dirname, 'constant-server.ts'), [String(answerBytes), ...work])
}

/** Below the floor: see `bare-http2-server.ts`. */
export function startBareHttp2Server(answerBytes: number): Promise<ServerProcess<{ readonly grpc: string }>> {
  return ServerProcess.start(join(import.meta.dirname, 'bare-http2-server.ts'), [String(answerBytes)])
}
