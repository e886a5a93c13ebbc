/** One scenario: measures in quiet, attacks, measures the same again, and holds the figures to the goals. */
import { expect } from 'vitest'
import { ACCOUNT } from '../sidecar/sidecar.ts'
import { refusals, report, type Scene, type StartAttack, type Times, under } from './attack-scene.ts'
import type { Attack, Outcome } from './attacker.ts'
import { type Compared, failed, issuedOf, type Measures, meetsTimes, ratioOf } from './goals.ts'
import { record } from './results.ts'

/**
 * Whether `npm run nightly -- attack` runs: it measures until the goals are met themselves, and keeps the
 * figures.
 */
const RECORDS = process.env.ASSURANCE === 'record'

/** Before the first call is timed: code that runs for the first time is slow. */
const WARM_UP_MS = 500
/** A figure of the page is of more calls than a verdict. */
const QUIET_MS = RECORDS ? 2_000 : 1_000
const ATTACKED_MS = RECORDS ? 3_000 : 2_000
const REVOCATIONS = RECORDS ? 200 : 100
const PROFILES = 40

/**
 * How often a scenario is measured until it meets the goals. The calmest times count, in quiet and under
 * attack alike: an attack does each time what it does, and what else happens on the machine comes and goes.
 * A defect misses the goals each time.
 */
const ATTEMPTS = 6

/** The results of a scenario. */
export interface Result<T> extends Measures {
  /** The results of the attack itself. */
  readonly outcome: Outcome
  /** The result of `meanwhile`. */
  readonly also: T
}

/**
 * Attacks the sidecar, and expects that the goals of `goals.ts` are met meanwhile. With `npm run nightly --
 * attack` the figures are kept for the table of the page.
 *
 * @param name the row of the table; it stands in the test file as it is here
 * @param attack a row of `attacker.ts`, or what begins an attack of another kind
 * @param meanwhile what else happens during the attack
 */
export async function scenario<T = undefined>(
  scene: Scene,
  name: string,
  attack: Attack | StartAttack,
  meanwhile?: () => Promise<T>,
): Promise<Result<T>> {
  await scene.neighbour(WARM_UP_MS)
  let earlier: Result<T> | undefined
  for (let attempt = 1; ; attempt++) {
    const linesBefore = scene.log().length
    const now = { ...(await measured(scene, attack, meanwhile)), logLines: scene.log().length - linesBefore }
    const result: Result<T> = calmest(now, earlier)
    const { outcome, also: _also, ...measures } = result
    const { checks, revocations, peakMegabytes, logLines } = measures
    report(name, {
      'check p50': text(checks, 'p50'),
      'check p99': text(checks, 'p99'),
      'revocation p50': text(revocations, 'p50'),
      'revocation p99': text(revocations, 'p99'),
      profiles: issuedOf(result),
      'peak RSS': `${peakMegabytes} MB`,
      'log lines': logLines,
      attacker: JSON.stringify(outcome),
    })
    const wrong = failed(result, name)
    earlier = result
    const isGood = wrong.length === 0 && (!RECORDS || meetsTimes(result))
    if (!isGood && attempt < ATTEMPTS) continue
    expect(wrong).toEqual([])
    const { testPath } = expect.getState()
    if (RECORDS && testPath !== undefined) record(testPath, name, measures)
    return result
  }
}

async function measured<T>(
  scene: Scene,
  attack: Attack | StartAttack,
  meanwhile?: () => Promise<T>,
): Promise<Omit<Result<T>, 'logLines'>> {
  const quiet = { checks: await scene.neighbour(QUIET_MS), revocations: await scene.revocations(REVOCATIONS) }
  const { result: attacked, outcome } = await under(scene, attack, async () => ({
    checks: await scene.neighbour(ATTACKED_MS),
    revocations: await scene.revocations(REVOCATIONS),
    refusals: await profilesRefusedTo(scene),
    also: (await meanwhile?.()) as T,
  }))
  return {
    checks: { quiet: quiet.checks, attacked: attacked.checks },
    revocations: { quiet: quiet.revocations, attacked: attacked.revocations },
    profiles: { asked: PROFILES, failures: attacked.refusals },
    peakMegabytes: scene.peakMegabytes(),
    outcome,
    also: attacked.also,
  }
}

/** The new measurements, with earlier times where those were shorter. No failure is lost. */
function calmest<T>(now: Result<T>, earlier: Result<T> = now): Result<T> {
  const either = (key: 'checks' | 'revocations'): Compared => ({
    quiet: calmer(now[key].quiet, earlier[key].quiet),
    attacked: calmer(now[key].attacked, earlier[key].attacked),
  })
  const { asked, failures } = now.profiles
  const profiles =
    now === earlier ? now.profiles : { asked, failures: [...failures, ...earlier.profiles.failures] }
  return { ...now, checks: either('checks'), revocations: either('revocations'), profiles }
}

function calmer(one: Times, other: Times): Times {
  const { p50, p99, longest, count } = one.p99 <= other.p99 ? one : other
  const failures = one === other ? one.failures : [...one.failures, ...other.failures]
  return { p50, p99, longest, count, failures }
}

/** Asks as the job for this many tokens at once. @returns the messages of the calls that failed */
async function profilesRefusedTo({ job }: Scene): Promise<string[]> {
  const scope = { account: ACCOUNT, project: 'alpha' }
  return refusals(PROFILES, () => job.issue({ profile: 'job', scope }))
}

function text(compared: Compared, percentile: 'p50' | 'p99'): string {
  return `${compared.attacked[percentile].toFixed(1)} ms (${ratioOf(compared, percentile).toFixed(1)} × quiet)`
}
