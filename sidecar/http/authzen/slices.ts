/** Long work in slices: others have their turn between them, so that one request holds up nobody. */
import { setImmediate } from 'node:timers/promises'

/** How long a slice lasts, in milliseconds. A forged token costs a tenth of one. */
const SLICE_MS = 2

export class Slices {
  #endsMs = performance.now() + SLICE_MS

  /** Resolves when others had their turn; `undefined`: the slice is not over. */
  pause(): Promise<void> | undefined {
    return performance.now() < this.#endsMs ? undefined : this.#begin()
  }

  async #begin(): Promise<void> {
    await setImmediate()
    this.#endsMs = performance.now() + SLICE_MS
  }
}
