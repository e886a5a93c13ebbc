/** Runs handlers on grpc-js: what it calls a call becomes what they know (`../../contract/call.ts`). */
import type { ServerHttp2Stream } from 'node:http2'
import {
  Metadata,
  type ServerDuplexStream,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { namesOfCertificate } from '../../base/certificate-name.ts'
import { type IpAddress, ipAddress } from '../../base/ip-address.ts'
import {
  type CallContext,
  type CallStatus,
  type ClientConnection,
  type Method,
  type Methods,
  STATUS,
  StatusError,
  type StatusOf,
} from '../../contract/call.ts'
import { LiveCall } from '../live-call.ts'

type UnaryCall = ServerUnaryCall<Buffer, Buffer>
type WritableCall = ServerWritableStream<Buffer, Buffer>
type DuplexCall = ServerDuplexStream<Buffer, Buffer>
type AnyCall = Pick<UnaryCall, 'metadata' | 'getPeer' | 'getAuthContext'>

/** What every call needs. */
interface CallSettings {
  readonly statusOf: StatusOf
  /** Is told of each response before it is written. */
  readonly onResponse: (stream: ServerHttp2Stream, bytes: number) => void
}

/** The methods as one service of grpc-js. Messages stay bytes: one encoded answer serves many calls. */
export function serviceOf(
  methods: Methods,
  settings: CallSettings,
): { definition: ServiceDefinition; implementation: UntypedServiceImplementation } {
  const entries = [...methods]
  return {
    definition: Object.fromEntries(
      entries.map(([path, { type }]) => [
        path,
        {
          path,
          requestStream: type === 'bidi',
          responseStream: type !== 'unary',
          requestSerialize: identity,
          requestDeserialize: identity,
          responseSerialize: identity,
          responseDeserialize: identity,
        },
      ]),
    ),
    implementation: Object.fromEntries(
      entries.map(([path, method]) => [path, handlerOf(method, settings)]),
    ) as UntypedServiceImplementation,
  }
}

function identity(bytes: Buffer): Buffer {
  return bytes
}

function handlerOf(method: Method, settings: CallSettings): UntypedServiceImplementation[string] {
  const { statusOf } = settings
  switch (method.type) {
    case 'unary':
      return (call: UnaryCall, callback: (error: object | null, response?: Buffer) => void) => {
        const respond = (response: Buffer) => {
          beforeResponse(settings, call, response)
          callback(null, response)
        }
        const context = new Context(call)
        const fail = (error: unknown) => callback(serviceError(statusOf(error, context)))
        try {
          const response = method.handle(call.request, context)
          if (response instanceof Promise) response.then(respond, fail)
          else respond(response)
        } catch (error) {
          fail(error)
        }
      }
    case 'server_stream':
      return (call: WritableCall) => new StreamCall(call, method, settings, call.request).begin()
    case 'bidi':
      return (call: DuplexCall) => new StreamCall(call, method, settings).begin()
  }
}

/** Refuses calls for what their header fields say, before a message is read. */
export function admissionOf(
  methods: Methods,
  { statusOf }: Pick<CallSettings, 'statusOf'>,
): ServerInterceptor {
  return ({ path }, call) => {
    const admit = methods.get(path)?.admit
    if (admit === undefined) return new ServerInterceptingCall(call)
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, goOn) => {
            const context = new Context({
              metadata,
              getPeer: () => call.getPeer(),
              getAuthContext: () => call.getAuthContext(),
              // What knows the stream, and with it the connection.
              ...{ call },
            })
            try {
              admit(context)
            } catch (error) {
              const { code, details, metadata } = serviceError(statusOf(error, context))
              call.sendStatus({ code, details, metadata })
              return
            }
            goOn(metadata)
          },
        }),
    })
  }
}

function serviceError({ code, message, details }: CallStatus) {
  const metadata = new Metadata()
  if (details !== undefined) metadata.set('grpc-status-details-bin', details)
  return Object.assign(new Error(message), { code, details: message, metadata })
}

