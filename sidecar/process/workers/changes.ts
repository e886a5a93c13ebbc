/**
 * Changes of what several workers cache: of the directory, and of tokens of upstreams. Every worker clears its cache before a change is acknowledged. So a
 * check after the acknowledgement sees the change, whichever worker answers it. The notification goes through the primary,
 * because only the primary has a channel to every worker (`WorkerProcess.clearCache`).
 */

import type { Siblings } from '../../directory/open-directory.ts'
import type { TokenSiblings } from '../open/profiles-in-force.ts'
import { PendingCalls } from './pending-calls.ts'
import type { FromWorker } from './worker-messages.ts'

/** The other workers, seen from one worker. */
export class OtherWorkers implements Siblings, TokenSiblings {
  readonly #send: (message: FromWorker) => void
  readonly #changes = new PendingCalls()
  #clearCache: () => void = () => {}
  #forgetToken: (digest: string) => void = () => {}

  constructor(send: (message: FromWorker) => void) {
    this.#send = send
  }

  watch(clearCache: () => void): void {
    this.#clearCache = clearCache
  }

  watchTokens(forget: (digest: string) => void): void {
    this.#forgetToken = forget
  }

  async changed(): Promise<void> {
    await this.#changes.call((id) => this.#send({ type: 'directory_changed', id }))
  }

  async tokenRevoked(digest: string): Promise<void> {
    await this.#changes.call((id) => this.#send({ type: 'directory_changed', id, token: digest }))
  }

  /** The primary acknowledges a change of this worker: all other workers have cleared their caches. */
  acknowledge(id: number): void {
    this.#changes.answer(id)
  }

  /** The primary reports a change by another worker. @param token digest of the token of an upstream that it revoked, if it was that */
  clearCache(id: number, token: string | undefined): void {
    if (token === undefined) this.#clearCache()
    else this.#forgetToken(token)
    this.#send({ type: 'cache_cleared', id })
  }

  /** The primary is gone and all workers are about to end, so pending changes need not wait. */
  close(): void {
    this.#changes.close()
  }
}
