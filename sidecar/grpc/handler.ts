/** What the handlers of every service share: bytes in, bytes out, errors translated in one place. */
import type { handleUnaryCall, Metadata, ServerUnaryCall, ServiceDefinition } from '@grpc/grpc-js'
import type { Logger } from 'pino'
import { isLoopback } from '../base/address.ts'
import { CallError, callError } from '../base/call-error.ts'
import { serviceError } from './status.ts'

export type Unary = handleUnaryCall<Buffer, Buffer>

/** The handlers of a service, with bytes for messages. */
export type UnaryHandlers = Readonly<Record<string, Unary>>

/** A generated definition with pass-through serialisers: an answer encoded once is sent as often as asked. */
export function passThrough(service: object): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(service).map(([name, method]) => [
      name,
      { ...(method as object), requestDeserialize: same, responseSerialize: same },
    ]),
  ) as unknown as ServiceDefinition
}

function same(bytes: Buffer): Buffer {
  return bytes
}

/** Logs what the caller is not told, and makes the error that grpc-js sends. */
export function failure(log: Logger, error: unknown): ReturnType<typeof serviceError> {
  if (!(error instanceof CallError))
    log.error({ err: error }, 'a call failed for a reason that should not occur')
  else if (error.cause !== undefined && error.code !== 'INVALID_ARGUMENT')
    log.warn({ err: error.cause, reason: error.reason }, 'a call got no answer')
  return serviceError(error)
}

/** A unary handler from a function of the request's bytes. One that answers at once stays synchronous. */
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

/** Decodes, or refuses what is no message of that type. */
export function decoded<T>(decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw notAMessage(error)
  }
}

/** What is said of bytes that could not be read; a refusal for another reason stays as it is. */
export function notAMessage(error: unknown, path = ''): CallError {
  if (error instanceof CallError) return error
  return callError(
    'INVALID_ARGUMENT',
    { violations: `${path}expected a message of the contract, and the bytes are none` },
    { cause: error },
  )
}

/** What is asked of a call about who makes it. */
type Peer = Pick<ServerUnaryCall<Buffer, Buffer>, 'getPeer'>

/** The IP address of whoever calls; a Unix socket has none. */
export function peerAddress(call: Peer): string | undefined {
  return /^\[?([0-9a-fA-F.:]+?)\]?:\d+$/.exec(call.getPeer())?.[1]
}

/**
 * The IP address of whoever calls from elsewhere; `undefined`: this machine, over loopback or a Unix socket.
 *
 * @param reachable whether other machines can reach the listener
 */
export function remoteAddress(call: Peer, reachable: boolean): string | undefined {
  if (!reachable) return undefined
  // Of who has left already there is no address; they are not taken for somebody on this machine.
  const address = peerAddress(call) ?? 'gone'
  // A listener for IPv4 and IPv6 sees IPv4 so.
  return isLoopback(address.replace(/^::ffff:/i, '')) ? undefined : address
}
