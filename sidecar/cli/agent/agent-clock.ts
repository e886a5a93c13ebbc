/** The two clocks of the agent: one that shows when a token expires, and a monotonic one. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Clock {
  /** Wall clock, in milliseconds since the epoch. It may jump. */
  now(): number
  /** Milliseconds since some moment. It never jumps. */
  monotonicMs(): number
  /** Resolves after the time, or when the signal is given. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: Date.now,
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
}
