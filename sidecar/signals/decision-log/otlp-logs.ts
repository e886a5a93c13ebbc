/**
 * OpenTelemetry's protocol over HTTP, in JSON: lines become log records of an endpoint such as
 * `https://HOST:4318/v1/logs`.
 */
import { packageVersion } from '../../base/package.ts'
import { RESOURCE } from '../otlp-resource.ts'

/** The members of a line that are read here. */
interface Line {
  readonly time: string
  readonly allowed: boolean
  readonly trace_id?: string
}

const SEVERITIES = {
  allowed: { severityNumber: 9, severityText: 'INFO' },
  denied: { severityNumber: 13, severityText: 'WARN' },
} as const

/**
 * `ExportLogsServiceRequest`. The body of a record is the line, and its attributes are those members that are
 * not objects.
 */
export function logsRequest(lines: Buffer): string {
  const logRecords = lines
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => recordOf(line, JSON.parse(line) as Line))
  const scope = { name: 'portcullis.decision_log', version: packageVersion }
  return JSON.stringify({
    resourceLogs: [
      {
        resource: { attributes: Object.entries(RESOURCE).map(([key, value]) => attribute(key, value)) },
        scopeLogs: [{ scope, logRecords }],
      },
    ],
  })
}

function recordOf(text: string, line: Line): object {
  const { time, allowed, trace_id: traceId } = line
  return {
    timeUnixNano: `${Date.parse(time)}000000`,
    ...(allowed ? SEVERITIES.allowed : SEVERITIES.denied),
    body: { stringValue: text },
    attributes: Object.entries(line).flatMap(([name, value]) =>
      typeof value === 'object' || name === 'time' || name === 'trace_id'
        ? []
        : [attribute(`portcullis.${name}`, value)],
    ),
    ...(traceId !== undefined && { traceId }),
  }
}

function attribute(key: string, value: string | number | boolean): object {
  if (typeof value === 'string') return { key, value: { stringValue: value } }
  // OTLP writes integers of 64 bits as texts.
  return {
    key,
    value: typeof value === 'boolean' ? { boolValue: value } : { intValue: String(value) },
  }
}
