/** One worker process, seen from the primary: from its start to its end. */
import cluster, { type Worker } from 'node:cluster'
import type { LoginThrottle } from '../authority/throttle.ts'
import { WorkerLogins } from './logins.ts'
import type { FromPrimary, FromWorker, Listening } from './messages.ts'
import { PendingCalls } from './pending-calls.ts'

/** What the primary does for all of its workers. */
export interface SharedServices {
  /** Counts the failed logins of all workers. */
  readonly failedLogins: LoginThrottle
  /** Makes every other worker clear its cache of the directory. Resolves when they have. */
  readonly clearOtherCaches: (changer: WorkerProcess) => Promise<void>
}

/**
 * A worker hangs if it has not answered this many probes. Probes are counted because a time limit could not tell a worker
 * that hangs from a machine that was asleep.
 */
export const PROBES_MAX = 3

export class WorkerProcess {
  readonly #worker: Worker
  readonly #startedMs = performance.now()
  readonly #cacheClears = new PendingCalls()
  /** Whether the worker listens to its channel. */
  #channelOpen = false
  /** Probes since the worker's last message. */
  #unansweredProbes = 0
  /** Why the worker could not start, or why it was killed. */
  #failure: string | undefined
  /** Resolves when the worker serves. Rejects with the reason if it cannot. */
  readonly ready: Promise<Listening>
  /** Resolves when the worker has ended and its addresses are free: with the failure, the signal or the exit code. */
  readonly ended: Promise<string>

  /** @param command is sent to the worker as soon as it listens */
  constructor(
    command: Extract<FromPrimary, { type: 'start' }>,
    { failedLogins, clearOtherCaches }: SharedServices,
  ) {
    this.#worker = cluster.fork()
    const ready = Promise.withResolvers<Listening>()
    this.ready = ready.promise
    // A rejection that nobody awaits would end the process. `ended` reports the same reason.
    this.ready.catch(() => {})
    const logins = new WorkerLogins(failedLogins)
    this.#worker.on('message', async (message: FromWorker) => {
      this.#unansweredProbes = 0
      if (message.type === 'hello') {
        this.#channelOpen = true
        this.send(command)
      } else if (message.type === 'ready') ready.resolve(message.listening)
      else if (message.type === 'login') this.send(await logins.admit(message))
      else if (message.type === 'login_settled') logins.settle(message)
      else if (message.type === 'cache_cleared') this.#cacheClears.answer(message.id)
      else if (message.type === 'directory_changed') {
        await clearOtherCaches(this)
        this.send({ type: 'change_acknowledged', id: message.id })
      } else if (message.type === 'start_failed') {
        this.#failure = message.message
        this.send({ type: 'stop' })
      }
    })
    this.ended = endOf(this.#worker).then((how) => {
      logins.close()
      this.#cacheClears.close()
      ready.reject(new Error(this.#failure ?? `a worker ended before it was ready, with ${how}`))
      return this.#failure ?? how
    })
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  /** Time since the worker was started, in milliseconds. */
  get ageMs(): number {
    return performance.now() - this.#startedMs
  }

  send(message: FromPrimary): void {
    // Errors are ignored: a worker that is gone needs no message.
    this.#worker.send(message, () => {})
  }

  /** Resolves when the worker has cleared its cache of the directory, or has ended, or after `timeoutMs`. */
  async clearCache(timeoutMs: number): Promise<void> {
    // A worker that has not started yet has no cache.
    if (!this.#channelOpen) return
    let timer: NodeJS.Timeout | undefined
    await this.#cacheClears.call((id) => {
      timer = setTimeout(() => this.#cacheClears.answer(id), timeoutMs)
      this.send({ type: 'clear_cache', id })
    })
    clearTimeout(timer)
  }

  /** Sends a probe. Kills the worker after too many unanswered probes, because its connections get no answers. */
  probe(): void {
    // A worker that is still starting may take its time.
    if (!this.#channelOpen) return
    if (this.#unansweredProbes === PROBES_MAX) {
      this.#failure = `it did not answer ${PROBES_MAX} probes`
      this.kill()
    } else {
      this.#unansweredProbes++
      this.send({ type: 'probe' })
    }
  }

  /** Ends the worker immediately, without waiting for calls in progress. */
  kill(): void {
    this.#worker.process.kill('SIGKILL')
  }
}

/** Resolves with the signal or the exit code of a worker. Node frees its addresses only when its channel is closed too. */
function endOf(worker: Worker): Promise<string> {
  const disconnected = new Promise<void>((resolve) => worker.once('disconnect', resolve))
  return new Promise((resolve) => {
    worker.once('exit', async (code, signal) => {
      await disconnected
      resolve(signal ?? `code ${code}`)
    })
    // The process could not be created.
    worker.on('error', (error) => resolve(error.message))
  })
}
