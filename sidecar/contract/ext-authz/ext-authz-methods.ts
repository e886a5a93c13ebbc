/**
 * Envoy's external authorization service. Most sidecars stand behind no Envoy, so its code is loaded at the
 * first call.
 */
import type { DecideServices } from '../../proxies/decide.ts'
import type { Observing } from '../../proxies/observation.ts'
import { type CallContext, type Method, readingAtOnce, type UnaryMethod } from '../call.ts'

export type ExtAuthzServices = DecideServices & Observing

export const EXT_AUTHZ_SERVICE = 'envoy.service.auth.v3.Authorization'

/** @param reachable whether other machines can reach the listener */
export function extAuthzMethods(services: ExtAuthzServices, reachable: boolean): [path: string, Method][] {
  let loaded: UnaryMethod | undefined
  const load = async (request: Buffer, context: CallContext): Promise<Buffer> => {
    const own = Buffer.from(request)
    const { checkHandler } = await import('./ext-authz-handler.ts')
    loaded ??= checkHandler(services, reachable)
    return loaded(own, context)
  }
  const handle = readingAtOnce((request, context) => loaded?.(request, context) ?? load(request, context))
  return [[`/${EXT_AUTHZ_SERVICE}/Check`, { type: 'unary', handle }]]
}
