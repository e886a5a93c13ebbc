/**
 * The metrics of this process: its meters, and values that are read for each request. Loaded where metrics
 * are on.
 */
import type { AuthorityState } from '../../authority/open-authority.ts'
import { Durations, histogram } from '../../base/meters.ts'
import { gauge, type Metric } from '../../base/metrics.ts'
import type { OperatorFacts } from '../../usecases/control-panel/facts.ts'
import { Meters } from '../../usecases/decision-meters.ts'
import type { Intake } from '../../usecases/intake.ts'
import type { Shadow } from '../../usecases/shadow.ts'
import { processMetrics } from './process-metrics.ts'

/** The parts that are read. */
export interface Watched {
  readonly rules: {
    /** For how long they have not been known to be those of the file, in milliseconds. */
    readonly unconfirmedMs: number
  }
  /** `undefined`: no second matrix is computed beside the one in force. */
  readonly shadow: Shadow | undefined
  readonly authority: () => AuthorityState
  readonly intake: Intake
  /** By listener, in milliseconds since the epoch. */
  readonly certificatesValidUntil: () => Readonly<Record<string, number>>
  readonly operatorFacts: Pick<OperatorFacts, 'left'>
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** Time between two looks at how late the event loop is, in milliseconds. */
const LOOK_MS = 100

export class Collector {
  readonly meters = new Meters()
  readonly #delays = new Durations({})
  readonly #timer: NodeJS.Timeout
  #watched: Watched | undefined

  constructor() {
    let expectedMs = performance.now() + LOOK_MS
    this.#timer = setInterval(() => {
      const nowMs = performance.now()
      this.#delays.observe(Math.max(0, nowMs - expectedMs))
      expectedMs = nowMs + LOOK_MS
    }, LOOK_MS).unref()
  }

  /** From now on there is more to read than the meters. */
  watch(watched: Watched): void {
    this.#watched = watched
  }

  read(): Metric[] {
    return [
      ...this.meters.read(),
      histogram(
        'portcullis_event_loop_delay_seconds',
        'Delay of the event loop, sampled ten times a second.',
        [this.#delays],
      ),
      ...(this.#watched === undefined ? [] : gaugesOf(this.#watched)),
      ...processMetrics(),
    ]
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

function gaugesOf(watched: Watched): Metric[] {
  const { rules, shadow, authority, intake, certificatesValidUntil, operatorFacts, now } = watched
  const { keys, waiting, cached, changes } = authority()
  const nowMs = now()
  const ages: Record<string, number> = {}
  for (const { state, sinceMs } of keys) ages[state] = Math.max(ages[state] ?? 0, (nowMs - sinceMs) / 1000)
  const expiries = Object.entries(certificatesValidUntil()).map(([listener, ms]) => [listener, ms / 1000])
  return [
    gauge('portcullis_matrix_age_seconds', AGE_HELP, rules.unconfirmedMs / 1000, { merge: 'max' }),
    ...(shadow === undefined
      ? []
      : [
          gauge('portcullis_shadow_since_timestamp_seconds', SINCE_HELP, shadow.sinceMs / 1000, {
            merge: 'max',
          }),
          gauge('portcullis_shadow_compared_decisions', COMPARED_HELP, shadow.compared),
        ]),
    gauge('portcullis_signing_key_age_seconds', KEY_HELP, ages, { label: 'state', merge: 'max' }),
    gauge('portcullis_certificate_expiry_timestamp_seconds', EXPIRY_HELP, Object.fromEntries(expiries), {
      label: 'listener',
      merge: 'max',
    }),
    gauge('portcullis_cache_entries', 'Entries of the caches of tokens.', cached, { label: 'cache' }),
    gauge('portcullis_directory_position', POSITION_HELP, changes.position, { merge: 'max' }),
    ...(changes.ageMs === undefined
      ? []
      : [
          gauge('portcullis_directory_known_age_seconds', KNOWN_HELP, changes.ageMs / 1000, { merge: 'max' }),
        ]),
    {
      ...{ name: 'portcullis_directory_touched_total', help: TOUCHED_HELP, type: 'counter', merge: 'sum' },
      samples: Object.entries(changes.touched).map(([thing, value]) => ({ labels: { thing }, value })),
    },
    ...deletedRows(operatorFacts.left()),
    {
      ...gauge('portcullis_queue_waiting', 'Number of waiting tasks, by queue and lane.', 0),
      samples: Object.entries({ ...waiting, calls: intake.waiting }).flatMap(([queue, lanes]) =>
        Object.entries(lanes).map(([lane, value]) => ({ labels: { queue, lane }, value })),
      ),
    },
  ]
}

/** Workers count the same rows. */
export function deletedRows(left: ReturnType<OperatorFacts['left']>): Metric[] {
  if (left === undefined) return []
  const samples = Object.entries(left).flatMap(([state, { users, projects }]) =>
    Object.entries({ users, projects }).map(([table, value]) => ({ labels: { table, state }, value })),
  )
  return [{ ...gauge('portcullis_directory_deleted_rows', DELETED_HELP, 0, { merge: 'max' }), samples }]
}

const DELETED_HELP = 'Users and projects that were deleted and are still in the directory.'
const AGE_HELP = 'Time since the matrix in force was last known to match its file.'
const SINCE_HELP = 'Since when decisions are compared with the matrix of `matrix_shadow`.'
const COMPARED_HELP = 'Decisions that were compared since then.'
const KEY_HELP = 'How long the oldest signing key has been in its state.'
const POSITION_HELP = 'Number of the last change of the directory that is known with all before it.'
const KNOWN_HELP = 'How long ago it was last known that no change of the directory is missing.'
const TOUCHED_HELP = 'Subjects that changes of the directory touched; their tokens were asked about again.'
const EXPIRY_HELP = 'When the certificate of a listener expires.'
