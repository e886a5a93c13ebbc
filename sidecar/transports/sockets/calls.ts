/** Calls that take longer than the frame that they came with: streams, slow senders, handlers that wait. */
import { type CallStatus, type Requests, type Responses, STATUS, StatusError } from '../../contract/call.ts'
import { DEADLINE_EXCEEDED, LATE, NOT_ONE_MESSAGE, TIMER_MS_MAX } from '../../contract/faults.ts'
import type { CallStream } from './head.ts'
import { MessageBuffer, prefixOf } from './messages.ts'
import { statusFields } from './text.ts'
import { answer, failBeforeAnswer, type GrpcSettings, HEADERS, runUnary, TRAILERS_OK } from './unary.ts'

/** With so many bytes unsent, no further request of a stream is taken. */
const UNSENT_BYTES_MAX = 65_536

/** After so many requests of a stream, the clock is looked at. */
const REQUESTS_A_LOOK = 16

/** The call of a stream. The application keeps it in `stream.state`. */
export function newCall(stream: CallStream, settings: GrpcSettings): OpenCall {
  const call =
    stream.head.method?.type === 'bidi' ? new BidiCall(stream, settings) : new SingleCall(stream, settings)
  stream.state = call
  return call
}

export abstract class OpenCall {
  protected readonly stream: CallStream
  protected readonly settings: GrpcSettings
  protected readonly buffer: MessageBuffer
  /** Whether the call has ended, or its last response is on its way. */
  protected over = false
  #timer: NodeJS.Timeout | undefined

  constructor(stream: CallStream, settings: GrpcSettings) {
    this.stream = stream
    this.settings = settings
    this.buffer = new MessageBuffer(settings.maxMessageBytes, stream.head.gzip)
  }

  /** The header fields have arrived. */
  abstract begin(): void
  /** What has arrived may be a message. */
  protected abstract take(): void
  /** Ends the call. */
  abstract fail(error: unknown): void
  /** The peer has read enough for more. */
  abstract resume(): void

  data(bytes: Buffer, start: number, end: number): void {
    // The client does not know yet that the call is over.
    if (this.over) return
    this.buffer.push(bytes, start, end)
    this.attempt(() => this.take())
  }

  /** Starts the timer of a call that is not answered at once. */
  setDeadline(): void {
    // It may have ended in the turn in which it came.
    if (this.over) return
    const { timeoutMs } = this.stream.head
    if (timeoutMs <= TIMER_MS_MAX)
      this.#timer ??= setTimeout(() => this.fail(DEADLINE_EXCEEDED), Math.ceil(timeoutMs))
  }

  /** The rest of a message did not arrive. */
  late(): void {
    this.fail(LATE)
  }

  /** Answers when the handler has ended. */
  abstract answerLater(response: Promise<Buffer>): void

  /** The call is over, whoever ended it. */
  ended(): void {
    this.over = true
    this.buffer.drop()
    clearTimeout(this.#timer)
  }

  protected attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.fail(error)
    }
  }
}

const INCOMPLETE = new StatusError({
  code: STATUS.INTERNAL,
  message: 'the call ended within a message',
})

/** A call with one request: unary, or with a stream of responses. */
class SingleCall extends OpenCall {
  #request: Buffer | undefined
  #reading = false
  #responses: StreamResponses | undefined

  begin(): void {
    this.attempt(() => this.take())
  }

