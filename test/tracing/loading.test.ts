/** Traces cost nothing in a sidecar that has none: nothing of them is loaded. */
import { testLoading } from '../support/processes/loaded.ts'

const PARTS =
  /node_modules\/(undici|@opentelemetry)\/|sidecar\/(?:signals\/(tracing|otlp-endpoint|otlp-sender)|(http\/traced-requests|contract\/traced-methods|directory\/traced-database))[./]/
const HTTP = { http: { address: '127.0.0.1:0' } }

testLoading(PARTS, [
  ['no traces', HTTP, []],
  ['settings of traces without an endpoint', { traces: { sample_percent: 100 } }, []],
  [
    'traces',
    { ...HTTP, traces: { otlp: { url: 'http://127.0.0.1:1/v1/traces' } } },
    [
      ...[
        '@opentelemetry',
        'contract/traced-methods',
        'directory/traced-database',
        'http/traced-requests',
        'otlp-endpoint',
      ],
      ...['otlp-sender', 'tracing', 'undici'],
    ],
  ],
])
