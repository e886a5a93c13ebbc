/** Shared parts of all handlers: they receive and return bytes, and errors are translated in one place. */
import type { handleUnaryCall, Metadata, ServerUnaryCall, ServiceDefinition } from '@grpc/grpc-js'
import type { Logger } from 'pino'
import { isLoopback } from '../base/address.ts'
import { CallError, callError } from '../base/call-error.ts'
import { type CertificateName, namesOfCertificate } from '../base/certificate-name.ts'
import type { CallerCredentials } from '../usecases/callers.ts'
import type { PresentedCredentials } from '../usecases/requester.ts'
import { serviceError } from './status.ts'

export type Unary = handleUnaryCall<Buffer, Buffer>

/** The handlers of a service whose messages are bytes. */
export type UnaryHandlers = Readonly<Record<string, Unary>>

/** Replaces the serialisers of a generated definition so that messages stay bytes: one encoded answer serves many calls. */
export function passThrough(service: object): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(service).map(([name, method]) => [
      name,
      { ...(method as object), requestDeserialize: identity, responseSerialize: identity },
    ]),
  ) as unknown as ServiceDefinition
}

function identity(bytes: Buffer): Buffer {
  return bytes
}

/** Logs what the client is not told, and makes the error that grpc-js sends. */
export function failure(log: Logger, error: unknown): ReturnType<typeof serviceError> {
  if (!(error instanceof CallError)) log.error({ err: error }, 'a call failed with an unexpected error')
  else if (error.cause !== undefined && error.code !== 'INVALID_ARGUMENT')
    log.warn({ err: error.cause, reason: error.reason }, 'a call got no answer')
  return serviceError(error)
}

/** Makes a unary handler from a function of the request's bytes. If the function is synchronous, so is the handler. */
export function unaryHandler(
  log: Logger,
  handle: (
    request: Buffer,
    metadata: Metadata,
    call: ServerUnaryCall<Buffer, Buffer>,
  ) => Buffer | Promise<Buffer>,
): Unary {
  return (call, callback) => {
    try {
      const response = handle(call.request, call.metadata, call)
      if (response instanceof Promise)
        response.then(
          (bytes) => callback(null, bytes),
          (error) => callback(failure(log, error)),
        )
      else callback(null, response)
    } catch (error) {
      callback(failure(log, error))
    }
  }
}

/** Decodes a message. @throws CallError if the bytes are not a message of that type */
export function decoded<T>(decode: () => T): T {
  try {
    return decode()
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

/** The names in the client certificate of the call's connection. Without TLS there are none. */
export function certificateNamesOf(call: {
  getAuthContext(): ReturnType<ServerUnaryCall<Buffer, Buffer>['getAuthContext']>
}): readonly CertificateName[] {
  return namesOfCertificate(call.getAuthContext().sslPeerCertificate?.subjectaltname)
}

/** The part of a call that knows the client's address. */
type Peer = Pick<ServerUnaryCall<Buffer, Buffer>, 'getPeer'>

/** The IP address of the client; `undefined` on a Unix socket. */
export function peerAddress(call: Peer): string | undefined {
  return /^\[?([0-9a-fA-F.:]+?)\]?:\d+$/.exec(call.getPeer())?.[1]
}

/**
 * The IP address of a client on another machine; `undefined`: the client is on this machine (loopback or Unix socket).
 *
 * @param reachable whether other machines can reach the listener
 */
export function remoteAddress(call: Peer, reachable: boolean): string | undefined {
  if (!reachable) return undefined
  // A client that has already disconnected has no address. It must not count as a client on this machine.
  const address = peerAddress(call) ?? 'gone'
  // A listener for both IPv4 and IPv6 sees IPv4 addresses in this form.
  return isLoopback(address.replace(/^::ffff:/i, '')) ? undefined : address
}

/**
 * What a call presents to say who makes it.
 *
 * @param reachable whether other machines can reach the listener
 */
export function presentedIn(call: ServerUnaryCall<Buffer, Buffer>, reachable: boolean): PresentedCredentials {
  return {
    ...callerCredentialsIn(call, reachable),
    // An account that restricts addresses lets this machine in by listing it; a Unix socket is this machine.
    clientAddress: peerAddress(call) ?? (reachable ? undefined : '127.0.0.1'),
  }
}

/** What of that identifies a caller. @param reachable as in `presentedIn` */
export function callerCredentialsIn(
  call: ServerUnaryCall<Buffer, Buffer>,
  reachable: boolean,
): CallerCredentials {
  return {
    authorization: call.metadata.get('authorization').map(String),
    iamToken: call.metadata.get('x-auth-token').map(String),
    certificateNames: reachable ? certificateNamesOf(call) : [],
  }
}
