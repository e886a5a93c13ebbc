/**
 * Calls over a channel to another process. Each call has a number, and its answer carries the same number.
 */

export class PendingCalls {
  readonly #pending = new Map<number, PromiseWithResolvers<number>>()
  #lastId = 0
  #closed: { readonly error: Error | undefined } | undefined

  /**
   * Makes a call. Resolves with its number when the answer has arrived.
   *
   * @param send sends the call with that number
   * @throws Error if the answer is an error
   */
  call(send: (id: number) => void): Promise<number> {
    const id = ++this.#lastId
    const pending = Promise.withResolvers<number>()
    this.#pending.set(id, pending)
    if (this.#closed === undefined) send(id)
    else this.answer(id, this.#closed.error)
    return pending.promise
  }

  /** Completes the call with that number. An answer to a call that is already complete is ignored. */
  answer(id: number, error?: Error): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (error === undefined) pending?.resolve(id)
    else pending?.reject(error)
  }

  /**
   * The other process is gone: pending calls and all later calls are answered immediately, with the error if
   * there is one.
   */
  close(error?: Error): void {
    this.#closed = { error }
    for (const id of this.#pending.keys()) this.answer(id, error)
  }
}
