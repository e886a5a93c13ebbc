/** The methods that a sidecar without a directory forwards to the one that it follows. */
import { type Forward, RefusedElsewhere } from '../authority/elsewhere.ts'
import { type Method, type Methods, StatusError } from './call.ts'
import { needsDirectory } from './handed-on.ts'
import { handedOnWith } from './handler.ts'

/**
 * The same methods, where those that need the directory are forwarded.
 *
 * @param reachable whether other machines can reach the listener
 */
export function forwardedMethods(methods: Methods, forward: Forward, reachable: boolean): Methods {
  return new Map(
    [...methods].map(([path, method]) =>
      needsDirectory(path) ? [path, forwarded(path, method, forward, reachable)] : [path, method],
    ),
  )
}

function forwarded(path: string, { admit }: Method, forward: Forward, reachable: boolean): Method {
  return {
    type: 'unary',
    ...(admit && { admit }),
    handle: async (request, context) => {
      try {
        return await forward(path, request, handedOnWith(context, reachable))
      } catch (error) {
        if (!(error instanceof RefusedElsewhere)) throw error
        throw new StatusError(error.status)
      }
    },
  }
}
