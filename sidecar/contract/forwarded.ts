/** The methods that a sidecar without a directory hands on to the one that it follows. */
import { type Forward, type Presented, RefusedElsewhere } from '../authority/elsewhere.ts'
import { type CallContext, type Method, type Methods, StatusError } from './call.ts'

const DIRECTORY_SERVICE = '/portcullis.v1.DirectoryService/'
const REVOKE = '/portcullis.v1.AuthorizationService/Revoke'

/** What says who makes a call, and which one it is. */
const HANDED_ON = ['authorization', 'x-auth-token', 'x-request-id', 'traceparent', 'tracestate'] as const

/** The same methods, where those that need the directory are handed on. */
export function forwardedMethods(methods: Methods, forward: Forward): Methods {
  return new Map(
    [...methods].map(([path, method]) =>
      path.startsWith(DIRECTORY_SERVICE) || path === REVOKE
        ? [path, forwarded(path, method, forward)]
        : [path, method],
    ),
  )
}

function forwarded(path: string, { admit }: Method, forward: Forward): Method {
  return {
    type: 'unary',
    ...(admit && { admit }),
    handle: async (request, context) => {
      try {
        return await forward(path, request, presentedIn(context))
      } catch (error) {
        if (!(error instanceof RefusedElsewhere)) throw error
        const { code, message, details } = error
        throw new StatusError({ code, message, details })
      }
    },
  }
}

function presentedIn(context: CallContext): Presented {
  return Object.fromEntries(HANDED_ON.map((name) => [name, context.metadata(name)]))
}
