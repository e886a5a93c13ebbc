/** Shared parts of all handlers: their reading of a call, and their errors. */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { Presented } from '../authority/elsewhere.ts'
import { type LoginSource, sourceAt } from '../authority/login-source.ts'
import { CallError, callError } from '../base/call-error.ts'
import { FORWARDED_HEADER, forwardedText } from '../base/forwarded-header.ts'
import { ipAddress, THIS_MACHINE, type Whereabouts } from '../base/ip-address.ts'
import { randomText } from '../base/random-text.ts'
import { givenRequestId, REQUEST_ID_HEADER, requestIdOfFailure } from '../base/request-id.ts'
import type { DecisionListener } from '../usecases/asker.ts'
import { recordedListener } from '../usecases/call-tracing.ts'
import type { CallerCredentials } from '../usecases/callers.ts'
import type { Admitting, Recognizing, Reporting } from '../usecases/capabilities.ts'
import type { AskerFacts, Protocol } from '../usecases/decision-recorder.ts'
import type { PresentedCredentials } from '../usecases/requester.ts'
import { isFailure } from '../usecases/trace.ts'
import { type CallContext, type CallStatus, type ClientConnection, STATUS, StatusError } from './call.ts'
import { FIELDS_MAX, tooManyFields } from './fields.ts'
import { statusOfError } from './status.ts'

/** Logs the facts that the client does not get, and says how the call ends. */
export function failure({ log, trace }: Reporting, error: unknown, context: CallContext): CallStatus {
  if (error instanceof StatusError) return error.status
  const failed = isFailure(error)
  // Most calls that are refused need no id: to make one costs as much as to refuse.
  const id = requestIdIn(context) ?? (failed ? requestIdOfFailure(error) : undefined)
  trace.failed(error, id === undefined ? {} : { request_id: id })
  if (error instanceof CallError && log.isLevelEnabled('debug')) {
    const { code, reason } = error
    log.debug(
      { code, reason, client_address: context.connection.address, request_id: id },
      'a call was refused',
    )
  }
  return statusOfError(error, failed || givenIdIn(context) !== undefined ? id : undefined)
}

/**
 * Its client no longer waits for the answer, and the memory of the call until then is not counted.
 *
 * @param waitedMs since the call began, in milliseconds
 * @throws StatusError
 */
export function expectNotOver({ over, timeoutMs }: CallContext, waitedMs = 0): void {
  const isLate = waitedMs >= (timeoutMs ?? Number.POSITIVE_INFINITY)
  if (over === true || isLate)
    throw new StatusError({ code: STATUS.CANCELLED, message: 'the call has ended' })
}

/** The id of the request, as far as it has one. */
export function requestIdIn(context: CallContext): string | undefined {
  return context.requestId ?? givenIdIn(context)
}

function givenIdIn(context: CallContext): string | undefined {
  return givenRequestId(context.metadata(REQUEST_ID_HEADER))
}

/** The library's reader, which stops at a request with too many fields. */
class BoundedReader extends BinaryReader {
  constructor(bytes: Uint8Array) {
    super(bytes)
    const read = this.uint32
    // It reads the tag of each field, and the length of those that have one.
    let reads = 0
    this.uint32 = () => {
      if (++reads > 2 * FIELDS_MAX) throw tooManyFields(FIELDS_MAX)
      return read.call(this)
    }
  }
}

/**
 * Decodes a message.
 *
 * @throws CallError if the bytes are not a message of that type, or have too many fields
 */
export function decoded<T>(bytes: Uint8Array, decode: (reader: BinaryReader) => T): T {
  try {
    return decode(new BoundedReader(bytes))
  } catch (error) {
    throw notAMessage(error)
  }
}

/** The error for bytes that could not be decoded. A `CallError` stays as it is. */
export function notAMessage(error: unknown, path = ''): CallError {
  if (error instanceof CallError) return error
  return callError(
    'INVALID_ARGUMENT',
    { violations: `${path}expected a message of the contract; the bytes cannot be decoded` },
    { cause: error },
  )
}

/**
 * Where a login comes from: a caller who is known, or else another machine, a Unix socket, or this machine. A
 * caller token that identifies no caller is not a reason to refuse a user's own password.
 */
export function loginSource(
  { callers, trace }: Admitting,
  presented: PresentedCredentials,
  context: CallContext,
): LoginSource {
  const caller = callers.findOrNobody(presented)
  if (caller !== undefined) return { type: 'caller', name: caller.name }
  // The sidecar that forwards a login has looked at its token, too, and may have other callers.
  if (presented.authorization.length > 0 && context.metadata(FORWARDED_HEADER).length === 0)
    trace.refused(
      'a login came with a wrong caller token',
      callError('CALLER_TOKEN_INVALID', {}),
      { ...presented.from },
      () => requestOf(presented),
    )
  const { address } = presented.from
  return address === UNIX_SOCKET ? { type: 'unix_socket' } : sourceAt(ipAddress(address))
}

