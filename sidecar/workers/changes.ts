/**
 * Changes of a directory that several workers cache. Every worker clears its cache before a change is acknowledged. So a
 * check after the acknowledgement sees the change, whichever worker answers it. The notification goes through the primary,
 * because only the primary has a channel to every worker (`WorkerProcess.clearCache`).
 */
import type { Siblings } from '../directory/open.ts'
import type { FromWorker } from './messages.ts'
import { PendingCalls } from './pending-calls.ts'

/** The other workers, seen from one worker. */
export class OtherWorkers implements Siblings {
  readonly #send: (message: FromWorker) => void
  readonly #changes = new PendingCalls()
  #clearCache: () => void = () => {}

  constructor(send: (message: FromWorker) => void) {
    this.#send = send
  }

  watch(clearCache: () => void): void {
    this.#clearCache = clearCache
  }

  async changed(): Promise<void> {
    await this.#changes.call((id) => this.#send({ type: 'directory_changed', id }))
  }

  /** The primary acknowledges a change of this worker: all other workers have cleared their caches. */
  acknowledge(id: number): void {
    this.#changes.answer(id)
  }

  /** The primary reports a change by another worker. */
  clearCache(id: number): void {
    this.#clearCache()
    this.#send({ type: 'cache_cleared', id })
  }

  /** The primary is gone and all workers are about to end, so pending changes need not wait. */
  close(): void {
    this.#changes.close()
  }
}
