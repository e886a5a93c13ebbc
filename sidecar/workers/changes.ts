/**
 * Changes of a directory that several workers remember: all of them have forgotten before a change is acknowledged, so
 * that whoever asks after the acknowledgement is answered by what was changed, by whichever worker. The way is over the
 * primary, which alone reaches them all (`WorkerProcess.forget`).
 */
import type { Siblings } from '../directory/open.ts'
import type { FromWorker } from './messages.ts'
import { PendingCalls } from './pending-calls.ts'

/** The other workers, as a worker sees them. */
export class OtherWorkers implements Siblings {
  readonly #send: (message: FromWorker) => void
  readonly #changes = new PendingCalls()
  #forget: () => void = () => {}

  constructor(send: (message: FromWorker) => void) {
    this.#send = send
  }

  watch(forget: () => void): void {
    this.#forget = forget
  }

  async changed(): Promise<void> {
    await this.#changes.ask((id) => this.#send({ type: 'changed', id }))
  }

  /** The primary says that all have heard of a change of this worker. */
  heard(id: number): void {
    this.#changes.answer(id)
  }

  /** The primary says that another worker changed something. */
  forget(id: number): void {
    this.#forget()
    this.#send({ type: 'forgotten', id })
  }

  /** The primary is gone, and the workers are about to end: there is nobody to wait for. */
  close(): void {
    this.#changes.close()
  }
}
