/** OpenTelemetry's protocol over HTTP, in JSON: lines become log records of an endpoint such as `https://HOST:4318/v1/logs`. */
import { Pool } from 'undici'
import { packageVersion } from '../base/package.ts'
import type { Secret } from '../base/secret.ts'
import { type Destination, LinesRefused } from './backlog.ts'

export interface OtlpOptions {
  readonly url: URL
  /** Value of the header `authorization`, if there is one. */
  readonly authorization: Secret | undefined
  /** Certificates in PEM; `undefined`: those that Node trusts. */
  readonly ca: string | undefined
  /** How long a request may take in all, in milliseconds. */
  readonly timeoutMs: number
}

/** What OTLP says about a request that may be sent again. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Largest headers and body of an answer, in bytes. */
const ANSWER_BYTES_MAX = 65_536

export class OtlpLogs implements Destination {
  readonly #options: OtlpOptions
  readonly #pool: Pool
  readonly #path: string

  constructor(options: OtlpOptions) {
    const { url, ca, timeoutMs } = options
    const { origin, pathname, search } = url
    this.#options = options
    this.#path = pathname + search
    this.#pool = new Pool(origin, {
      connections: 1,
      allowH2: false,
      maxHeaderSize: ANSWER_BYTES_MAX,
      maxResponseSize: ANSWER_BYTES_MAX,
      // Said here, so that no variable of the environment switches the verification off.
      connect: { ca, timeout: timeoutMs, rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    })
  }

  async write([bytes]: readonly [Buffer, ...Buffer[]]): Promise<number> {
    const { authorization, timeoutMs } = this.#options
    const { statusCode, body } = await this.#pool.request({
      path: this.#path,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(authorization && { authorization: authorization.reveal() }),
      },
      body: JSON.stringify(requestOf(bytes)),
      signal: AbortSignal.timeout(timeoutMs),
    })
    await body.dump()
    if (statusCode >= 200 && statusCode < 300) return bytes.length
    const problem = `the endpoint answers with the status ${statusCode}`
    throw AGAIN.has(statusCode) ? new Error(problem) : new LinesRefused(problem)
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}

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

/** `ExportLogsServiceRequest`. The body of a record is the line, and its attributes are those members that are not objects. */
function requestOf(bytes: Buffer): object {
  const logRecords = bytes
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => recordOf(line, JSON.parse(line) as Line))
  const scope = { name: 'portcullis.decision_log', version: packageVersion }
  return {
    resourceLogs: [
      {
        resource: { attributes: [attribute('service.name', 'portcullis')] },
        scopeLogs: [{ scope, logRecords }],
      },
    ],
  }
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