  protected take(): void {
    if (this.#request === undefined && !this.#reading) {
      const message = this.buffer.next()
      if (message instanceof Promise) {
        this.#reading = true
        message.then(
          (inflated) => {
            this.#reading = false
            this.#request = inflated
            this.attempt(() => this.take())
          },
          (error) => this.fail(error),
        )
      } else this.#request = message
    }
    if (this.over) return
    if ((this.#request !== undefined || this.#reading) && this.buffer.length > 0) throw NOT_ONE_MESSAGE
    const isWhole = this.#request !== undefined || this.#reading
    if (!this.stream.remoteEnded) this.stream.expect(isWhole ? 0 : this.buffer.missing)
    else if (this.#request !== undefined) this.#run()
    else if (!this.#reading) throw this.buffer.length > 0 ? INCOMPLETE : NOT_ONE_MESSAGE
  }

  resume(): void {
    this.#run()
  }

  #run(): void {
    const { stream, settings } = this
    const { method } = stream.head
    const request = this.#request
    if (this.over || request === undefined || method === undefined) return
    stream.complete()
    // A client that does not read its answers gets no more of them.
    if (stream.congested) stream.waitForRoom()
    else if (method.type === 'unary') {
      this.#request = undefined
      const response = runUnary(stream, method.handle, request, settings)
      if (response instanceof Promise) this.answerLater(response)
      else {
        this.ended()
        if (response !== undefined) answer(stream, response)
      }
    } else if (method.type === 'server_stream') {
      this.#request = undefined
      const responses = new StreamResponses(this, stream, settings)
      this.#responses = responses
      this.attempt(() => method.handle(request, responses, stream.head))
    }
  }

  answerLater(response: Promise<Buffer>): void {
    const { stream, settings } = this
    stream.complete()
    stream.busy = true
    response.then(
      (bytes) => {
        stream.finished()
        if (this.over) return
        this.ended()
        answer(stream, bytes)
      },
      (error) => {
        const status = settings.statusOf(error, stream.head)
        stream.finished()
        if (this.over) return
        this.ended()
        failBeforeAnswer(stream, status)
      },
    )
  }

  fail(error: unknown): void {
    if (this.over) return
    if (this.#responses !== undefined) this.#responses.fail(error)
    else {
      this.ended()
      failBeforeAnswer(this.stream, this.settings.statusOf(error, this.stream.head))
    }
  }

  override ended(): void {
    super.ended()
    this.#responses?.tellEnd()
  }
}

/** A call with any number of requests and responses. */
class BidiCall extends OpenCall {
  readonly #responses = new StreamResponses(this, this.stream, this.settings)
  #requests: Requests | undefined
  /** Whether a handler still works on a request. */
  #working = false
  /** Whether the handler knows that no more requests come. */
  #ending = false

  begin(): void {
    const { stream } = this
    const { method } = stream.head
    if (method?.type !== 'bidi') return
    stream.complete()
    this.attempt(() => {
      this.#requests = method.handle(this.#responses, stream.head)
      this.take()
    })
  }

  resume(): void {
    this.attempt(() => this.take())
  }

  fail(error: unknown): void {
    this.#responses.fail(error)
  }

  answerLater(): void {}

  override ended(): void {
    super.ended()
    this.#responses.tellEnd()
  }

  protected take(): void {
    const { stream, buffer } = this
    for (let taken = 1; !this.over && !this.#working && !this.#ending; taken++) {
      if (stream.unsentBytes > UNSENT_BYTES_MAX || stream.congested || this.#mustYield(taken)) {
        stream.waitForRoom()
        return
      }
      const before = buffer.length
      const message = buffer.next()
      if (message === undefined) {
        this.#awaitMore()
        return
      }
      stream.complete()
      stream.release(before - buffer.length)
      if (message instanceof Promise) this.#work(message.then((inflated) => this.#requests?.next(inflated)))
      else {
        const work = this.#requests?.next(message)
        if (work instanceof Promise) this.#work(work)
      }
    }
  }

  #mustYield(taken: number): boolean {
    return taken % REQUESTS_A_LOOK === 0 && this.stream.yields
  }

  /** Every message that is complete was taken. */
  #awaitMore(): void {
    const { stream, buffer } = this
    if (!stream.remoteEnded) {
      if (buffer.length > 0) stream.awaitRest()
      stream.expect(buffer.missing)
    } else if (buffer.length > 0) throw INCOMPLETE
    else {
      this.#ending = true
      const work = this.#requests?.end()
      if (work instanceof Promise) work.catch((error) => this.#responses.fail(error))
    }
  }

  #work(work: Promise<void>): void {
    this.#working = true
    this.stream.busy = true
    const done = () => {
      this.#working = false
      this.stream.finished()
    }
    work.then(
      () => {
        done()
        this.resume()
      },
      (error) => {
        done()
        this.fail(error)
      },
    )
  }
}

/** The responses of a stream. */
class StreamResponses implements Responses {
  readonly #call: OpenCall
  readonly #stream: CallStream
  readonly #settings: GrpcSettings
  readonly #listeners: (() => void)[] = []
  #begun = false
  #over = false

  constructor(call: OpenCall, stream: CallStream, settings: GrpcSettings) {
    this.#call = call
    this.#stream = stream
    this.#settings = settings
  }

  write(response: Buffer): void {
    if (this.#over) return
    if (!this.#begun) this.#stream.sendHeaders(HEADERS)
    this.#begun = true
    this.#stream.sendData(prefixOf(response), response)
  }

  get unread(): boolean {
    return this.#stream.unsentBytes > 0
  }

  end(): void {
    if (this.#over) return
    if (!this.#begun) this.#stream.sendHeaders(HEADERS)
    this.#stream.end(TRAILERS_OK)
    this.#call.ended()
  }

  fail(error: unknown): void {
    if (this.#over) return
    const status: CallStatus = this.#settings.statusOf(error, this.#stream.head)
    if (this.#begun) this.#stream.end(statusFields(status))
    else failBeforeAnswer(this.#stream, status)
    this.#call.ended()
  }

  onEnd(listener: () => void): void {
    if (this.#over) listener()
    else this.#listeners.push(listener)
  }

  /** The call is over. */
  tellEnd(): void {
    if (this.#over) return
    this.#over = true
    for (const listener of this.#listeners.splice(0)) listener()
  }
}
