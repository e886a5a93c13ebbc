/**
 * Sends lines to an endpoint of OpenTelemetry. Lines of the decision log and spans are sent alike: this file
 * learns whether the endpoint takes them, rejects them, or wants them later or in smaller parts.
 */
import { type BacklogOptions, type Destination, linesIn, WriteLater } from './backlog.ts'
import type { OtlpAnswer } from './otlp-endpoint.ts'

export interface OtlpSenderOptions {
  readonly endpoint: { post(body: string | Uint8Array): Promise<OtlpAnswer>; close(): Promise<void> }
  /** The request for these lines, each of which ends with a line feed. */
  readonly requestOf: (lines: Buffer) => string | Uint8Array
  /** So many lines were taken. */
  readonly onDelivered?: (lines: number) => void
}

/** The statuses after which OTLP allows to send a request again. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])

const TOO_LARGE = 413

/** By how much a request may grow again after each one that was taken. */
const GROWTH = 1.1

/** Longest text of an endpoint that the log repeats, in characters. */
const MESSAGE_LENGTH_MAX = 200

export class OtlpSender implements Destination {
  readonly #options: OtlpSenderOptions
  /** Most bytes of lines in a request: fewer where the endpoint found one too large. */
  #bytesMax = Number.POSITIVE_INFINITY

  constructor(options: OtlpSenderOptions) {
    this.#options = options
  }

  async write(
    [block]: readonly [Buffer, ...Buffer[]],
    onRefused: BacklogOptions['onRefused'],
  ): Promise<number> {
    const { endpoint, requestOf, onDelivered } = this.#options
    for (;;) {
      const sent = beginning(block, this.#bytesMax)
      const lines = linesIn(sent)
      const answer = await endpoint.post(requestOf(sent))
      const { status } = answer
      if (AGAIN.has(status)) throw new WriteLater(problemOf(status), answer.retryAfterMs)
      if (status === TOO_LARGE && lines > 1) {
        this.#bytesMax = Math.ceil(sent.length / 2)
        continue
      }
      const { rejected, problem } = rejectedOf(answer, lines)
      if (rejected > 0) onRefused(rejected, problem)
      if (rejected < lines) onDelivered?.(lines - rejected)
      this.#bytesMax *= GROWTH
      return sent.length
    }
  }

  close(): Promise<void> {
    return this.#options.endpoint.close()
  }
}

interface Rejected {
  readonly rejected: number
  readonly problem: string
}

/** How many of the lines the endpoint will never take. An empty body is as good as an empty object. */
function rejectedOf({ status, body }: OtlpAnswer, lines: number): Rejected {
  const problem = problemOf(status)
  if (status < 200 || status >= 300) return { rejected: lines, problem }
  const rejected = body === undefined ? undefined : partlyRejected(body.trim() || '{}')
  // A page for people, for example: a proxy before the endpoint wants a login.
  if (rejected === undefined)
    return { rejected: lines, problem: `${problem} and a body that is not an answer of OTLP in JSON` }
  return { ...rejected, rejected: Math.min(rejected.rejected, lines) }
}

/** JSON of protocol buffers may have either form of a name, and writes integers of 64 bits as texts. */
const COUNTS = ['rejectedLogRecords', 'rejected_log_records', 'rejectedSpans', 'rejected_spans']

/** @returns `undefined` where the text is not an answer of OTLP */
function partlyRejected(text: string): Rejected | undefined {
  const answer = objectOf(text)
  const partial = (answer?.partialSuccess ?? answer?.partial_success ?? {}) as Record<string, unknown>
  const rejected = Number(COUNTS.map((name) => partial[name]).find((count) => count !== undefined) ?? 0)
  if (answer === undefined || !(Number.isInteger(rejected) && rejected >= 0)) return undefined
  const said = partial.errorMessage ?? partial.error_message
  const why = typeof said === 'string' && said !== '' ? `: ${said.slice(0, MESSAGE_LENGTH_MAX)}` : ''
  return { rejected, problem: `the endpoint rejects a part of what it gets${why}` }
}

function objectOf(text: string): Record<string, unknown> | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {}
  return typeof value === 'object' && !Array.isArray(value) ? ((value ?? undefined) as never) : undefined
}

function problemOf(status: number): string {
  return `the endpoint answers with the status ${status}`
}

const LINE_FEED = 0x0a

/** The first lines of these: as many as fit into a number of bytes, but at least one. */
function beginning(lines: Buffer, bytesMax: number): Buffer {
  if (lines.length <= bytesMax) return lines
  const end = lines.lastIndexOf(LINE_FEED, bytesMax - 1) + 1
  return lines.subarray(0, end > 0 ? end : lines.indexOf(LINE_FEED) + 1)
}
