/** The service that every user gets during an attack, and the goals for it. No other file says the goals. */
import type { Times } from './attack-scene.ts'

/** Times of the same calls, in quiet and under attack, in the same run. */
export interface Compared {
  readonly quiet: Times
  readonly attacked: Times
}

/** The measurements of one scenario. */
export interface Measures {
  /** Checks of the neighbour. */
  readonly checks: Compared
  /** Changes of the operator that take rights away. */
  readonly revocations: Compared
  /** How often the job asked for a token of its profile, and the messages of the calls that failed. */
  readonly profiles: { readonly asked: number; readonly failures: readonly string[] }
  /** Peak of the resident memory of the sidecar (VmHWM), in megabytes. */
  readonly peakMegabytes: number
  /** Lines that the sidecar wrote to its log during the attack. */
  readonly logLines: number
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
  /** A person on call reads that many. */
  logLinesMax: 100,
} as const

/**
 * The bound of a time that fails a test. The sidecar, the attacker and those who measure share the processors
 * of a machine that others use as well. Its longest times scatter by more than an attack does. A test fails
 * where a time is both that many times quiet and that long. The rule is for times that are many times above
 * both: a neighbour who waits for 288 ms or for 40 s. On grpc-js, the way back, the library keeps
 * more for each call the slower the machine is.
 */
const TEST = { room: 6, shortMs: 150, grpcJsMegabytesMax: 1_024 } as const

/** Whether another time than those of the goals fails a test. */
export function isTooLong(attackedMs: number, quietMs: number, ratioMax: number): boolean {
  return !(attackedMs <= TEST.shortMs || attackedMs / quietMs <= ratioMax)
}

/** The goals in words, for the page. */
export const GOALS_TEXT =
  `the neighbour's p99 at most ${GOALS.checkP99RatioMax} times that in quiet, an operator's revocation at most ` +
  `${GOALS.revocationRatioMax} times and never refused, every profile issued, at most ${GOALS.peakMegabytesMax} MB of memory and ` +
  `${GOALS.logLinesMax} lines in the log`

/** Messages of the checks and revocations that failed under attack. */
function failuresOf({ checks, revocations }: Pick<Measures, 'checks' | 'revocations'>): string[] {
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

/** The times that the goals are about. */
const TIMES = [
  { key: 'checks', percentile: 'p99', what: 'p99 of a check', max: GOALS.checkP99RatioMax },
  { key: 'revocations', percentile: 'p50', what: 'p50 of a revocation', max: GOALS.revocationRatioMax },
  { key: 'revocations', percentile: 'p99', what: 'p99 of a revocation', max: GOALS.revocationRatioMax },
] as const

/** Whether a time misses its goal. A p50 of checks has none. */
export function isMissed(
  measures: Measures,
  key: 'checks' | 'revocations',
  percentile: 'p50' | 'p99',
): boolean {
  const goal = TIMES.find((each) => each.key === key && each.percentile === percentile)
  return goal !== undefined && !(ratioOf(measures[key], percentile) <= goal.max)
}

/** Whether every time meets its goal. */
export function meetsTimes(measures: Measures): boolean {
  return TIMES.every(({ key, percentile }) => !isMissed(measures, key, percentile))
}

/**
 * Figures that fail a test: every missed goal that is not a time, and times that are far from theirs.
 *
 * @param scenario its name, which says on which transport it runs
 */
export function failed(measures: Measures, scenario: string): string[] {
  const { profiles, peakMegabytes, logLines } = measures
  const failures = failuresOf(measures)
  const times = TIMES.filter(
    ({ key, percentile }) => !(measures[key].attacked[percentile] <= TEST.shortMs),
  ).map(
    ({ key, percentile, what, max }) =>
      [`${what}, times quiet`, ratioOf(measures[key], percentile), TEST.room * max] as const,
  )
  const megabytesMax = scenario.includes('grpc-js') ? TEST.grpcJsMegabytesMax : GOALS.peakMegabytesMax
  const judged: readonly (readonly [what: string, value: number, max: number])[] = [
    ...times,
    [`calls that failed (${failures[0]})`, failures.length, GOALS.failuresMax],
    [`profiles refused (${profiles.failures[0]})`, profiles.failures.length, GOALS.profilesRefusedMax],
    ['peak of the memory in MB', peakMegabytes, megabytesMax],
    ['lines in the log', logLines, GOALS.logLinesMax],
  ]
  // A value that is not a number meets no goal.
  return judged.flatMap(([what, value, max]) =>
    value <= max ? [] : [`${what}: ${value.toFixed(1)}, expected at most ${max}`],
  )
}
