/**
 * Lets in only those clients whose certificate is the certificate of a caller. It is asked before every call of every service,
 * and again for every message of a stream, because a caller can expire or be withdrawn while a connection is open.
 */
import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js'
import type { CertificateName } from '../base/certificate-name.ts'
import type { Services } from '../usecases/services.ts'
import { certificateNamesOf } from './handler.ts'
import { serviceError } from './status.ts'

type InterceptedCall = Parameters<ServerInterceptor>[1]

/** The interceptor of a server whose clients must be callers. */
export function admission({ callers, log }: Pick<Services, 'callers' | 'log'>): ServerInterceptor {
  const connections = new Connections()
  /** Looks at each stream again. A stream that waits would otherwise outlive the withdrawal of its caller. */
  const streams = new Set<() => void>()
  callers.watch(() => {
    for (const look of streams) look()
  })

  /** Why the connection is refused; `undefined`: it belongs to a caller. */
  const refusalOf = (connection: Connection): ReturnType<typeof serviceError> | undefined => {
    try {
      callers.expectCertificate(connection.names)
      return undefined
    } catch (error) {
      const refusal = serviceError(error)
      if (!connection.reported)
        log.warn({ certificate_names: connection.names, problem: refusal.details }, 'a client was refused')
      connection.reported = true
      return refusal
    }
  }

  return (method, call) => {
    const connection = connections.of(call)
    const streaming = method.requestStream || method.responseStream
    let over = false
    const end = () => {
      over = true
      streams.delete(isAdmitted)
    }
    /** Ends the call if it may not go on. */
    const isAdmitted = (): boolean => {
      if (over) return false
      const refusal = refusalOf(connection)
      if (refusal === undefined) return true
      end()
      call.sendStatus(refusal)
      return false
    }
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            if (!isAdmitted()) return
            if (streaming) streams.add(isAdmitted)
            proceed(metadata)
          },
          onReceiveMessage: (message, proceed) => {
            if (isAdmitted()) proceed(message)
          },
          onReceiveHalfClose: (proceed) => proceed(),
          onCancel: end,
        }),
      sendMessage: (message, proceed) => {
        // The answer to a single request is sent: a change may have been made, and its secret is shown once.
        if (!streaming || isAdmitted()) proceed(message)
      },
      sendStatus: (status, proceed) => {
        if (over) return
        end()
        proceed(status)
      },
    })
  }
}

interface Connection {
  readonly names: readonly CertificateName[]
  /** Whether the log has the refusal. One line for each connection is enough. */
  reported: boolean
}

/** The names of each connection's certificate. To read them costs more than a check. */
class Connections {
  readonly #known = new WeakMap<object, Connection>()

  of(call: InterceptedCall): Connection {
    const session = sessionOf(call)
    const known = session && this.#known.get(session)
    if (known !== undefined) return known
    const connection = { names: certificateNamesOf(call), reported: false }
    if (session !== undefined) this.#known.set(session, connection)
    return connection
  }
}

/** grpc-js does not export what is the same for all calls of a connection. Without it the names are read for every call. */
function sessionOf(call: InterceptedCall): object | undefined {
  return (call as { stream?: { session?: object } }).stream?.session
}
