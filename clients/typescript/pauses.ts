/** How long a client that follows the sidecar waits before it asks for the next stream. */

const PAUSE_MS = 100
const PAUSE_MS_MAX = 2_000

/** Pause after a refusal, which lasts until the configuration changes. */
const REFUSED_MS = 60_000

/** The sidecar is older, or does not let this program follow. */
export const REFUSALS: ReadonlySet<string> = new Set([
  'UNIMPLEMENTED',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
])

export class Pauses {
  #nextMs = PAUSE_MS

  /** The sidecar is followed. */
  heard(): void {
    this.#nextMs = PAUSE_MS
  }

  /**
   * The pause after a stream that has failed, in milliseconds.
   *
   * @param code of gRPC; empty: the sidecar's answer is impossible, or there is none
   */
  after(code: string): number {
    if (REFUSALS.has(code)) return REFUSED_MS
    const pauseMs = this.#nextMs
    this.#nextMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)
    return pauseMs
  }
}
