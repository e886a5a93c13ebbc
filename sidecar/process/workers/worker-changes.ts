/**
 * Changes of what several workers remember: of the directory, and of tokens of upstreams. Every worker hears
 * of a change before it is acknowledged. So a check after the acknowledgement sees the change, whichever
 * worker answers it. The notification goes through the primary, because only the primary has a channel to
 * every worker (`WorkerProcess.hear`).
 */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import type { FeedRecord } from '../../directory/feed/touches.ts'
import type { Siblings } from '../../directory/open-directory.ts'
import type { TokenSiblings } from '../open/profiles-in-force.ts'
import { PendingCalls } from './pending-calls.ts'
import type { FromWorker, WorkerChange } from './worker-messages.ts'

/** The other workers, seen from one worker. */
export class OtherWorkers implements Siblings, TokenSiblings {
  readonly #send: (message: FromWorker) => void
  readonly #changes = new PendingCalls()
  #hear: (records: readonly FeedRecord[]) => MaybePromise<void> = () => {}
  #forgetToken: (digest: string) => void = () => {}

  constructor(send: (message: FromWorker) => void) {
    this.#send = send
  }

  watch(hear: (records: readonly FeedRecord[]) => MaybePromise<void>): void {
    this.#hear = hear
  }

  watchTokens(forget: (digest: string) => void): void {
    this.#forgetToken = forget
  }

  async changed(records: readonly FeedRecord[]): Promise<void> {
    await this.#changes.call((id) => this.#send({ type: 'changed', id, change: { records } }))
  }

  async tokenRevoked(digest: string): Promise<void> {
    await this.#changes.call((id) => this.#send({ type: 'changed', id, change: { token: digest } }))
  }

  /** The primary acknowledges a change of this worker: all other workers know of it. */
  acknowledge(id: number): void {
    this.#changes.answer(id)
  }

  /** The primary reports a change by another worker. */
  hear(id: number, change: WorkerChange): void {
    const heard = 'records' in change ? this.#hear(change.records) : this.#forgetToken(change.token)
    void andThen(heard, () => this.#send({ type: 'change_heard', id }))
  }

  /** The primary is gone and all workers are about to end, so pending changes need not wait. */
  close(): void {
    this.#changes.close()
  }
}
