/** The chores of a day, and its disasters. */

/** A whole day takes this much of our time, in milliseconds. */
const WHOLE_MS = 3_600_000

/** The chores of a whole day, and how often each is done. A shorter one has each at least once. */
const CHORES = {
  rest: 48,
  backup: 24,
  search: 12,
  rotate: 6,
  certificate: 6,
  withdraw: 3,
  restart: 3,
  restartFollower: 3,
  killWorker: 8,
  killFollower: 4,
  kill: 4,
} as const
export type Chore = keyof typeof CHORES

/** The time of each chore, in parts of the day. */
export function planOf(
  forMs: number,
  random: () => number,
): readonly { readonly part: number; readonly chore: Chore }[] {
  const plan: { part: number; chore: Chore }[] = []
  for (const [chore, ofDay] of Object.entries(CHORES)) {
    const times = Math.max(1, Math.round((ofDay * forMs) / WHOLE_MS))
    const shift = 0.1 + 0.8 * random()
    for (let time = 0; time < times; time++)
      plan.push({ part: (time + shift) / times, chore: chore as Chore })
  }
  return plan.sort((one, other) => one.part - other.part)
}
