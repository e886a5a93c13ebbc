/**
 * The life of a call that does not end at once, over any transport: it takes a request, hands it to the
 * handler, waits while that works or the client leaves responses unread, and ends once. Each transport says
 * how requests arrive and how responses leave.
 */
import type { MaybePromise } from '../base/maybe-promise.ts'
import type {
  CallContext,
  CallStatus,
  Method,
  Requests,
  Responses,
  StatusError,
  StatusOf,
} from '../contract/call.ts'
import { NOT_ONE_MESSAGE } from './faults.ts'

/** With this number of unsent bytes, no further request of a stream is taken. */
export const UNSENT_BYTES_MAX = 65_536

export abstract class LiveCall implements Responses {
  protected readonly method: Method
  protected readonly context: CallContext
  readonly #statusOf: StatusOf
  readonly #listeners: (() => void)[] = []
  /** The receiver of the requests of a call that can have many. */
  #requests: Requests | undefined
  /** The request of a call that has one. */
  #request: Buffer | undefined
  /** Whether a request is being inflated, or a handler works on one. */
  #working = false
  /** Whether the handler knows that no further requests come. */
  #ending = false
  #begun = false
  #over = false

  constructor(method: Method, context: CallContext, statusOf: StatusOf) {
    this.method = method
    this.context = context
    this.#statusOf = statusOf
  }

  /** The next request that is whole. A promise: it is being inflated. @throws StatusError */
  protected abstract next(): MaybePromise<Buffer> | undefined
  /** How many bytes there are of a request that is not whole. */
  protected abstract readonly partBytes: number
  /** Whether the client has sent everything. */
  protected abstract readonly allHere: boolean
  /** How a call ends whose last request is not whole. */
  protected abstract readonly incomplete: StatusError
  /** Lets the client send the rest. @param isWhole whether that is nothing but the end */
  protected awaitMore(_isWhole: boolean): void {}
  /**
   * Whether the client has read enough for another request to be taken. Otherwise the transport calls `take`
   * when it has.
   */
  protected abstract hasRoom(): boolean
  /** No further part of a request is awaited: the handler is about to have it, or has begun without one. */
  protected complete(): void {}
  /** A handler has begun to work on a request, or has ended. */
  protected works(_isWorking: boolean): void {}
  /** Sends a response. @param first whether nothing was sent before */
  protected abstract send(response: Buffer, first: boolean): void
  /** Ends the answer. @param status `undefined`: OK; @param first whether nothing was sent before */
  protected abstract close(status: CallStatus | undefined, first: boolean): void
  /** Lets go of what the call holds. */
  protected release(): void {}
  abstract readonly unread: boolean

  get over(): boolean {
    return this.#over
  }

  protected get working(): boolean {
    return this.#working
  }

  /** The header fields are read, and the call is admitted. */
  begin(): void {
    const { method } = this
    if (method.type === 'bidi')
      this.attempt(() => {
        this.complete()
        this.#requests = method.handle(this, this.context)
      })
    this.take()
  }

  /** Takes the requests that are whole, as fast as the handler and the client keep up. */
  take(): void {
    try {
      while (!this.#over && !this.#working && !this.#ending && this.hasRoom()) {
        const request = this.next()
        if (request === undefined) {
          this.#goOn()
          return
        }
        if (this.#requests !== undefined) this.complete()
        const work =
          request instanceof Promise ? request.then((whole) => this.#hand(whole)) : this.#hand(request)
        if (work instanceof Promise) this.#await(work)
      }
    } catch (error) {
      this.fail(error)
    }
  }

  #hand(request: Buffer): MaybePromise<void> {
    if (this.#over) return
    if (this.#requests !== undefined) return this.#requests.next(request)
    if (this.#request !== undefined) throw NOT_ONE_MESSAGE
    this.#request = request
  }

  #await(work: Promise<void>): void {
    this.#working = true
    this.works(true)
    const done = () => {
      this.#working = false
      this.works(false)
    }
    work.then(
      () => {
        done()
        this.take()
      },
      (error) => {
        this.fail(error)
        done()
      },
    )
  }

  /** Every request that is whole was taken. */
  #goOn(): void {
    const isWhole = this.#request !== undefined
    if (isWhole && this.partBytes > 0) throw NOT_ONE_MESSAGE
    if (!this.allHere) this.awaitMore(isWhole)
    else if (this.partBytes > 0) throw this.incomplete
    else this.#endRequests()
  }

  #endRequests(): void {
    this.#ending = true
    if (this.#requests === undefined) this.#run(this.#request)
    else {
      const work = this.#requests.end()
      if (work instanceof Promise) work.catch((error) => this.fail(error))
    }
  }

  #run(request: Buffer | undefined): void {
    if (request === undefined) throw NOT_ONE_MESSAGE
    this.#request = undefined
    this.complete()
    const { method, context } = this
    if (method.type === 'server_stream') method.handle(request, this, context)
    else if (method.type === 'unary') {
      const response = method.handle(request, context)
      if (response instanceof Promise) this.answerLater(response)
      else this.answer(response)
    }
  }

  /** Answers when the handler has ended. */
  answerLater(response: Promise<Buffer>): void {
    this.#ending = true
    this.complete()
    this.works(true)
    response.then(
      (bytes) => {
        this.works(false)
        if (!this.#over) this.answer(bytes)
      },
      (error) => {
        this.fail(error)
        this.works(false)
      },
    )
  }

  /** Sends the only response. */
  protected answer(response: Buffer): void {
    this.write(response)
    this.end()
  }

  write(response: Buffer): void {
    // A handler may write at any time, and does not see its failures.
    this.attempt(() => {
      this.send(response, !this.#begun)
      this.#begun = true
    })
  }

  end(): void {
    this.#finish(undefined)
  }

  fail(error: unknown): void {
    // A thrown error is logged, even where no client waits for it any longer.
    this.#finish(this.#statusOf(error, this.context))
  }

  #finish(status: CallStatus | undefined): void {
    if (this.#over) return
    this.close(status, !this.#begun)
    this.ended()
  }

  /** The call has ended, on either side. */
  ended(): void {
    if (this.#over) return
    this.#over = true
    this.#request = undefined
    this.release()
    for (const listener of this.#listeners.splice(0)) listener()
  }

  onEnd(listener: () => void): void {
    if (this.#over) listener()
    else this.#listeners.push(listener)
  }

  protected attempt(work: () => void): void {
    if (this.#over) return
    try {
      work()
    } catch (error) {
      this.fail(error)
    }
  }
}
