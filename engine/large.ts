/**
 * The functions that large matrices need: compiling in steps, and decisions that are built when they are
 * asked for. To understand how an engine decides, you need not know it.
 */

/** Each `next()` does a little of the work; the last one returns the result. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Does all of the work at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/**
 * How many places a table may have whose decisions are built before the first question: twice those of the
 * source's matrix. A matrix of 10,000 APIs has 300,000 decisions, and most of them are never asked for. A
 * move of all these objects through memory stops the program for tens of milliseconds, again and again.
 */
const BUILT_AHEAD_MAX = 8_192

/** Builds the decisions, unless there are places for too many of them. @returns whether they are built */
export function buildAhead(places: number, decisions: Iterable<unknown>): boolean {
  // Survives: `places > BUILT_AHEAD_MAX` → `places >= BUILT_AHEAD_MAX`. There are twenty places for each
  // cell, so the numbers are never equal.
  if (places > BUILT_AHEAD_MAX) return false
  for (const _ of decisions);
  return true
}
