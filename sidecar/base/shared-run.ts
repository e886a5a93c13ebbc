/**
 * Work that many ask for at the same moment, and that is done once for all of them. Those who ask while it is
 * done share the next time: what they ask for may have come too late for this one.
 */
export class SharedRun {
  readonly #work: () => Promise<void>
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  /** Resolves when the work was begun and done after this call. */
  run(): Promise<void> {
    this.#next ??= this.#runAfter(this.#running)
    return this.#next
  }

  /** Resolves when no run is under way. */
  async settled(): Promise<void> {
    await (this.#next ?? this.#running).catch(() => {})
  }

  async #runAfter(before: Promise<void>): Promise<void> {
    await before.catch(() => {})
    this.#running = this.#next as Promise<void>
    this.#next = undefined
    await this.#work()
  }
}
