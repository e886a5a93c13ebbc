/**
 * Reads what the configuration says of traces. Loaded only where it says something, and OpenTelemetry only
 * where calls are served.
 */
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import { otlpOptionsOf } from '../../config/otlp.ts'
import type { Tracing } from '../../usecases/call-tracing.ts'
import type { Meters } from '../../usecases/decision-meters.ts'

export interface TracingParts {
  readonly log: Logger
  /** `undefined`: metrics are off. */
  readonly meters: Meters | undefined
}

export type OpenTraces = (parts: TracingParts) => Promise<Tracing & AsyncDisposable>

/** @param url of the endpoint @throws ConfigError that names the key */
export function readTraces({ traces: { otlp, sample_percent } }: Config, url: string): OpenTraces {
  const options = otlpOptionsOf('traces.otlp', url, otlp, 'spans say who asks for what')
  return async (parts) => {
    const [{ OtlpEndpoint }, { Export }, { Telemetry }] = await Promise.all([
      import('../otlp-endpoint.ts'),
      import('./export.ts'),
      import('./telemetry.ts'),
    ])
    return new Telemetry(new Export({ ...parts, endpoint: new OtlpEndpoint(options) }), sample_percent)
  }
}
