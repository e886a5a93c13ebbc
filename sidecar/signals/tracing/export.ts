/**
 * Sends spans, off the way of every call. A span becomes a line of JSON when it ends, so that no object of it
 * must be collected later, and lines wait where those of the decision log do: a bounded number, and as long
 * as it takes.
 */
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import type { Meters } from '../../usecases/decision-meters.ts'
import { Backlog } from '../backlog.ts'
import { OtlpSender, type OtlpSenderOptions } from '../otlp-sender.ts'
import { lineOf, REQUEST_TAIL, requestHead, SEPARATOR } from './otlp-span.ts'

export interface ExportOptions {
  readonly endpoint: OtlpSenderOptions['endpoint']
  readonly log: Pick<Logger, 'warn'>
  /** `undefined`: metrics are off. */
  readonly meters: Meters | undefined
  /** How long a span may wait for others, in milliseconds; default: 1,000. */
  readonly delayMs?: number | undefined
}

/** Most bytes of spans that wait: some eight thousand spans. */
const WAITING_BYTES_MAX = 8 * 1_048_576

const DELAY_MS = 1_000

/** How often the log gets a line, in milliseconds. */
const TELL_MS = 60_000

/** How long the rest may take to be sent when the sidecar stops, in milliseconds. */
const CLOSE_MS = 5_000

export class Export implements SpanProcessor {
  readonly #options: ExportOptions
  readonly #backlog: Backlog
  #head: Buffer | undefined
  /** Spans that the log has not reported yet. */
  #untold = 0
  /** Why spans cannot be sent; the last reason that is known. */
  #problem = 'spans arrive faster than they can be sent'
  #timer: NodeJS.Timeout | undefined

  constructor(options: ExportOptions) {
    this.#options = options
    const { endpoint, delayMs = DELAY_MS } = options
    const destination = new OtlpSender({
      endpoint,
      // Each line ends with a comma and a line feed. The last comma must go.
      requestOf: (lines) =>
        Buffer.concat([this.#head ?? REQUEST_TAIL, lines.subarray(0, -SEPARATOR.length), REQUEST_TAIL]),
      onDelivered: (spans) => options.meters?.spansEnded('exported', spans),
    })
    this.#backlog = new Backlog({
      ...{ destination, delayMs, bytesMax: WAITING_BYTES_MAX },
      onRefused: (spans, problem) => {
        this.#problem = problem
        this.#dropped(spans)
      },
      onAttempt: (error) => {
        if (error !== undefined) this.#problem = (error as NodeJS.ErrnoException).code ?? error.message
      },
    })
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    this.#head ??= requestHead(span)
    const line = lineOf(span)
    // A character has at most three bytes.
    const block = this.#backlog.room(3 * line.length)
    if (block === undefined) {
      this.#dropped(1)
      return
    }
    block.length += block.bytes.write(line, block.length)
    block.lines++
  }

  async forceFlush(): Promise<void> {}

  /** Sends the rest, for a bounded time. */
  async shutdown(): Promise<void> {
    const lost = await this.#backlog.close(CLOSE_MS)
    if (lost > 0) this.#dropped(lost)
    clearTimeout(this.#timer)
    this.#tell()
    clearTimeout(this.#timer)
  }

  #dropped(spans: number): void {
    this.#options.meters?.spansEnded('dropped', spans)
    this.#untold += spans
    if (this.#timer === undefined) this.#tell()
  }

  /** At once, and then at most once in a while. */
  #tell(): void {
    this.#timer = undefined
    if (this.#untold === 0) return
    const { log } = this.#options
    log.warn({ spans: this.#untold, problem: this.#problem }, 'spans were dropped; calls go on')
    this.#untold = 0
    this.#timer = setTimeout(() => this.#tell(), TELL_MS).unref()
  }
}
