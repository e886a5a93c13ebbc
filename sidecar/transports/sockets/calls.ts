/** Calls that take longer than the frame that they came with: streams, slow senders, handlers that wait. */
import { type CallStatus, type Method, STATUS, StatusError } from '../../contract/call.ts'
import { DEADLINE_EXCEEDED, LATE, TIMER_MS_MAX } from '../faults.ts'
import { MessageBuffer, prefixOf } from '../framed-messages.ts'
import { statusFields } from '../grpc-fields.ts'
import { LiveCall, UNSENT_BYTES_MAX } from '../live-call.ts'
import type { CallStream } from './head.ts'
import { answer, failBeforeAnswer, type GrpcSettings, HEADERS, TRAILERS_OK } from './unary.ts'

/** After this number of requests of a stream, the clock is looked at. */
const REQUESTS_A_LOOK = 16

const INCOMPLETE = new StatusError({
  code: STATUS.INTERNAL,
  message: 'the call ended within a message',
})

/** The call of a stream. The application keeps it in `stream.state`. */
export class OpenCall extends LiveCall {
  readonly #stream: CallStream
  readonly #buffer: MessageBuffer
  #looks = 0
  #timer: NodeJS.Timeout | undefined
  protected readonly incomplete = INCOMPLETE

  constructor(stream: CallStream, method: Method, { statusOf, maxMessageBytes }: GrpcSettings) {
    super(method, stream.head, statusOf)
    this.#stream = stream
    this.#buffer = new MessageBuffer(maxMessageBytes, stream.head.gzip)
  }

  data(bytes: Buffer, start: number, end: number): void {
    // The client does not know yet that the call has ended.
    if (this.over) return
    this.#buffer.push(bytes, start, end)
    this.take()
  }

  /** Starts the timer of a call that is not answered at once. */
  setDeadline(): void {
    // It may have ended in the turn in which it came.
    if (this.over) return
    const { timeoutMs } = this.#stream.head
    if (timeoutMs <= TIMER_MS_MAX)
      this.#timer ??= setTimeout(() => this.fail(DEADLINE_EXCEEDED), Math.ceil(timeoutMs))
  }

  /** The rest of a message did not arrive. */
  late(): void {
    this.fail(LATE)
  }

  protected next(): Buffer | Promise<Buffer> | undefined {
    const buffer = this.#buffer
    const before = buffer.length
    const message = buffer.next()
    if (message !== undefined && this.method.type === 'bidi') this.#stream.release(before - buffer.length)
    return message
  }

  protected get partBytes(): number {
    return this.#buffer.length
  }

  protected get allHere(): boolean {
    return this.#stream.remoteEnded
  }

  protected override awaitMore(isWhole: boolean): void {
    if (this.#buffer.length > 0) this.#stream.awaitRest()
    this.#stream.expect(isWhole ? 0 : this.#buffer.missing)
  }

  protected hasRoom(): boolean {
    const stream = this.#stream
    const mustYield = ++this.#looks % REQUESTS_A_LOOK === 0 && stream.yields
    if (stream.unsentBytes <= UNSENT_BYTES_MAX && !stream.congested && !mustYield) return true
    stream.waitForRoom()
    return false
  }

  protected override complete(): void {
    this.#stream.complete()
  }

  protected override works(isWorking: boolean): void {
    if (isWorking) this.#stream.busy = true
    else this.#stream.finished()
  }

  protected override answer(response: Buffer): void {
    this.ended()
    answer(this.#stream, response)
  }

  protected send(response: Buffer, first: boolean): void {
    if (first) this.#stream.sendHeaders(HEADERS)
    this.#stream.sendData(prefixOf(response), response)
  }

  get unread(): boolean {
    return this.#stream.unsentBytes > 0
  }

  protected close(status: CallStatus | undefined, first: boolean): void {
    const stream = this.#stream
    if (status !== undefined && first) failBeforeAnswer(stream, status)
    else {
      if (first) stream.sendHeaders(HEADERS)
      stream.end(status === undefined ? TRAILERS_OK : statusFields(status))
    }
  }

  protected override release(): void {
    this.#buffer.drop()
    clearTimeout(this.#timer)
  }
}
