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
import type {
  CallContext,
  CallStatus,
  ClientConnection,
  Method,
  Methods,
  Requests,
  Responses,
  StatusOf,
} from '../../contract/call.ts'

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
      return (call: WritableCall) => {
        const responses = new CallResponses(call, settings)
        try {
          method.handle(call.request, responses, new Context(call))
        } catch (error) {
          responses.fail(error)
        }
      }
    case 'bidi':
      return (call: DuplexCall) => {
        const responses = new CallResponses(call, settings)
        try {
          const requests = method.handle(responses, new Context(call))
          takeAll(call, requests).catch((error) => responses.fail(error))
        } catch (error) {
          responses.fail(error)
        }
      }
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
export function peerAddress(peer: string): string | undefined {
  return /^\[?([0-9a-fA-F.:]+?)\]?:\d+$/.exec(peer)?.[1]
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

class CallResponses implements Responses {
  readonly #call: WritableCall | DuplexCall
  readonly #settings: CallSettings
  #over = false

  constructor(call: WritableCall | DuplexCall, settings: CallSettings) {
    this.#call = call
    this.#settings = settings
  }

  write(response: Buffer): void {
    if (this.#over) return
    beforeResponse(this.#settings, this.#call, response)
    this.#call.write(response)
  }

  get unread(): boolean {
    return this.#call.writableLength > 0
  }

  end(): void {
    if (this.#over) return
    this.#over = true
    this.#call.end()
  }

  fail(error: unknown): void {
    if (this.#over || this.#call.cancelled) return
    this.#over = true
    this.#call.emit('error', serviceError(this.#settings.statusOf(error, new Context(this.#call))))
  }

  onEnd(listener: () => void): void {
    let told = false
    const tell = () => {
      if (told) return
      told = true
      listener()
    }
    for (const event of ['cancelled', 'close', 'error', 'finish']) this.#call.on(event, tell)
  }
}

/** Passes on one request at a time, and none to a client that does not read the responses. */
async function takeAll(call: DuplexCall, requests: Requests): Promise<void> {
  // Leaving the loop must not destroy the call, because a destroyed call cannot send the status of an error.
  for await (const request of call.iterator({ destroyOnReturn: false })) {
    const taken = requests.next(request)
    if (taken instanceof Promise) await taken
    if (call.writableNeedDrain) await drained(call)
  }
  await requests.end()
}

/** Resolves when the client has read enough, or is gone. */
function drained(call: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const events = ['drain', 'cancelled', 'close', 'error']
    const done = () => {
      for (const event of events) call.removeListener(event, done)
      resolve()
    }
    for (const event of events) call.once(event, done)
  })
}
