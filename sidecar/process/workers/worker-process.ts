/** One worker process, seen from the primary: from its start to its end. */
import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LoginThrottle } from '../../authority/throttle.ts'
import type { HealthState } from '../../base/health.ts'
import type { Metric } from '../../base/metrics.ts'
import type { Listener } from '../../base/net/connections.ts'
import { isExecutable } from '../../base/package.ts'
import { youngGenerationFlags } from '../../base/young-generation.ts'
import type { Reporter } from './group-health.ts'
import { WorkerLogins } from './logins.ts'
import { PendingCalls } from './pending-calls.ts'
import type { Receiver, SharedListener } from './shared-listener.ts'
import {
  type FromPrimary,
  type FromWorker,
  type ListenRequest,
  STATEMENT_CHANNEL,
  type WorkerChange,
  type WorkerServing,
} from './worker-messages.ts'

/** The services of the primary for all of its workers. */
export interface SharedServices {
  /** Counts the failed logins of all workers. */
  readonly failedLogins: LoginThrottle
  /** Tells every other worker of a change. Resolves when they know of it. */
  readonly tellOthers: (changer: WorkerProcess, change: WorkerChange) => Promise<void>
  /** Listens on an address for all workers. @throws Error if the address is in use */
  readonly listen: (request: ListenRequest) => Promise<SharedListener>
  /** Takes note of a worker's health. */
  readonly health: (worker: WorkerProcess, state: HealthState) => void
}

/**
 * A worker hangs if it has not answered this many probes, and another one answers. Probes are counted because
 * a time limit could not distinguish a hanging worker from a machine that was asleep.
 */
export const PROBES_MAX = 4

/** From one answer to the end of a worker that gives no other. */
export const PROBE_INTERVALS = PROBES_MAX + 1

/**
 * Where no other worker answers either, the machine may be slow, and it gets worse by starting workers. Where
 * a statement of SQLite blocks the worker, the disk may be slow.
 */
const PATIENT_PROBES_MAX = 10 * PROBE_INTERVALS - 1

/** A worker that is not ready after this many probes without an answer has stopped while it started. */
const STARTING_PROBES_MAX = 100 * PROBE_INTERVALS - 1

/** How long a worker may take to say its metrics, in milliseconds. Prometheus waits for ten seconds. */
const METRICS_MS_MAX = 2_000

/** Turns of the event loop after the end of a process, within which everything that it wrote has arrived. */
const LAST_TURNS_MAX = 1_000

export class WorkerProcess implements Receiver, Reporter {
  readonly #process: ChildProcess
  readonly #shared: SharedServices
  readonly #logins: WorkerLogins
  readonly #listeners = new Map<Listener, SharedListener>()
  readonly #startedMs = performance.now()
  readonly #changes = new PendingCalls()
  readonly #collections = new PendingCalls()
  #lastMetrics: readonly Metric[] = []
  readonly #ready = Promise.withResolvers<WorkerServing>()
  #over = false
  /** Whether the worker listens to its channel. */
  #channelOpen = false
  /** Probes since the worker's last message. */
  #unansweredProbes = 0
  /** @see STATEMENT_CHANNEL */
  readonly #statementChannel: Duplex
  /** Whether it ran a statement of SQLite when it was probed last. */
  #runsStatement = false
  /** Why the worker could not start, or why it was killed. */
  #failure: string | undefined
  /** Whether the worker has served. */
  #served = false
  /** Resolves when the worker serves. Rejects with the reason if it cannot. */
  readonly ready: Promise<WorkerServing> = this.#ready.promise
  /** Resolves when the worker has ended: with the failure, the signal or the exit code. */
  readonly ended: Promise<string>

