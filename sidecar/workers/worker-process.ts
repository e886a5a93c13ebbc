/** One worker as the primary sees it: a process that is started, serves, and ends some time. */
import cluster, { type Worker } from 'node:cluster'
import type { LoginThrottle } from '../authority/throttle.ts'
import { WorkerLogins } from './logins.ts'
import type { FromPrimary, FromWorker, Listening } from './messages.ts'
import { PendingCalls } from './pending-calls.ts'

/** What the workers have in common, which the primary looks after. */
export interface Shared {
  /** Counts the failed logins of all workers. */
  readonly failedLogins: LoginThrottle
  /** Has every worker but this one forget what it remembers of the directory. */
  readonly changedBy: (worker: WorkerProcess) => Promise<void>
}

/** So many probes without a sign of life, and a worker hangs. Counted, not timed: a machine that slept may be late itself. */
export const PROBES_MAX = 3

export class WorkerProcess {
  readonly #worker: Worker
  readonly #startedMs = performance.now()
  readonly #forgetting = new PendingCalls()
  /** Whether it listens to its channel. */
  #listens = false
  /** Since it last said anything. */
  #probes = 0
  #refusal: string | undefined
  /** Resolves when it serves; rejects with why it does not. */
  readonly ready: Promise<Listening>
  /** Resolves when it has ended and has let go of its addresses: with the reason that it gave, its signal or its exit code. */
  readonly ended: Promise<string>

  /** @param order what it is told to start with */
  constructor(order: Extract<FromPrimary, { type: 'start' }>, { failedLogins, changedBy }: Shared) {
    this.#worker = cluster.fork()
    const ready = Promise.withResolvers<Listening>()
    this.ready = ready.promise
    // Whoever awaits it hears of a rejection; where nobody does, `ended` tells the same.
    this.ready.catch(() => {})
    const logins = new WorkerLogins(failedLogins)
    this.#worker.on('message', async (message: FromWorker) => {
      this.#probes = 0
      if (message.type === 'hello') {
        this.#listens = true
        this.send(order)
      } else if (message.type === 'ready') ready.resolve(message.listening)
      else if (message.type === 'login') this.send(await logins.admit(message))
      else if (message.type === 'login_settled') logins.settle(message)
      else if (message.type === 'forgotten') this.#forgetting.answer(message.id)
      else if (message.type === 'changed') {
        await changedBy(this)
        this.send({ type: 'change_heard', id: message.id })
      } else if (message.type === 'refused') {
        this.#refusal = message.message
        this.send({ type: 'stop' })
      }
    })
    this.ended = endOf(this.#worker).then((how) => {
      logins.close()
      this.#forgetting.close()
      ready.reject(new Error(this.#refusal ?? `a worker ended before it was ready, with ${how}`))
      return this.#refusal ?? how
    })
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  /** Since it was started, in milliseconds. */
  get ageMs(): number {
    return performance.now() - this.#startedMs
  }

  send(message: FromPrimary): void {
    // A worker that is gone needs no orders.
    this.#worker.send(message, () => {})
  }

  /** Resolves when it has forgotten what it remembers of the directory, has ended, or `boundMs` are over. */
  async forget(boundMs: number): Promise<void> {
    // One that was not told to start has nothing to forget.
    if (!this.#listens) return
    let impatience: NodeJS.Timeout | undefined
    await this.#forgetting.ask((id) => {
      impatience = setTimeout(() => this.#forgetting.answer(id), boundMs)
      this.send({ type: 'forget', id })
    })
    clearTimeout(impatience)
  }

  /** Asks for a sign of life. One that gave none too often is ended: connections that it was handed are answered by nobody. */
  probe(): void {
    // Before that it starts, and may take its time.
    if (!this.#listens) return
    if (this.#probes === PROBES_MAX) {
      this.#refusal = 'it gave no sign of life'
      this.kill()
    } else {
      this.#probes++
      this.send({ type: 'probe' })
    }
  }

  /** Ends it without letting calls finish. */
  kill(): void {
    this.#worker.process.kill('SIGKILL')
  }
}

/** How a worker ended. Node gives its addresses back only when its channel is closed as well. */
function endOf(worker: Worker): Promise<string> {
  const disconnected = new Promise<void>((resolve) => worker.once('disconnect', resolve))
  return new Promise((resolve) => {
    worker.once('exit', async (code, signal) => {
      await disconnected
      resolve(signal ?? `code ${code}`)
    })
    // It could not be started at all.
    worker.on('error', (error) => resolve(error.message))
  })
}
