/** Envoy's external authorization service. Most sidecars stand behind no Envoy, so its code is loaded at the first call. */
import type { Services } from '../../usecases/services.ts'
import type { Method, UnaryMethod } from '../call.ts'

export const EXT_AUTHZ_SERVICE = 'envoy.service.auth.v3.Authorization'

/** @param reachable whether other machines can reach the listener */
export function extAuthzMethods(services: Services, reachable: boolean): [path: string, Method][] {
  let loaded: UnaryMethod | undefined
  const load = async (): Promise<UnaryMethod> => {
    const { checkHandler } = await import('./handler.ts')
    loaded ??= checkHandler(services, reachable)
    return loaded
  }
  const handle: UnaryMethod = (request, context) =>
    loaded?.(request, context) ?? load().then((check) => check(request, context))
  return [[`/${EXT_AUTHZ_SERVICE}/Check`, { type: 'unary', handle }]]
}
