/**
 * Lets in callers alone. Over gRPC with TLS a caller is known by the client certificate, over HTTP by the
 * caller token. It is asked before every call of every service, and again for every message of a stream,
 * because a caller can expire or be withdrawn while a connection is open.
 */
import type { Callers } from '../usecases/callers.ts'
import type { Admitting } from '../usecases/capabilities.ts'
import { expectLiveSession } from '../usecases/requester.ts'
import type { CallContext, ClientConnection, Method, Methods, Responses } from './call.ts'
import { nameOfConnection, presentedIn } from './handler.ts'

/** Each of its calls looks at the address of a session itself: some of them an owner makes from anywhere. */
const DIRECTORY_SERVICE = '/portcullis.v1.DirectoryService/'

const AUTHORIZATION_SERVICE = '/portcullis.v1.AuthorizationService/'

/** How calls are admitted. */
interface Admission {
  /** @throws CallError where the call is not that of a caller */
  readonly expect: (context: CallContext) => void
  /** Logs a refusal. */
  readonly report: (connection: ClientConnection, error: unknown) => void
  /**
   * Expects a session that counts for the method of the path, of a call with one. Absent: no call has one.
   */
  readonly expectSession?: (session: Buffer, context: CallContext, path: string) => Promise<void>
}

/** A login with a wrong caller token is one without, and a revocation says itself who may call it. */
const OWN_RULES: ReadonlySet<string> = new Set([
  '/portcullis.v1.AuthorizationService/Issue',
  '/portcullis.v1.AuthorizationService/Revoke',
])

/**
 * The same methods, where questions about access are refused whose caller token is not that of a caller: one
 * that is presented must be valid.
 */
export function refusingUnknownTokens(methods: Methods, { callers, trace }: Admitting): Methods {
  const expectKnown = (context: CallContext): void => {
    const authorization = context.metadata('authorization')
    if (authorization.length === 0) return
    try {
      callers.expectToken(authorization)
    } catch (error) {
      const { protocol = 'grpc', address } = context.connection
      trace.refused('a question about access was refused', error, { protocol, address })
      throw error
    }
  }
  const asks = (path: string) => path.startsWith(AUTHORIZATION_SERVICE) && !OWN_RULES.has(path)
  return new Map(
    [...methods].map(([path, method]) => {
      const admit = (context: CallContext) => {
        expectKnown(context)
        return method.admit?.(context)
      }
      return [path, asks(path) ? { ...method, admit } : method]
    }),
  )
}

/** The same methods for clients whose certificate is the certificate of a caller. */
export function forCallersByCertificate(methods: Methods, { callers, trace }: Admitting): Methods {
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

/**
 * The same methods for calls with a caller token; those with one message also for calls with a session of the
 * control panel.
 */
export function forCallersByToken(methods: Methods, services: Admitting): Methods {
  const { callers, trace } = services
  return forCallersOnly(methods, callers, {
    expect: (context) => void callers.expectToken(context.metadata('authorization')),
    // Every client that reaches the listener can open connections, so they are counted.
    report: ({ address }, error) =>
      trace.refused('a client was refused', error, { protocol: 'http', address }),
    expectSession: async (session, context, path) => {
      const connection = nameOfConnection(context)
      const { clientAddress } = presentedIn(context, true)
      const ownersFromAnywhere = path.startsWith(DIRECTORY_SERVICE)
      await expectLiveSession(services, session, { clientAddress, connection, ownersFromAnywhere })
    },
  })
}

function forCallersOnly(
  methods: Methods,
  callers: Callers,
  { expect, report, expectSession }: Admission,
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

  /** The responses of a stream, which ends as soon as its caller is no longer one. */
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

  const admit = (context: CallContext, path: string): Promise<void> | undefined => {
    if (expectSession !== undefined && context.session !== undefined)
      return expectSession(context.session, context, path).catch((error: unknown) => {
        report(context.connection, error)
        throw error
      })
    expectCaller(context)
    return undefined
  }

  return new Map(
    [...methods].map(([path, method]) => {
      const guards = {
        expectCaller,
        admit: (context: CallContext) => {
          method.admit?.(context)
          return admit(context, path)
        },
      }
      return [path, guardedMethod(method, guards, guarded)]
    }),
  )
}

interface Guards {
  readonly expectCaller: (context: CallContext) => void
  /** As `expectCaller`, for calls that may have a session. */
  readonly admit: (context: CallContext) => Promise<void> | undefined
}

/** The caller is looked at before the request is read, and again when it is here, maybe much later. */
function guardedMethod(
  method: Method,
  { expectCaller, admit }: Guards,
  guarded: (responses: Responses, context: CallContext) => Responses,
): Method {
  switch (method.type) {
    case 'unary':
      return {
        type: 'unary',
        admit,
        handle: (request, context) => {
          // A method that uses a session looks at it itself.
          if (context.session === undefined) expectCaller(context)
          return method.handle(request, context)
        },
      }
    case 'server_stream':
      return {
        type: 'server_stream',
        admit,
        handle: (request, responses, context) => {
          expectCaller(context)
          method.handle(request, guarded(responses, context), context)
        },
      }
    case 'bidi':
      return {
        type: 'bidi',
        admit,
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