/**
 * The secrets by which a call shows its caller.
 *
 * @param reachable whether other machines can reach the listener
 */
export function presentedIn(context: CallContext, reachable: boolean): PresentedCredentials {
  const { address, protocol = 'grpc', vouched } = context.connection
  const remote = isReachable(context.connection, reachable)
  return {
    ...callerCredentialsIn(context, reachable),
    session: context.session,
    // An account that restricts addresses lets this machine in by listing it; a Unix socket is this machine.
    clientAddress: vouched === false ? undefined : (address ?? (remote ? undefined : THIS_MACHINE)),
    connection: context.connection,
    from: { protocol, address: address ?? (remote ? 'unknown' : UNIX_SOCKET) },
    requestId: requestIdIn(context),
  }
}

/** The fields that name the caller of a call, and the call. */
const HANDED_ON = ['authorization', 'x-auth-token', 'traceparent', 'tracestate'] as const

/** Tells connections of this process from those of all others. */
const PROCESS = randomText(9)

/** Fields that a sidecar without a directory forwards with a call. @param reachable as in `presentedIn` */
export function handedOnWith(context: CallContext, reachable: boolean): Presented {
  const { from, requestId } = presentedIn(context, reachable)
  const connection = `${PROCESS} ${nameOfConnection(context)}`
  const vouched = context.connection.vouched !== false
  return {
    ...Object.fromEntries(HANDED_ON.map((name) => [name, context.metadata(name)])),
    ...(requestId !== undefined && { [REQUEST_ID_HEADER]: [requestId] }),
    [FORWARDED_HEADER]: [forwardedText({ ...from, connection, vouched })],
  }
}

/** The id of the request, for the log. */
export function requestOf({ requestId }: Pick<PresentedCredentials, 'requestId'>): { request_id?: string } {
  return requestId === undefined ? {} : { request_id: requestId }
}

/** Over HTTP a proxy can speak for clients of other machines, so the address of a client always counts. */
function isReachable({ protocol, remote }: ClientConnection, reachable: boolean): boolean {
  return reachable || protocol === 'http' || remote === true
}

/** Where a client on a Unix socket is, for the audit trail and the log. */
const UNIX_SOCKET: Whereabouts = 'unix socket'

/** The part of that which identifies a caller. @param reachable as in `presentedIn` */
export function callerCredentialsIn(context: CallContext, reachable: boolean): CallerCredentials {
  return {
    authorization: context.metadata('authorization'),
    iamToken: context.metadata('x-auth-token'),
    // Of a call that a sidecar forwards, the certificate is that of the sidecar.
    certificateNames:
      reachable && context.metadata(FORWARDED_HEADER).length === 0 ? context.connection.certificateNames : [],
  }
}

/**
 * Listens to the decisions of a call: the shadow, the trace, the log and the meter, as far as they are on.
 * `undefined`: all are off.
 *
 * @param reachable as in `presentedIn`
 * @param observed whether a denied request passes anyway
 */
export function listenersOf(
  { decisions, callers, tracing, shadow }: Reporting & Recognizing,
  protocol: Protocol,
  meter: DecisionListener | undefined,
  reachable: boolean,
  observed = false,
): ListenerOf | undefined {
  const factsOf = (context: CallContext): AskerFacts => ({
    protocol: context.connection.protocol === 'http' ? 'connect' : protocol,
    address: context.connection.address,
    name: callers.findOrNobody(callerCredentialsIn(context, reachable))?.name,
    traceparent: context.metadata('traceparent'),
    requestIds: context.metadata(REQUEST_ID_HEADER),
    observed,
  })
  const usual = decisions === undefined ? meter && (() => meter) : decisions.listeners(factsOf, meter)
  const all: ListenerOf | undefined =
    tracing === undefined
      ? usual
      : (context) => {
          const span = tracing.current()
          if (span === undefined) return usual?.(context)
          return recordedListener(
            { tracing, decisions },
            { span, protocol, factsOf: () => factsOf(context) },
            meter,
          )
        }
  return shadow === undefined ? all : shadow.listeners(all)
}

export type ListenerOf = (context: CallContext) => DecisionListener | undefined

const CONNECTIONS = new WeakMap<ClientConnection, string>()
let connections = 0

/** A name that no other connection has had. */
export function nameOfConnection({ connection }: Pick<CallContext, 'connection'>): string {
  let name = CONNECTIONS.get(connection)
  if (name === undefined) {
    name = `${connection.protocol ?? 'grpc'} ${++connections}`
    CONNECTIONS.set(connection, name)
  }
  return name
}
