/** Counts decisions, attempts and errors, for metrics. Where metrics are off, there are no meters. */
import type { Decision, Extraction } from '../../engine/index.ts'
import { Counts, Durations, histogram } from '../base/meters.ts'
import type { Metric } from '../base/metrics.ts'
import type { DecisionListener, OwnToken } from './asker.ts'
import type { Protocol } from './decision-recorder.ts'
import type { CheckOutcome, ClaimsQuestion, CredentialsQuestion } from './questions.ts'
import type { ShadowDirection } from './shadow.ts'

/**
 * Most series of decisions. The matrix of the package has some two thousand, if every protocol asks for
 * everything.
 */
const DECISION_SERIES_MAX = 5_000

/** Most APIs with a separate name in the series. */
const APIS_MAX = 1_000

const ATTEMPT_SERIES_MAX = 500
const ERROR_SERIES_MAX = 200
const REFUSAL_SERIES_MAX = 100
const SPAN_SERIES_MAX = 10

/** Of an API that the matrix does not have, and of those beyond the bound. */
const UNKNOWN = 'unknown'
const OTHER = 'other'

/**
 * How questions come. Those of the contract over HTTP are answered by the handlers of gRPC, and count as
 * theirs.
 */
export type MeteredProtocol = Exclude<Protocol, 'connect'>

