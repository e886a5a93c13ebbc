/** gRPC on HTTP/2: calls are streams, and messages are in their bodies. It does not know a service. */

import type { ClientConnection, Method, Methods } from '../../contract/call.ts'
import { soleMessage } from '../framed-messages.ts'
import type { Application, Peer } from '../http2/application.ts'
import type { HeaderList } from '../http2/hpack/decoder.ts'
import { OpenCall } from './calls.ts'
import { CallHead, type CallStream } from './head.ts'
import { answer, failBeforeAnswer, type GrpcSettings, runUnary } from './unary.ts'

const NO_PREFIX = Buffer.alloc(0)

export class GrpcApplication implements Application<CallHead> {
  readonly #methods: Methods
  readonly #settings: GrpcSettings
  /** Calls with a deadline that have begun in this turn. Most of them are answered before it ends. */
  #timed: CallStream[] = []

  constructor(methods: Methods, settings: GrpcSettings) {
    this.#methods = methods
    this.#settings = settings
  }

  /** @param peer the one that the server was given with the connection */
  readHead(list: HeaderList, peer: Peer): CallHead {
    return new CallHead(list, this.#methods, peer as ClientConnection, this.#settings.metadataNames)
  }

  open(stream: CallStream): void {
    const { refusal, timeoutMs, method } = stream.head
    if (refusal !== undefined) {
      stream.sendHeaders(refusal.fields)
      if (refusal.body !== undefined) stream.sendData(NO_PREFIX, refusal.body)
      stream.end()
      return
    }
    if (method?.admit !== undefined && !this.#isAdmitted(stream, method.admit)) return
    if (timeoutMs !== Number.POSITIVE_INFINITY) this.#timed.push(stream)
    stream.awaitRest()
    // A call without any message, or one whose first response need not wait for one.
    if (stream.remoteEnded || stream.head.method?.type === 'bidi') this.#call(stream).begin()
  }

  data(stream: CallStream, bytes: Buffer, start: number, end: number): void {
    // The client does not know yet that the call is refused.
    if (stream.head.refusal !== undefined || stream.outgoing?.ends === true) return
    if (stream.state === undefined && stream.remoteEnded) {
      const request = soleMessage(bytes, start, end)
      const { method } = stream.head
      if (request !== undefined && method?.type === 'unary' && this.#fits(request) && !stream.congested) {
        const { handle } = method
        // The bytes are only lent.
        const own = handle.readsAtOnce ? request : Buffer.from(request)
        const response = runUnary(stream, handle, own, this.#settings)
        if (response === undefined) return
        if (response instanceof Promise) this.#call(stream).answerLater(response)
        else answer(stream, response)
        return
      }
    }
    this.#call(stream).data(bytes, start, end)
  }

  aborted(stream: CallStream): void {
    this.#call(stream).ended()
  }

  resume(stream: CallStream): void {
    this.#call(stream).take()
  }

  late(stream: CallStream): void {
    this.#call(stream).late()
  }

  turnEnds(): void {
    if (this.#timed.length === 0) return
    const timed = this.#timed
    this.#timed = []
    // An answer that is complete and waits to be sent no longer has a deadline.
    for (const stream of timed)
      if (!stream.closed && stream.outgoing?.ends !== true) this.#call(stream).setDeadline()
  }

  /** A client that may not call learns it before anything of the request is read. */
  #isAdmitted(stream: CallStream, admit: NonNullable<Method['admit']>): boolean {
    try {
      admit(stream.head)
      return true
    } catch (error) {
      failBeforeAnswer(stream, this.#settings.statusOf(error, stream.head))
      return false
    }
  }

  #fits({ length }: Buffer): boolean {
    return length <= this.#settings.maxMessageBytes
  }

  /** A call that is refused has no method, and never asks for this. */
  #call(stream: CallStream): OpenCall {
    stream.state ??= new OpenCall(stream, stream.head.method as Method, this.#settings)
    return stream.state as OpenCall
  }
}
