/** Mutants of the lines of the log, of metrics and of spans that no test can kill. */
import { SOME_TEXT, type Survivor, survivors } from './survivor.ts'

export const OF_RECORDS: readonly Survivor[] = [
  ...survivors(
    'sidecar/usecases/trace.ts',
    'What it throws is caught, and the line has no details either way.',
    ['more = await details?.()', 'details?.()', 'details()'],
  ),
  ...survivors('sidecar/usecases/tracing.ts', 'A span that is recorded has this field.', [
    "const { traceparent = '' } = span.fields",
    "''",
    SOME_TEXT,
  ]),
  ...survivors('sidecar/usecases/tracing.ts', 'Where there is a span, there is what has recorded it.', [
    'if (tracing !== undefined && span !== undefined)',
    'tracing !== undefined',
    'true',
  ]),
  ...survivors(
    'sidecar/usecases/meters.ts',
    'It only frees the memory of decisions that do not come back.',
    ["#rules = ''", "''", SOME_TEXT],
    ['if (decision.rulesDigest !== this.#rules) {', 'decision.rulesDigest !== this.#rules', 'false'],
    [
      'if (decision.rulesDigest !== this.#rules) {',
      'decision.rulesDigest !== this.#rules',
      'decision.rulesDigest === this.#rules',
    ],
  ),
]
