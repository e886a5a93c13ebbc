/** Times calls for metrics. Every sidecar loads this, so it is apart from the meters. */
import type { DecisionMeter } from './decision-meters.ts'

/**
 * Measures how long a handler takes. Without a meter it is the handler itself.
 *
 * @param every one call in this number is timed: two looks at the clock would take a twentieth of the
 *   cheapest call
 */
export function timed<First, Second = void, T = unknown>(
  meter: DecisionMeter | undefined,
  handle: (first: First, second: Second) => T | Promise<T>,
  every = 1,
): (first: First, second: Second) => T | Promise<T> {
  if (meter === undefined) return handle
  // The first one is timed.
  let calls = every
  return (first, second) => {
    if (++calls < every) return handle(first, second)
    calls = 0
    const startMs = performance.now()
    const answer = handle(first, second)
    if (!(answer instanceof Promise)) {
      meter.answered(startMs)
      return answer
    }
    return answer.finally(() => meter.answered(startMs))
  }
}
