/** Work in steps, so that a program that has other things to do can do them in between. */

/** Each `next()` does a little of the work; the last one returns what comes of it. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Does all of the work at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
