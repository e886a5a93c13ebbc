/**
 * Long work a slice at a time. A worker cannot do it: Trusted Types keep the page from starting one, and from
 * every other page.
 */
import type { Steps } from '../../engine/index.ts'

/** How long a slice takes, in milliseconds: half of a frame. */
const SLICE_MS = 8

/**
 * The result of the steps. Between two slices the page draws and takes keys.
 *
 * @throws the reason of the signal, when it is stopped
 */
export async function inSlices<T>(steps: Steps<T>, stopped: AbortSignal): Promise<T> {
  for (;;) {
    const end = performance.now() + SLICE_MS
    do {
      const step = steps.next()
      if (step.done === true) return step.value
    } while (performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve))
    stopped.throwIfAborted()
  }
}
