/**
 * The answers that a directory has given about a token, or its rules in force, over time. Each answer is
 * judged by that.
 */

/** From a moment on, in milliseconds of any one clock. It may be ahead: from then on it will count. */
export interface Since {
  readonly atMs: number
}

/** Whether a token opens something from then on; `undefined`: it may, and need not. */
export interface Said extends Since {
  readonly active: boolean | undefined
}

/** Notes what is said now. @returns whether it is another thing than before, and the token has ended */
export function note(said: Said[], active: Said['active'], atMs: number): boolean {
  const before = said.at(-1)
  if (before !== undefined && before.active === active) return false
  said.push({ atMs, active })
  return before !== undefined && active === false
}

/** The values that counted at some time of the period. */
export function during<T extends Since>(
  history: readonly T[],
  fromMs: number,
  untilMs: number,
): readonly T[] {
  return history.filter(
    ({ atMs }, index) => atMs <= untilMs && (history[index + 1]?.atMs ?? Number.POSITIVE_INFINITY) > fromMs,
  )
}

/** Whether the directory might have allowed the token at some time of the period. */
export function wasActive(said: readonly Said[], fromMs: number, untilMs: number): boolean {
  return during(said, fromMs, untilMs).some(({ active }) => active !== false)
}

/** Whether the directory would have allowed the token at every time of the period. */
export function stayedActive(said: readonly Said[], fromMs: number, untilMs: number): boolean {
  const [first] = said
  return (
    first !== undefined &&
    first.atMs <= fromMs &&
    during(said, fromMs, untilMs).every(({ active }) => active === true)
  )
}

/** Whether the token has been ended for longer than that. */
export function isOver(said: readonly Said[], nowMs: number, forMs: number): boolean {
  const last = said.at(-1)
  return last?.active === false && last.atMs < nowMs - forMs
}
