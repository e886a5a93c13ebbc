/**
 * The health of the sidecar: whether it should get traffic, and what an operator should look at. Health
 * checks of every protocol report it, and say the same.
 */

/**
 * Possible problems. Its code is stable. `ready: false`: the sidecar must get no traffic, although it runs.
 * `ready: true`: it serves well, but a person must look.
 */
const PROBLEMS = {
  signing_keys_unreadable: { check: 'signing_keys', ready: false },
  directory_replaced: { check: 'directory', ready: false },
  directory_damaged: { check: 'directory', ready: false },
  directory_unreachable: { check: 'directory', ready: false },
  directory_changes_lost: { check: 'directory', ready: false },
  matrix_stale: { check: 'matrix', ready: false },
  matrix_refused: { check: 'matrix', ready: true },
  promoted_matrix_unusable: { check: 'matrix', ready: false },
  shadow_refused: { check: 'matrix', ready: true },
  decision_log_full: { check: 'decision_log', ready: false },
  decision_log_dropping: { check: 'decision_log', ready: true },
  decision_log_unwritable: { check: 'decision_log', ready: true },
  proxies_observed: { check: 'proxies', ready: true },
} as const satisfies Readonly<Record<string, { readonly check: string; readonly ready: boolean }>>

export type ProblemCode = keyof typeof PROBLEMS

export const PROBLEM_CODES = Object.keys(PROBLEMS) as ProblemCode[]

/** The health as plain data, which a worker can send. */
export interface HealthState {
  readonly phase: 'starting' | 'serving' | 'stopping'
  /** The problems that there are, and since when, in milliseconds since the epoch. */
  readonly problems: Readonly<Partial<Record<ProblemCode, number>>>
  /** When those of the problems end that end by themselves, in milliseconds since the epoch. */
  readonly ends?: Readonly<Partial<Record<ProblemCode, number>>>
  /** Digest of the matrix in force. Several: workers are about to change it. None: it is not read yet. */
  readonly matrixDigests: readonly string[]
  /** The same of the matrix that is computed beside it. None: there is none. */
  readonly shadowDigests?: readonly string[]
}

/** Time between two looks for those who watch, in milliseconds. */
const LOOK_MS = 200

export class Health {
  readonly #now: () => number
  readonly #watchers = new Set<(state: HealthState) => void>()
  readonly #looks = new Set<() => void>()
  #state: HealthState = { phase: 'starting', problems: {}, matrixDigests: [] }

  /**
   * @param now wall clock, in milliseconds since the epoch
   * @param watcher as of `watch`
   */
  constructor(now: () => number, watcher?: (state: HealthState) => void) {
    this.#now = now
    if (watcher !== undefined) this.watch(watcher)
  }

  /** As it is now. */
  get state(): HealthState {
    for (const look of this.#looks) look()
    return this.#state
  }

  /** Whether the sidecar should get traffic. */
  get ready(): boolean {
    return isReady(this.state)
  }

  /**
   * Some problems do not begin with an event, but with time that passes. `look` sets them as they are: before
   * the health is said, and some times a second, for those who watch.
   *
   * @returns what ends that
   */
  lookWith(look: () => void): () => void {
    this.#looks.add(look)
    const looking = setInterval(look, LOOK_MS).unref()
    return () => {
      clearInterval(looking)
      this.#looks.delete(look)
    }
  }

  /**
   * @param endsAtMs when it ends by itself, in milliseconds since the epoch
   * @returns whether that is new
   */
  set(problem: ProblemCode, present: boolean, endsAtMs?: number): boolean {
    const { [problem]: since, ...others } = this.#state.problems
    if ((since !== undefined) === present) return false
    const { [problem]: _, ...otherEnds } = this.#state.ends ?? {}
    this.#change({
      problems: present ? { ...others, [problem]: this.#now() } : others,
      ends: present && endsAtMs !== undefined ? { ...otherEnds, [problem]: endsAtMs } : otherEnds,
    })
    return true
  }

