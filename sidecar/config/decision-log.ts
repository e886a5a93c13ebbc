/** The part of the configuration about the decision log, with the keys of the file. */
import type { OtlpSettings } from './tracing.ts'

export interface DecisionLogSettings {
  readonly file: {
    readonly path?: string
    readonly max_bytes: number
    readonly max_age_ms: number
    readonly keep: number
  }
  readonly stdout: boolean
  readonly otlp: OtlpSettings
  readonly sample_percent: number
  readonly required: boolean
  readonly buffer_bytes: number
}

/** Whether there is a decision log. */
export function logsDecisions({ file, stdout, otlp }: DecisionLogSettings): boolean {
  return file.path !== undefined || stdout || otlp.url !== undefined
}
