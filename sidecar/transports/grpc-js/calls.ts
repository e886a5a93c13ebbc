/** Runs handlers on grpc-js: its calls become those of handlers (`../../contract/call.ts`). */
import type { ServerHttp2Stream } from 'node:http2'
import { Metadata, type ServerInterceptor } from '@grpc/grpc-js'
import { type CallContext, type CallStatus, type Method, type Methods, STATUS } from '../../contract/call.ts'
import { NOT_ONE_MESSAGE } from '../faults.ts'
import { LiveCall, UNSENT_BYTES_MAX } from '../live-call.ts'
import type { TransportOptions } from '../transport.ts'
import type { Guard } from './guard.ts'

/** A call as the library gives it to an interceptor: with its stream, which the types do not show. */
type LibraryCall = Parameters<ServerInterceptor>[1] & { readonly stream: ServerHttp2Stream }

type Settings = Pick<TransportOptions, 'statusOf'> & { readonly guard: Guard }

/**
 * Runs the methods in place of the library's handlers. Those would make a stream of Node for every call, and
 * would read a message before a client is refused for its header fields.
 */
export function runningMethods(methods: Methods, settings: Settings): ServerInterceptor {
  return ({ path }, given) => {
    const call = given as LibraryCall
    const start = () => {
      let live: GrpcJsCall | undefined
      call.start({
        onReceiveMetadata: (metadata) => {
          live = new GrpcJsCall(call, methods.get(path) as Method, metadata, settings)
          live.admit()
        },
        onReceiveMessage: (message: Buffer) => live?.receive(message),
        onReceiveHalfClose: () => live?.receive(undefined),
        onCancel: () => live?.ended(),
      })
    }
    return Object.create(call, { start: { value: start } })
  }
}

class GrpcJsCall extends LiveCall {
  readonly #call: LibraryCall
  readonly #responds: (bytes: number) => void
  #message: Buffer | undefined
  #pulls = false
  #unsentBytes = 0
  protected allHere = false
  // The library keeps what is not a whole message to itself.
  protected readonly partBytes = 0
  protected readonly incomplete = NOT_ONE_MESSAGE

  constructor(call: LibraryCall, method: Method, metadata: Metadata, { statusOf, guard }: Settings) {
    const { stream } = call
    const connection = guard.connectionOf(stream)
    const context: CallContext = {
      // The client may be gone.
      connection: connection?.peer ?? { address: undefined, certificateNames: [] },
      get over() {
        return stream.closed
      },
      metadata: (name) => metadata.get(name).map(String),
    }
    super(method, context, statusOf)
    this.#call = call
    this.#responds = (bytes) => connection && guard.responds(connection, stream, bytes)
  }

  /** Begins, unless the header fields say that the client may not call. */
  admit(): void {
    this.attempt(() => this.method.admit?.(this.context))
    if (!this.over) this.begin()
  }

  /** @param message `undefined`: there are no further ones */
  receive(message: Buffer | undefined): void {
    this.#message = message
    this.allHere = message === undefined
    if (!this.#pulls) this.take()
  }

  /** The library gives one after the other, each when it is asked for: at once if it has it. */
  protected next(): Buffer | undefined {
    if (this.#message === undefined && !this.allHere) {
      this.#pulls = true
      this.#call.startRead()
      this.#pulls = false
    }
    const message = this.#message
    this.#message = undefined
    return message
  }

  protected hasRoom(): boolean {
    return this.#unsentBytes <= UNSENT_BYTES_MAX
  }

  get unread(): boolean {
    return this.#unsentBytes > 0
  }

  protected send(response: Buffer): void {
    const { length } = response
    this.#responds(length)
    this.#unsentBytes += length
    this.#call.sendMessage(response, () => {
      this.#unsentBytes -= length
      this.take()
    })
  }

  protected close({ code, message, details }: CallStatus = { code: STATUS.OK, message: 'OK' }): void {
    const metadata = new Metadata()
    if (details !== undefined) metadata.set('grpc-status-details-bin', details)
    this.#call.sendStatus({ code, details: message, metadata })
  }
}
