/** One worker as the primary sees it: a process that is started, serves, and ends some time. */
import cluster, { type Worker } from 'node:cluster'
import type { LoginThrottle } from '../authority/throttle.ts'
import { answerLogin } from './logins.ts'
import type { FromPrimary, FromWorker, Listening } from './messages.ts'

export class WorkerProcess {
  readonly #worker: Worker
  readonly #startedMs = performance.now()
  /** Resolves when it serves; rejects with why it does not. */
  readonly ready: Promise<Listening>
  /** Resolves when it has ended and has let go of its addresses: with the reason that it gave, its signal or its exit code. */
  readonly ended: Promise<string>

  /**
   * @param order what it is told to start with
   * @param failedLogins counts the failed logins of all workers
   */
  constructor(order: Extract<FromPrimary, { type: 'start' }>, failedLogins: LoginThrottle) {
    this.#worker = cluster.fork()
    const ready = Promise.withResolvers<Listening>()
    this.ready = ready.promise
    // Whoever awaits it hears of a rejection; where nobody does, `ended` tells the same.
    this.ready.catch(() => {})
    let refusal: string | undefined
    this.#worker.on('message', async (message: FromWorker) => {
      if (message.type === 'hello') this.send(order)
      else if (message.type === 'ready') ready.resolve(message.listening)
      else if (message.type === 'login') this.send(await answerLogin(failedLogins, message))
      else if (message.type === 'refused') {
        refusal = message.message
        this.send({ type: 'stop' })
      }
    })
    this.ended = endOf(this.#worker).then((how) => {
      ready.reject(new Error(refusal ?? `a worker ended before it was ready, with ${how}`))
      return refusal ?? how
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
