/**
 * Answers the questions for metrics. However many ask at a time, the metrics are read and written once for
 * all of them.
 */

import { type HealthState, isReady, PROBLEM_CODES } from '../../base/health.ts'
import type { Counts } from '../../base/meters.ts'
import { gauge, type Metric } from '../../base/metrics.ts'
import type { Exposition } from './exposition.ts'
import type { HealthSource } from './source.ts'

export class Scrapes {
  readonly #source: HealthSource
  readonly #refused: Counts
  /** Answers that are being made, by whether they are OpenMetrics. */
  readonly #making = new Map<boolean, Promise<Exposition>>()

  /** @param refused what the listener has refused, which is a part of the counter of all listeners */
  constructor(source: HealthSource, refused: Counts) {
    this.#source = source
    this.#refused = refused
  }

  /** @param accept the header of that name */
  answer(accept: string | undefined): Promise<Exposition> {
    const open = prefersOpenMetrics(accept)
    let making = this.#making.get(open)
    if (making === undefined) {
      making = this.#make(open).finally(() => this.#making.delete(open))
      this.#making.set(open, making)
    }
    return making
  }

  async #make(open: boolean): Promise<Exposition> {
    const { exposition } = await import('./exposition.ts')
    const metrics = (await this.#source.metrics?.()) ?? []
    const { name, samples } = this.#refused.read()
    const all = metrics.map((metric) =>
      metric.name === name ? { ...metric, samples: [...metric.samples, ...samples] } : metric,
    )
    return exposition([...healthMetrics(this.#source.state), ...all], open)
  }
}

/** The results of health checks, as metrics. */
function healthMetrics(state: HealthState): Metric[] {
  const problems = PROBLEM_CODES.map((code) => [code, state.problems[code] === undefined ? 0 : 1])
  const digests = state.matrixDigests.map((digest) => [digest, 1])
  return [
    gauge('portcullis_ready', 'Whether the sidecar should get traffic.', Number(isReady(state))),
    gauge('portcullis_problem', 'Whether the sidecar has this problem.', Object.fromEntries(problems), {
      label: 'code',
    }),
    gauge(
      'portcullis_problem_end_timestamp_seconds',
      'When a problem ends by itself, in seconds since the epoch.',
      Object.fromEntries(Object.entries(state.ends ?? {}).map(([code, ms]) => [code, ms / 1_000])),
      { label: 'code' },
    ),
    gauge('portcullis_matrix_info', 'The digest of the matrix in force.', Object.fromEntries(digests), {
      label: 'digest',
    }),
  ]
}

/** Whether the client ranks OpenMetrics above the plain text. Prometheus lists both with their ranks. */
function prefersOpenMetrics(accept = ''): boolean {
  const rankOf = (wanted: RegExp) =>
    Math.max(
      0,
      ...accept
        .split(',')
        .filter((range) => wanted.test(range))
        .map((range) => Number(/;\s*q=([\d.]+)/.exec(range)?.[1] ?? 1)),
    )
  const open = rankOf(/^\s*application\/openmetrics-text\b/)
  return open > 0 && open >= rankOf(/^\s*text\/plain\b/)
}
