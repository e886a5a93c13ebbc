/**
 * Whether the shared database can be reached. The connection for notifications shows that it can. Where that
 * connection is lost, the questions for changes show it, because the database may answer queries all the
 * same.
 */
export class Reachability {
  readonly #graceMs: number
  readonly #onChanged: (reachable: boolean) => void
  #listening = false
  #reachable = true
  /** Since when it has not answered. */
  #silentSinceMs: number | undefined

  /** @param graceMs how long the database may not answer before it is not reachable, in milliseconds */
  constructor(graceMs: number, onChanged: (reachable: boolean) => void = () => {}) {
    this.#graceMs = graceMs
    this.#onChanged = onChanged
  }

  /** The connection for notifications is there (`on`), or lost. */
  listening(on: boolean): void {
    this.#listening = on
    this.#note(on)
  }

  /** A question was answered, or not. */
  answered(answered: boolean): void {
    if (!this.#listening || answered) this.#note(answered)
  }

  #note(answers: boolean): void {
    const nowMs = performance.now()
    this.#silentSinceMs = answers ? undefined : (this.#silentSinceMs ?? nowMs)
    if (answers || nowMs - (this.#silentSinceMs ?? nowMs) >= this.#graceMs) this.#tell(answers)
  }

  #tell(reachable: boolean): void {
    if (reachable === this.#reachable) return
    this.#reachable = reachable
    this.#onChanged(reachable)
  }
}
