/**
 * Servers under load. Each runs in a separate process, so that its processor time is not counted with ours.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { type Cost, measureCost } from './cost.ts'
import type { Latencies } from './latency.ts'

const REPORT_USAGE = pathToFileURL(join(import.meta.dirname, 'report-usage.js')).href

/** A process under load, ours or foreign. They differ in how their processor time is read. */
export abstract class MeasuredProcess {
  protected readonly child: ChildProcess

  protected constructor(child: ChildProcess) {
    this.child = child
  }

  /** Processor time since the start, in microseconds: all threads, user and system, workers included. */
  abstract cpuMicroseconds(): number | Promise<number>

  /** The cost of each call. @param work makes that number of calls */
  costPerCall(calls: number, work: () => Promise<Latencies>): Promise<Cost> {
    return measureCost(calls, () => this.cpuMicroseconds(), work)
  }

  /** Ends the server at once, as a machine that fails. */
  kill(): void {
    this.child.kill('SIGKILL')
  }

  /** Asks the server to stop, and waits until it has. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exit = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    await exit
  }
}

/** A program of this project. It reports its processor time and memory itself (report-usage.js). */
export class ServerProcess<Ready> extends MeasuredProcess {
  /** The line that the server printed when it was ready. */
  readonly ready: Ready

  private constructor(child: ChildProcess, ready: Ready) {
    super(child)
    this.ready = ready
  }

  /** Starts a program that prints one line of JSON when it is ready. @throws Error if it ends before that */
  static async start<Ready>(
    program: string,
    programArguments: readonly string[],
    nodeFlags: readonly string[] = [],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<ServerProcess<Ready>> {
    const child = spawn(
      process.execPath,
      ['--expose-gc', ...nodeFlags, '--import', REPORT_USAGE, program, ...programArguments],
      { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], env: { ...process.env, ...environment } },
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

  /** Resident memory of the process after a garbage collection. */
  residentBytes(): Promise<number> {
    return this.#ask('memory')
  }

  /**
   * After a collection that also gives the pages back which V8 would keep for later: later growth is in use.
   */
  trimmedResidentBytes(): Promise<number> {
    return this.#ask('trimmed-memory')
  }

  /** The size of V8's old generation, with garbage that was not collected. */
  oldGenerationBytes(): Promise<number> {
    return this.#ask('old')
  }

  /**
   * For how long the event loop was blocked at most since the last such question, in microseconds. The first
   * one begins to watch.
   */
  longestBlockMicroseconds(): Promise<number> {
    return this.#ask('block')
  }

  async #ask(what: 'cpu' | 'memory' | 'trimmed-memory' | 'old' | 'block'): Promise<number> {
    const answer = once(this.child, 'message')
    this.child.send(what)
    const [value] = await answer
    return value as number
  }
}
