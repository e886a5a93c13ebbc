/** The metrics of any process of the sidecar. */
import { gauge, type Metric } from '../../base/metrics.ts'
import { droppedLogLines } from '../log/log.ts'

export function processMetrics(): Metric[] {
  const { user, system } = process.cpuUsage()
  const counter = (name: string, help: string, value: number): Metric => ({
    ...{ name, help, type: 'counter', merge: 'sum' },
    samples: [{ labels: {}, value }],
  })
  return [
    counter(
      'portcullis_process_cpu_seconds_total',
      'Processor time of all processes of the sidecar.',
      (user + system) / 1e6,
    ),
    gauge(
      'portcullis_process_resident_memory_bytes',
      'Resident memory of all processes of the sidecar.',
      process.memoryUsage.rss(),
    ),
    counter(
      'portcullis_log_lines_dropped_total',
      'Lines of the log that could not be written.',
      droppedLogLines(),
    ),
  ]
}