  setMatrix(digest: string): void {
    this.#change({ matrixDigests: [digest] })
  }

  setShadow(digest: string): void {
    this.#change({ shadowDigests: [digest] })
  }

  /** The start is complete. */
  started(): void {
    this.#change({ phase: 'serving' })
  }

  /** From now on the sidecar should get no traffic, because it is about to end. */
  stop(): void {
    if (this.#state.phase !== 'stopping') this.#change({ phase: 'stopping' })
  }

  /** Calls `notify` at each change from now on. */
  watch(notify: (state: HealthState) => void): void {
    this.#watchers.add(notify)
  }

  #change(changed: Partial<HealthState>): void {
    this.#state = { ...this.#state, ...changed }
    for (const notify of this.#watchers) notify(this.#state)
  }
}

/** Whether a sidecar with that health should get traffic. */
export function isReady({ phase, problems }: HealthState): boolean {
  return phase === 'serving' && codesOf(problems, false).length === 0
}

/** The answer of `/readyz`. Every client may read it, so it contains only codes, times and digests. */
export function readiness(state: HealthState, verbose: boolean): { readonly ready: boolean; body: object } {
  const { phase, problems, ends, matrixDigests, shadowDigests: shadow_digests } = state
  const ready = isReady(state)
  const failing = codesOf(problems, false)
  const warnings = codesOf(problems, true)
  const body = {
    status: phase === 'serving' ? (ready ? 'ready' : 'not ready') : phase,
    ...(failing.length > 0 && { problems: failing }),
    ...(warnings.length > 0 && { warnings }),
    ...(verbose && {
      ...{ checks: checksOf(problems, ends), matrix_digests: matrixDigests },
      ...(shadow_digests && { shadow_digests }),
    }),
  }
  return { ready, body }
}

/** The codes of those problems with which the sidecar is ready, or of those with which it is not. */
function codesOf(problems: HealthState['problems'], ready: boolean): ProblemCode[] {
  return PROBLEM_CODES.filter((code) => problems[code] !== undefined && PROBLEMS[code].ready === ready)
}

/** Every check with its result. */
function checksOf(problems: HealthState['problems'], ends: HealthState['ends'] = {}): object[] {
  const byCheck = Map.groupBy(PROBLEM_CODES, (code) => PROBLEMS[code].check)
  return Array.from(byCheck, ([name, codes]) => {
    const found = codes.flatMap((code) => {
      const since = problems[code]
      const end = ends[code]
      if (since === undefined) return []
      const until = end === undefined ? {} : { until: new Date(end).toISOString() }
      return [{ code, since: new Date(since).toISOString(), ...until }]
    })
    const failing = found.some(({ code }) => !PROBLEMS[code].ready)
    return { name, status: failing ? 'failing' : found.length > 0 ? 'warning' : 'ok', problems: found }
  })
}

/**
 * The health of several workers as one. They are ready if at least one of them serves, and none that serves
 * has a problem: a worker that is being replaced gets no connections, but one with a problem gets its share.
 */
export function healthOfAll(workers: readonly HealthState[], stopping: boolean): HealthState {
  const serving = workers.filter(({ phase }) => phase === 'serving')
  const problems: Partial<Record<ProblemCode, number>> = {}
  for (const worker of serving)
    for (const code of PROBLEM_CODES) {
      const since = worker.problems[code]
      if (since !== undefined) problems[code] = Math.min(since, problems[code] ?? since)
    }
  // Workers have one configuration.
  const ends = serving.find((worker) => worker.ends !== undefined)?.ends
  const shadowDigests = [...new Set(serving.flatMap((worker) => worker.shadowDigests ?? []))]
  return {
    ...(ends && { ends }),
    ...(shadowDigests.length > 0 && { shadowDigests }),
    phase: stopping ? 'stopping' : serving.length > 0 ? 'serving' : 'starting',
    problems,
    matrixDigests: [...new Set(serving.flatMap(({ matrixDigests }) => matrixDigests))],
  }
}
