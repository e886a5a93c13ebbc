/**
 * Lets in callers alone. Over gRPC with TLS a caller is known by the client certificate, over HTTP by the caller token. It is asked
 * before every call of every service, and again for every message of a stream, because a caller can expire or be withdrawn while a
 * connection is open.
 */
import { callError } from '../base/call-error.ts'
import type { Services } from '../usecases/services.ts'
import type { CallContext, ClientConnection, Method, Methods, Responses } from './call.ts'

/** How calls are admitted. */
interface Admission {
  /** @throws CallError where the call is not that of a caller */
  readonly expect: (context: CallContext) => void
  /** Logs a refusal. */
  readonly report: (connection: ClientConnection, error: unknown) => void
}

/** The same methods for clients whose certificate is the certificate of a caller. */
export function forCallersByCertificate(
  methods: Methods,
  { callers, trace }: Pick<Services, 'callers' | 'trace'>,
): Methods {
  /** Connections whose refusal the log has. One line for each is enough. */
  const reported = new WeakSet<ClientConnection>()
  return forCallersOnly(methods, callers, {
    expect: ({ connection }) => callers.expectCertificate(connection.certificateNames),
    report: (connection, error) => {
      if (reported.has(connection)) return
      reported.add(connection)
      trace.refused('a client was refused', error, { protocol: 'grpc', address: connection.address }, () => ({
        certificate_names: connection.certificateNames,
      }))
    },
  })
}

/** The same methods for calls with a caller token. */
export function forCallersByToken(
  methods: Methods,
  { callers, trace }: Pick<Services, 'callers' | 'trace'>,
): Methods {
  return forCallersOnly(methods, callers, {
    expect: (context) => {
      const authorization = context.metadata('authorization')
      const caller = callers.find({ authorization, iamToken: [], certificateNames: [] })
      if (caller === undefined)
        throw callError('CALLER_TOKEN_MISSING', { action: 'every call of this listener' })
    },
    // Whoever reaches the listener can open connections, so they are counted.
    report: ({ address }, error) =>
      trace.refused('a client was refused', error, { protocol: 'http', address }),
  })
}

function forCallersOnly(
  methods: Methods,
  callers: Services['callers'],
  { expect, report }: Admission,
): Methods {
  /** Looks at each stream again. A stream that waits would otherwise outlive the withdrawal of its caller. */
  const streams = new Set<() => void>()
  callers.watch(() => {
    for (const look of streams) look()
  })

  /** @throws CallError if the call is not that of a caller */
  const expectCaller = (context: CallContext): void => {
    try {
      expect(context)
    } catch (error) {
      report(context.connection, error)
      throw error
    }
  }

  /** The responses of a stream, which ends as soon as its caller is none any more. */
  const guarded = (responses: Responses, context: CallContext): Responses => {
    const isAdmitted = (): boolean => {
      try {
        expectCaller(context)
        return true
      } catch (error) {
        responses.fail(error)
        return false
      }
    }
    streams.add(isAdmitted)
    responses.onEnd(() => streams.delete(isAdmitted))
    return {
      write: (response) => {
        if (isAdmitted()) responses.write(response)
      },
      get unread() {
        return responses.unread
      },
      end: () => responses.end(),
      fail: (error) => responses.fail(error),
      onEnd: (listener) => responses.onEnd(listener),
    }
  }

  return new Map([...methods].map(([path, method]) => [path, guardedMethod(method, expectCaller, guarded)]))
}

function guardedMethod(
  method: Method,
  expectCaller: (context: CallContext) => void,
  guarded: (responses: Responses, context: CallContext) => Responses,
): Method {
  switch (method.type) {
    case 'unary':
      return {
        type: 'unary',
        handle: (request, context) => {
          expectCaller(context)
          return method.handle(request, context)
        },
      }
    case 'server_stream':
      return {
        type: 'server_stream',
        handle: (request, responses, context) => {
          expectCaller(context)
          method.handle(request, guarded(responses, context), context)
        },
      }
    case 'bidi':
      return {
        type: 'bidi',
        handle: (responses, context) => {
          expectCaller(context)
          const requests = method.handle(guarded(responses, context), context)
          return {
            next: (request) => {
              expectCaller(context)
              return requests.next(request)
            },
            end: () => requests.end(),
          }
        },
      }
  }
}
