/**
 * The health and the metrics of all workers, as one. The primary answers for them. The counts of a worker are
 * kept when it ends: a counter that falls would look like one that began anew.
 */
import { type HealthState, healthOfAll } from '../../base/health.ts'
import { gauge, lastingMetrics, type Metric, mergedMetrics } from '../../base/metrics.ts'
import { processMetrics } from '../../signals/metrics/process-metrics.ts'

/** A worker that can be asked for its metrics. */
export interface Reporter {
  /** Asks for its metrics. Resolves with its answer, when it has ended, or after some time. */
  collect(): Promise<void>
  /** Its last answer. */
  readonly lastMetrics: readonly Metric[]
}

export class GroupHealth {
  readonly #workers = new Map<Reporter, HealthState>()
  readonly #configured: number
  #stopping = false
  #ended: readonly Metric[] = []

  /** @param configured how many workers there should be */
  constructor(configured: number) {
    this.#configured = configured
  }

  get state(): HealthState {
    return healthOfAll([...this.#workers.values()], this.#stopping)
  }

  async metrics(): Promise<readonly Metric[]> {
    await Promise.all([...this.#workers.keys()].map((worker) => worker.collect()))
    // A worker that has ended meanwhile is no longer here, but among those that have.
    const live = [...this.#workers.keys()].map(({ lastMetrics }) => lastMetrics)
    const serving = [...this.#workers.values()].filter(({ phase }) => phase === 'serving').length
    const counts = { configured: this.#configured, serving }
    return [
      ...mergedMetrics([this.#ended, ...live, processMetrics()]),
      gauge('portcullis_workers', 'Workers, and how many of them serve.', counts, { label: 'state' }),
    ]
  }

  /** A worker reports its health. */
  report(worker: Reporter, state: HealthState): void {
    this.#workers.set(worker, state)
  }

  /** A worker has ended. */
  remove(worker: Reporter): void {
    if (this.#workers.delete(worker))
      this.#ended = mergedMetrics([this.#ended, lastingMetrics(worker.lastMetrics)])
  }

  /** The primary ends. */
  stop(): void {
    this.#stopping = true
  }
}
