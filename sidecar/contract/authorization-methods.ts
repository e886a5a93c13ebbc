/**
 * `portcullis.v1.AuthorizationService`: each handler reads the request, calls a use case, and writes the
 * response. Requests and responses are bytes here, so that an answer that is encoded once can be sent many
 * times.
 */
import { AuthorizationServiceService } from '../../proto/gen/portcullis/v1/authorization.ts'
import type { Following } from '../usecases/capabilities.ts'
import { type Method, methodsOf } from './call.ts'
import { changeHandlers } from './change-handlers.ts'
import { type CheckServices, checkHandlers } from './check-handlers.ts'
import { matrixHandlers } from './matrix-handlers.ts'
import { type TokenServices, tokenHandlers } from './token-handlers.ts'
import type { Watches } from './watches.ts'

export interface AuthorizationOptions {
  /** Most checks in one `CheckBatch`. */
  readonly batchLengthMax: number
  /** Whether other machines can reach the listener. */
  readonly reachable: boolean
  readonly watches: Watches
}

/** The methods of the service. `endFollowing` ends the streams of `WatchChanges`. */
export function authorizationMethods(
  services: CheckServices & TokenServices & Following,
  { batchLengthMax, reachable, watches }: AuthorizationOptions,
): { methods: [path: string, Method][]; endFollowing: () => void } {
  const matrix = matrixHandlers(services, watches)
  const changes = changeHandlers(services, matrix.encodedRules, reachable)
  const handlers = {
    ...checkHandlers(services, batchLengthMax, reachable),
    ...tokenHandlers(services, reachable),
    ...matrix.handlers,
    ...changes.handlers,
  }
  const { watchChanges, describeTokens, getPromotedMatrix } = AuthorizationServiceService
  const ofFollowers: readonly string[] = [watchChanges, describeTokens, getPromotedMatrix].map(
    ({ path }) => path,
  )
  return {
    methods: methodsOf(AuthorizationServiceService, handlers).map(([each, method]) =>
      ofFollowers.includes(each) ? [each, { ...method, admit: changes.expectFollower }] : [each, method],
    ),
    endFollowing: changes.endFollowing,
  }
}
