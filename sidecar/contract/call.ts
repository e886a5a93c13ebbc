/**
 * A call, whatever carries it: bytes in, bytes out. The handlers know this file; each transport (`grpc-js/`,
 * `sockets/`) runs them.
 */
import type { CertificateName } from '../base/certificate-name.ts'
import type { IpAddress } from '../base/ip-address.ts'

/** Status codes of gRPC. */
export const STATUS = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const

/** How a call ended. */
export interface CallStatus {
  readonly code: number
  readonly message: string
  /** An encoded `google.rpc.Status` with details. */
  readonly details?: Buffer | undefined
}

/** An error with the status that the client gets. */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly status: CallStatus

  constructor(status: CallStatus) {
    super(status.message)
    this.status = status
  }
}

/** The connection of a call. All calls of a connection have the same object. */
export interface ClientConnection {
  /** The protocol that carries the calls, where it is not gRPC. */
  readonly protocol?: 'http'
  /** Of the client; `undefined`: a Unix socket, or the client is gone, or its proxy names none. */
  readonly address: IpAddress | undefined
  /** Of a client of another sidecar that has no address: it is not on this machine. */
  readonly remote?: true
  /** Whether an account that restricts addresses may let it in; default: yes. */
  readonly vouched?: false
  /** The names in the client's certificate. Without TLS there are none. */
  readonly certificateNames: readonly CertificateName[]
}

/** The metadata that a handler can ask for. Other metadata of a client is not kept. */
export const METADATA_NAMES = [
  'authorization',
  'content-type',
  'traceparent',
  'tracestate',
  'x-auth-token',
  'x-portcullis-forwarded',
  'x-portcullis-forwarder',
  'x-request-id',
] as const
export type MetadataName = (typeof METADATA_NAMES)[number]

/** The facts that a handler may know about a call besides its messages. */
export interface CallContext {
  readonly connection: ClientConnection
  /** The values of the metadata of that name. */
  metadata(name: MetadataName): readonly string[]
  /**
   * Whether the call has ended although it has no answer yet. `undefined`: the transport keeps the room that
   * the call takes until its handler has ended.
   */
  readonly over?: boolean
  /** How long its client waits from its beginning, in milliseconds. Absent: it is not known. */
  readonly timeoutMs?: number
  /** The id of the request, where it has one whether or not its client gave one. */
  readonly requestId?: string
  /**
   * SHA-256 of the secret of the session of the control panel that it has. Then it presents no other
   * credential.
   */
  readonly session?: Buffer | undefined
}

/** Says how a call ends whose handler has thrown. */
export type StatusOf = (error: unknown, context: CallContext) => CallStatus

/** Answers one request with one response. If it is synchronous, so is the answer. */
export interface UnaryMethod {
  (request: Buffer, context: CallContext): Buffer | Promise<Buffer>
  /**
   * Whether the request may be overwritten as soon as the method has returned. Otherwise it gets its own
   * copy.
   */
  readonly readsAtOnce?: boolean
}

/** Marks a method that reads its request before it returns: a copy would cost a tenth of a check. */
export function readingAtOnce(method: UnaryMethod): UnaryMethod {
  return Object.assign(method, { readsAtOnce: true })
}

/** The responses of a call that has any number of them. After the end nothing has an effect. */
export interface Responses {
  write(response: Buffer): void
  /** Whether a response that was written waits for the client to read. */
  readonly unread: boolean
  /** Ends the call with the status OK. */
  end(): void
  /** Ends the call with the status of an error. */
  fail(error: unknown): void
  /** Calls `listener` once when the call has ended, on either side. */
  onEnd(listener: () => void): void
}

/** Answers one request with any number of responses, at any time. */
export type ServerStreamMethod = (request: Buffer, responses: Responses, context: CallContext) => void

/**
 * Takes the requests of a call, one after the other: the next one comes when the promise of the last one is
 * fulfilled.
 */
export interface Requests {
  /** If it throws, the call fails. */
  next(request: Buffer): void | Promise<void>
  /** The client has sent its last request. */
  end(): void | Promise<void>
}

/** Answers any number of requests with any number of responses. */
export type BidiMethod = (responses: Responses, context: CallContext) => Requests

export type Method = {
  /**
   * Refuses a call for the caller that its header fields name: it is asked before a byte of a message is
   * read. Absent: every client that reaches the method may call it. Only a session takes a promise, and no
   * call of gRPC has one.
   *
   * @throws CallError
   */
  readonly admit?: (context: CallContext) => void | Promise<void>
} & (
  | { readonly type: 'unary'; readonly handle: UnaryMethod }
  | { readonly type: 'server_stream'; readonly handle: ServerStreamMethod }
  | { readonly type: 'bidi'; readonly handle: BidiMethod }
)

/** The methods of a server by their paths: `/package.Service/Method`. */
export type Methods = ReadonlyMap<string, Method>

/** The handler of each method of a generated service, by the method's name. */
export type Handlers<Service> = {
  readonly [Name in keyof Service]: Service[Name] extends { readonly responseStream: false }
    ? UnaryMethod
    : Service[Name] extends { readonly requestStream: false }
      ? ServerStreamMethod
      : BidiMethod
}

/** The generated description of a method. */
interface GeneratedMethod {
  readonly path: string
  readonly requestStream: boolean
  readonly responseStream: boolean
}

/** The methods of a generated service with their handlers. */
export function methodsOf<Service extends object>(
  service: Service,
  handlers: Handlers<Service>,
): [path: string, Method][] {
  return Object.entries(service as Record<string, GeneratedMethod>).map(([name, generated]) => {
    const { path, requestStream, responseStream } = generated
    const type = requestStream ? 'bidi' : responseStream ? 'server_stream' : 'unary'
    // The type of `handlers` says that the handler is of the method's kind.
    return [path, { type, handle: handlers[name as keyof Service] } as Method]
  })
}
