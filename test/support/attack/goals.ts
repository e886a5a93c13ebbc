/** What everybody gets while somebody attacks, and the goals for it. Nothing else says what the goals are. */
import type { Times } from './scene.ts'

/** Times of the same calls, in quiet and under attack, in the same run. */
export interface Compared {
  readonly quiet: Times
  readonly attacked: Times
}

/** What was measured in one scenario. */
export interface Measures {
  /** Checks of the neighbour. */
  readonly checks: Compared
  /** Changes of the operator that take rights away. */
  readonly revocations: Compared
  /** How often the job asked for a token of its profile, and the messages of the calls that failed. */
  readonly profiles: { readonly asked: number; readonly failures: readonly string[] }
  /** Peak of the resident memory of the sidecar (VmHWM), in megabytes. */
  readonly peakMegabytes: number
}

export const GOALS = {
  /** The p99 of the neighbour's checks, times that in quiet. */
  checkP99RatioMax: 5,
  /** The p50 and the p99 of the operator's revocations, times those in quiet. */
  revocationRatioMax: 10,
  /** Checks of the neighbour and revocations of the operator that failed. */
  failuresMax: 0,
  /** Profiles that were refused. */
  profilesRefusedMax: 0,
  peakMegabytesMax: 512,
} as const

/** The goals in words, for the page. */
export const GOALS_TEXT =
  `the neighbour's p99 at most ${GOALS.checkP99RatioMax} times that in quiet, an operator's revocation at most ` +
  `${GOALS.revocationRatioMax} times and never refused, every profile issued, at most ${GOALS.peakMegabytesMax} MB of memory`

/** Messages of the checks and revocations that failed under attack. */
export function failuresOf({ checks, revocations }: Pick<Measures, 'checks' | 'revocations'>): string[] {
  return [checks, revocations].flatMap(({ attacked }) => attacked.failures)
}

/** `40 of 40`. */
export function issuedOf({ profiles }: Pick<Measures, 'profiles'>): string {
  return `${profiles.asked - profiles.failures.length} of ${profiles.asked}`
}

/** How many times as long as in quiet. */
export function ratioOf({ quiet, attacked }: Compared, percentile: 'p50' | 'p99'): number {
  return attacked[percentile] / quiet[percentile]
}

/** The goals that were missed, with the figures. */
export function missed({ checks, revocations, profiles, peakMegabytes }: Measures): string[] {
  const failures = failuresOf({ checks, revocations })
  const judged: readonly (readonly [what: string, value: number, goal: number])[] = [
    ['p99 of a check, times quiet', ratioOf(checks, 'p99'), GOALS.checkP99RatioMax],
    ['p50 of a revocation, times quiet', ratioOf(revocations, 'p50'), GOALS.revocationRatioMax],
    ['p99 of a revocation, times quiet', ratioOf(revocations, 'p99'), GOALS.revocationRatioMax],
    [`calls that failed (${failures[0]})`, failures.length, GOALS.failuresMax],
    [`profiles refused (${profiles.failures[0]})`, profiles.failures.length, GOALS.profilesRefusedMax],
    ['peak of the memory in MB', peakMegabytes, GOALS.peakMegabytesMax],
  ]
  // A figure that is not a number is no figure that meets a goal.
  return judged.flatMap(([what, value, goal]) =>
    value <= goal ? [] : [`${what}: ${value.toFixed(1)}, the goal is ${goal}`],
  )
}
