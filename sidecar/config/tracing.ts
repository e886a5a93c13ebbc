/** The parts of the configuration about OpenTelemetry, with the keys of the file. */

/** An endpoint. */
export interface OtlpSettings {
  readonly url?: string
  readonly authorization_file?: string
  readonly ca?: string
  readonly timeout_ms: number
}

export interface TracesSettings {
  readonly otlp: OtlpSettings
  readonly sample_percent: number
}
