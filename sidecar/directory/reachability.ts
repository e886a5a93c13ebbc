/**
 * Whether the shared database can be reached. The connection for notifications shows that it can, at no cost. Where that connection is
 * lost, the database is asked by way of the pool, because it may answer queries all the same.
 */
import { setTimeout as delay } from 'node:timers/promises'

/** Time between two questions while there is no connection for notifications, in milliseconds. */
const ASK_MS = 1_000

export class Reachability {
  readonly #ask: () => Promise<unknown>
  readonly #graceMs: number
  readonly #onChanged: (reachable: boolean) => void
  /** Ends the questions; `undefined`: none are asked. */
  #asking: AbortController | undefined
  #reachable = true

  /**
   * @param ask a query that costs nothing
   * @param graceMs how long the database may not answer before it is not reachable, in milliseconds
   */
  constructor(ask: () => Promise<unknown>, graceMs: number, onChanged: (reachable: boolean) => void) {
    this.#ask = ask
    this.#graceMs = graceMs
    this.#onChanged = onChanged
  }

  /** The connection for notifications is there (`on`), or lost. */
  listening(on: boolean): void {
    this.#asking?.abort()
    this.#asking = undefined
    if (on) this.#tell(true)
    else {
      this.#asking = new AbortController()
      void this.#askUntil(this.#asking.signal)
    }
  }

  close(): void {
    this.#asking?.abort()
  }

  async #askUntil(signal: AbortSignal): Promise<void> {
    let answeredAtMs = performance.now()
    while (!signal.aborted) {
      const answers = await this.#ask().then(
        () => true,
        () => false,
      )
      if (signal.aborted) return
      const nowMs = performance.now()
      if (answers) answeredAtMs = nowMs
      if (answers || nowMs - answeredAtMs >= this.#graceMs) this.#tell(answers)
      await delay(ASK_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  #tell(reachable: boolean): void {
    if (reachable === this.#reachable) return
    this.#reachable = reachable
    this.#onChanged(reachable)
  }
}