export class Meters {
  readonly #decisions = new Counts(
    'portcullis_decisions_total',
    'Decisions, by protocol, API and reason.',
    ['protocol', 'api', 'reason'],
    DECISION_SERIES_MAX,
  )
  readonly #attempts = new Counts(
    'portcullis_attempts_total',
    'Attempts that leave a trace in the log, by its message: logins that failed, tokens that were issued, calls that were refused.',
    ['message', 'reason'],
    ATTEMPT_SERIES_MAX,
  )
  readonly #wouldDeny = new Counts(
    'portcullis_would_deny_total',
    'Requests of proxies that passed in observe mode and would have been denied, by protocol and reason.',
    ['protocol', 'reason'],
    ATTEMPT_SERIES_MAX,
  )
  readonly #shadowDifferences = new Counts(
    'portcullis_shadow_differences_total',
    'Decisions that the matrix of `matrix_shadow` would have made otherwise, by API, kind of token and direction.',
    ['api', 'kind', 'direction'],
    DECISION_SERIES_MAX,
  )
  readonly #errors = new Counts(
    'portcullis_call_errors_total',
    'Calls that got no answer, by the reason of the error.',
    ['reason'],
    ERROR_SERIES_MAX,
  )
  readonly #refusals = new Counts(
    'portcullis_bounds_exceeded_total',
    'Connections, requests and calls that were refused because a limit was reached, or because they were not HTTP.',
    ['listener', 'bound'],
    REFUSAL_SERIES_MAX,
  )
  readonly #upstreamCalls = new Counts(
    'portcullis_upstream_calls_total',
    'Calls to upstream identity endpoints, by result.',
    ['upstream', 'result'],
    ATTEMPT_SERIES_MAX,
  )
  readonly #spans = new Counts(
    'portcullis_trace_spans_total',
    'Spans of traces that ended, by whether they were exported or dropped.',
    ['result'],
    SPAN_SERIES_MAX,
  )
  /** `undefined`: decisions have no log. */
  #unlogged: Counts | undefined
  readonly #durations: Durations[] = []
  readonly #apis = new Set<string>()
  #followers = () => 0

  /** @param count how many streams of `WatchChanges` are open */
  countFollowers(count: () => number): void {
    this.#followers = count
  }

  /** The meter of a protocol, made once. */
  of(protocol: MeteredProtocol): DecisionMeter {
    const durations = new Durations({ protocol })
    this.#durations.push(durations)
    return new DecisionMeter(this.#decisions, durations, (decision, api) =>
      this.#decisions.cell(protocol, this.#labelOf(decision, api), decision.reason),
    )
  }

  /** @param message of the log */
  attempted(message: string, reason: string | undefined): void {
    this.#attempts.add(this.#attempts.cell(message, reason ?? ''))
  }

  /** A request passed that would have been denied. @param reason of the denial, or of the error */
  wouldDeny(protocol: MeteredProtocol, reason: string): void {
    this.#wouldDeny.add(this.#wouldDeny.cell(protocol, reason))
  }

  /** Counts the differences of a cell, each time that it is called. Both names are of one of the matrices. */
  shadowCounter(api: string, kind: string, direction: ShadowDirection): () => void {
    const counts = this.#shadowDifferences
    const cell = counts.cell(api, kind, direction)
    return () => counts.add(cell)
  }

  failed(reason: string): void {
    this.#errors.add(this.#errors.cell(reason))
  }

  exceeded(listener: 'grpc' | 'http' | 'egress', counts: Readonly<Record<string, number>>): void {
    for (const [bound, count] of Object.entries(counts))
      this.#refusals.add(this.#refusals.cell(listener, bound), count)
  }

  upstreamCalled(upstream: string, result: 'answered' | 'failed'): void {
    this.#upstreamCalls.add(this.#upstreamCalls.cell(upstream, result))
  }

  spansEnded(result: 'exported' | 'dropped', spans: number): void {
    this.#spans.add(this.#spans.cell(result), spans)
  }

  /** Decisions have a log. From now on those without a line are counted, from 0. */
  countUnlogged(): (decisions: number) => void {
    const counts = new Counts(
      'portcullis_decision_log_lines_dropped_total',
      'Decisions that were given without a line in the decision log.',
      [],
      1,
    )
    const cell = counts.cell()
    this.#unlogged = counts
    return (decisions) => counts.add(cell, decisions)
  }

  read(): Metric[] {
    return [
      this.#decisions.read(),
      histogram(
        'portcullis_check_duration_seconds',
        'Duration of calls that ask for decisions, from the complete request to its answer. For grpc and grpc-stream, one call in sixteen is measured.',
        this.#durations,
      ),
      ...[
        this.#attempts,
        this.#wouldDeny,
        this.#shadowDifferences,
        this.#errors,
        this.#refusals,
        this.#upstreamCalls,
        this.#spans,
        ...(this.#unlogged === undefined ? [] : [this.#unlogged]),
      ].map((counts) => counts.read()),
      {
        name: 'portcullis_followers',
        help: 'Open streams of WatchChanges.',
        type: 'gauge',
        merge: 'sum',
        samples: [{ labels: {}, value: this.#followers() }],
      },
    ]
  }

  /** An API that does not exist is named by a client, which could name any number of them. */
  #labelOf({ reason }: Decision, api: string): string {
    if (reason === 'UNKNOWN_API') return UNKNOWN
    if (this.#apis.size < APIS_MAX) this.#apis.add(api)
    return this.#apis.has(api) ? api : OTHER
  }
}

/**
 * Counts the decisions of a protocol. A decision is an object that many questions get, so its cell is looked
 * up by it.
 */
export class DecisionMeter implements DecisionListener {
  readonly #counts: Counts
  readonly #durations: Durations
  readonly #cellOf: (decision: Decision, api: string) => number
  #cells = new Map<Decision, number>()
  // Survives: `''` → `"Stryker was here!"`. It only frees the memory of decisions that do not come back.
  #rules = ''

  constructor(counts: Counts, durations: Durations, cellOf: (decision: Decision, api: string) => number) {
    this.#counts = counts
    this.#durations = durations
    this.#cellOf = cellOf
  }

  /** No decision is timed alone. */
  startMs(): number {
    return 0
  }

  ofClaims({ api }: ClaimsQuestion, decision: Decision): void {
    this.#count(api, decision)
  }

  ofKind(api: string, _kind: string, decision: Decision): void {
    this.#count(api, decision)
  }

  ofCredentials(
    { api }: CredentialsQuestion,
    _found: Extraction | undefined,
    { decision }: CheckOutcome,
  ): void {
    this.#count(api, decision)
  }

  ofOwnToken(api: string, _token: OwnToken | undefined, decision: Decision): void {
    this.#count(api, decision)
  }

  /** A call that began then has its answer. @param startMs of `performance.now()` */
  answered(startMs: number): void {
    this.#durations.observe(performance.now() - startMs)
  }

  #count(api: string, decision: Decision): void {
    this.#counts.add(this.#cells.get(decision) ?? this.#newCell(decision, api))
  }

  #newCell(decision: Decision, api: string): number {
    // Decisions of an earlier matrix do not come back.
    // Survives: `decision.rulesDigest !== this.#rules` → `false`, `decision.rulesDigest !== this.#rules` →
    // `decision.rulesDigest === this.#rules`. It only frees the memory of decisions that do not come back.
    if (decision.rulesDigest !== this.#rules) {
      this.#rules = decision.rulesDigest
      this.#cells = new Map()
    }
    const cell = this.#cellOf(decision, api)
    this.#cells.set(decision, cell)
    return cell
  }
}