  /**
   * @param program the worker's program
   * @param command is sent to the worker as soon as it listens
   */
  constructor(program: string, command: Extract<FromPrimary, { type: 'start' }>, shared: SharedServices) {
    this.#shared = shared
    this.#logins = new WorkerLogins(shared.failedLogins)
    // SIGUSR1 must not open the inspector. The launcher sees to that in the primary.
    const flags = [...process.execArgv, ...youngGenerationFlags(command.config), '--disable-sigusr1']
    // To the executable they would be arguments, and it has the last one built in.
    this.#process = fork(program, {
      execArgv: isExecutable ? [] : flags,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc', 'pipe'],
    })
    this.#statementChannel = this.#process.stdio[STATEMENT_CHANNEL] as Duplex
    this.#statementChannel.on('data', () => {
      this.#runsStatement = true
    })
    // A worker without SQLite closes it, and so does the end of a worker.
    this.#statementChannel.on('error', () => {})
    // An unhandled rejection would end the process. `ended` reports the same reason.
    this.ready.catch(() => {})
    this.#process.on('message', (message: FromWorker) => {
      this.#unansweredProbes = 0
      if (message.type === 'hello') {
        this.#channelOpen = true
        this.send(command)
      } else void this.#receive(message)
    })
    this.ended = endOf(this.#process).then((how) => this.#close(how))
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Time since the worker was started, in milliseconds. */
  get ageMs(): number {
    return performance.now() - this.#startedMs
  }

  /** Whether the worker was ready before it ended. */
  get served(): boolean {
    return this.#served
  }

  send(message: FromPrimary): void {
    // Errors are ignored: a worker that is gone needs no message.
    this.#process.send(message, () => {})
  }

  giveConnection(listener: Listener, connection: Socket): void {
    // The primary keeps its copy until the worker has confirmed that it has the connection.
    this.#process.send({ type: 'connection', listener }, connection, { keepOpen: true }, () => {})
  }

  /** Resolves when the worker knows of the change of the directory, or has ended, or after `timeoutMs`. */
  async hear(timeoutMs: number, change: WorkerChange): Promise<void> {
    await this.#ask(this.#changes, timeoutMs, (id) => ({ type: 'hear_change', id, change }))
  }

  /**
   * Resolves when the worker has forgotten the token, or has ended. It is killed if it does neither within
   * `timeoutMs`.
   */
  async forgetToken(timeoutMs: number, token: string): Promise<void> {
    if (await this.#ask(this.#changes, timeoutMs, (id) => ({ type: 'hear_change', id, change: { token } })))
      return
    // One that has not begun to serve has no token yet, and may take its time.
    if (this.#listeners.size === 0) return
    this.#fail(`it did not forget a token within ${timeoutMs} ms`)
    await this.ended
  }

  async collect(): Promise<void> {
    await this.#ask(this.#collections, METRICS_MS_MAX, (id) => ({ type: 'collect', id }))
  }

  get lastMetrics(): readonly Metric[] {
    return this.#lastMetrics
  }

  /**
   * @returns whether the worker has answered, has ended or has not started, and not only the time has passed
   */
  async #ask(calls: PendingCalls, timeoutMs: number, message: (id: number) => FromPrimary): Promise<boolean> {
    // A worker that has not started yet has no state.
    if (!this.#channelOpen) return true
    let isLate = false
    let timer: NodeJS.Timeout | undefined
    await calls.call((id) => {
      timer = setTimeout(() => {
        isLate = true
        calls.answer(id)
      }, timeoutMs)
      this.send(message(id))
    })
    clearTimeout(timer)
    return !isLate
  }

  /** Whether the worker serves, and has answered the last probe. */
  get responds(): boolean {
    return this.#served && this.#unansweredProbes === 0
  }

  /**
   * Sends a probe. Kills the worker after too many unanswered probes, because its connections get no answers.
   *
   * @param isLonely whether no other worker shows that the machine has time for them
   */
  probe(isLonely: boolean): void {
    // A worker that is still starting may take its time.
    const most = !this.#served
      ? STARTING_PROBES_MAX
      : isLonely || this.#runsStatement
        ? PATIENT_PROBES_MAX
        : PROBES_MAX
    this.#runsStatement = false
    if (this.#unansweredProbes >= most) this.#fail(`it did not answer ${this.#unansweredProbes} probes`)
    else {
      this.#unansweredProbes++
      if (this.#channelOpen) this.send({ type: 'probe' })
      if (this.#statementChannel.writable) this.#statementChannel.write('?')
    }
  }

  #fail(failure: string): void {
    this.#failure = failure
    this.kill()
  }

  /** Ends the worker immediately, without waiting for calls in progress. */
  kill(): void {
    this.#process.kill('SIGKILL')
  }

  async #receive(message: Exclude<FromWorker, { type: 'hello' }>): Promise<void> {
    if (message.type === 'ready') {
      this.#served = true
      this.#ready.resolve(message.serving)
    } else if (message.type === 'health') this.#shared.health(this, message.state)
    else if (message.type === 'listen') await this.#listen(message)
    else if (message.type === 'connection_taken') this.#listeners.get(message.listener)?.taken(this)
    else if (message.type === 'connection_refused' || message.type === 'listener_closed')
      this.#listeners.get(message.listener)?.remove(this)
    else if (message.type === 'login') this.send(await this.#logins.admit(message))
    else if (message.type === 'login_settled') this.#logins.settle(message)
    else if (message.type === 'change_heard') this.#changes.answer(message.id)
    else if (message.type === 'metrics') {
      this.#lastMetrics = message.metrics
      this.#collections.answer(message.id)
    } else if (message.type === 'changed') {
      await this.#shared.tellOthers(this, message.change)
      this.send({ type: 'change_acknowledged', id: message.id })
    } else if (message.type === 'start_failed') {
      this.#failure = message.message
      this.send({ type: 'stop' })
    }
  }

  async #listen(request: ListenRequest): Promise<void> {
    const { id, listener } = request
    try {
      const opened = await this.#shared.listen(request)
      if (this.#over) return
      this.#listeners.set(listener, opened)
      this.send({ type: 'listening', id, address: opened.address })
      opened.add(this)
    } catch (error) {
      this.send({ type: 'listening', id, error: (error as Error).message })
    }
  }

  #close(how: string): string {
    this.#over = true
    // From now on nothing waits for this worker: its connections, its logins and its share of a change are
    // others' or done.
    for (const listener of this.#listeners.values()) listener.remove(this)
    this.#logins.close()
    this.#changes.close()
    this.#collections.close()
    this.#ready.reject(new Error(this.#failure ?? `a worker ended before it was ready, with ${how}`))
    return this.#failure ?? how
  }
}

/**
 * Resolves with the signal or the exit code when the process has ended. Node may never emit `disconnect` for
 * a process that dies with an unread connection in its channel, so only `exit` counts.
 */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', async (code, signal) => {
      // The worker's last messages are still in the channel, for example that it has a connection.
      for (let turn = 0; child.connected && turn < LAST_TURNS_MAX; turn++) await nextTurn()
      resolve(signal ?? `code ${code}`)
    })
    // Without an identity, the process could not be created. Any other error is about a message to a worker
    // that is gone.
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(error.message)
    })
  })
}