class Context implements CallContext {
  readonly #call: AnyCall

  constructor(call: AnyCall) {
    this.#call = call
  }

  get connection(): ClientConnection {
    return connectionOf(this.#call)
  }

  get over(): boolean {
    return streamOf(this.#call)?.closed === true
  }

  metadata(name: string): readonly string[] {
    return this.#call.metadata.get(name).map(String)
  }
}

/** To read the names of a certificate costs more than a check. */
const connections = new WeakMap<object, ClientConnection>()

function connectionOf(call: AnyCall): ClientConnection {
  // It is the same for all calls of a connection. Without it the names are read for every call.
  const session = streamOf(call)?.session
  const known = session && connections.get(session)
  if (known !== undefined) return known
  const connection = {
    address: peerAddress(call.getPeer()),
    certificateNames: namesOfCertificate(call.getAuthContext().sslPeerCertificate?.subjectaltname),
  }
  if (session !== undefined) connections.set(session, connection)
  return connection
}

/** The IP address in what grpc-js calls a peer; `undefined`: a Unix socket, or the client is gone. */
export function peerAddress(peer: string): IpAddress | undefined {
  // Of IPv6 it writes no brackets.
  return ipAddress(/^\[?([0-9a-fA-F.:]+?)\]?:\d+$/.exec(peer)?.[1])
}

/** The stream of a call, which grpc-js does not export. */
function streamOf(call: object): ServerHttp2Stream | undefined {
  let inner = (call as { call?: InnerCall }).call
  // An interceptor is around it.
  while (inner?.nextCall !== undefined) inner = inner.nextCall
  return inner?.stream
}

interface InnerCall {
  readonly stream?: ServerHttp2Stream
  readonly nextCall?: InnerCall
}

function beforeResponse({ onResponse }: CallSettings, call: object, { length }: Buffer): void {
  const stream = streamOf(call)
  if (stream !== undefined) onResponse(stream, length)
}

/** grpc-js says so itself, and ends the call. */
const INCOMPLETE = new StatusError({ code: STATUS.INTERNAL, message: 'the call ended within a message' })

/** A call with a stream of responses, and of requests unless it is given its only one. */
class StreamCall extends LiveCall {
  readonly #call: WritableCall | DuplexCall
  readonly #settings: CallSettings
  #sole: Buffer | undefined
  #allHere: boolean
  protected readonly partBytes = 0
  protected readonly incomplete = INCOMPLETE

  constructor(call: WritableCall | DuplexCall, method: Method, settings: CallSettings, request?: Buffer) {
    super(method, new Context(call), settings.statusOf)
    this.#call = call
    this.#settings = settings
    this.#sole = request
    this.#allHere = request !== undefined
    for (const event of ['cancelled', 'close', 'error', 'finish']) call.on(event, () => this.ended())
    call.on('drain', () => this.take())
    if (this.#allHere) return
    call.on('readable', () => this.take())
    call.on('end', () => {
      this.#allHere = true
      this.take()
    })
  }

  protected next(): Buffer | undefined {
    const request = this.#sole ?? (this.#allHere ? undefined : (this.#call as DuplexCall).read())
    this.#sole = undefined
    return request ?? undefined
  }

  protected get allHere(): boolean {
    return this.#allHere
  }

  protected hasRoom(): boolean {
    return !this.#call.writableNeedDrain
  }

  protected send(response: Buffer): void {
    beforeResponse(this.#settings, this.#call, response)
    this.#call.write(response)
  }

  get unread(): boolean {
    return this.#call.writableLength > 0
  }

  protected close(status: CallStatus | undefined): void {
    if (this.#call.cancelled) return
    if (status === undefined) this.#call.end()
    else this.#call.emit('error', serviceError(status))
  }

  // The rest is the library's affair.
  protected awaitMore(): void {}
  protected complete(): void {}
  protected works(): void {}
  protected release(): void {}
}
