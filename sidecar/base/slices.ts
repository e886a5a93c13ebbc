/** Long work in slices: others have their turn between them, so that one request does not block the rest. */
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

/**
 * Does all steps of a generator in slices.
 *
 * @param stopped ends the work after a slice; then the promise is rejected
 */
export async function inSlices<T>(
  steps: Generator<undefined, T, undefined>,
  stopped: AbortSignal,
): Promise<T> {
  const slices = new Slices()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    const pause = slices.pause()
    if (pause === undefined) continue
    await pause
    stopped.throwIfAborted()
  }
}
