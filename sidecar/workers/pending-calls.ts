/** PendingCalls to the process at the other end of a channel, each with a number that comes back with its answer. */

export class PendingCalls {
  readonly #waiting = new Map<number, PromiseWithResolvers<number>>()
  #lastId = 0
  #end: { readonly refusal: Error | undefined } | undefined

  /**
   * Resolves with the question's number when the answer has come.
   *
   * @param send sends the question with that number
   * @throws Error the refusal that came instead of an answer
   */
  ask(send: (id: number) => void): Promise<number> {
    const id = ++this.#lastId
    const waiting = Promise.withResolvers<number>()
    this.#waiting.set(id, waiting)
    if (this.#end === undefined) send(id)
    else this.answer(id, this.#end.refusal)
    return waiting.promise
  }

  /** Hands an answer to whoever waits for it; one that nobody waits for any more is passed over. */
  answer(id: number, refusal?: Error): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (refusal === undefined) waiting?.resolve(id)
    else waiting?.reject(refusal)
  }

  /** The other end is gone: what waits, and whatever is asked from now on, has this for an answer. */
  close(refusal?: Error): void {
    this.#end = { refusal }
    for (const id of this.#waiting.keys()) this.answer(id, refusal)
  }
}
