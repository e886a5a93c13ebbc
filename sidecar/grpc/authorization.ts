/**
 * `portcullis.v1.AuthorizationService`: each handler reads the request, calls a use case, and writes the
 * response. Requests and responses are bytes here, so that an answer that is encoded once can be sent many times.
 */
import type { handleBidiStreamingCall, handleServerStreamingCall } from '@grpc/grpc-js'
import { AuthorizationServiceService } from '../gen/portcullis/v1/authorization.ts'
import type { Services } from '../usecases/services.ts'
import { checkHandlers } from './check-handlers.ts'
import { passThrough, type Unary } from './handler.ts'
import { matrixHandlers } from './matrix-handlers.ts'
import { tokenHandlers } from './token-handlers.ts'

export interface AuthorizationOptions {
  /** Most checks in one `CheckBatch`. */
  readonly batchLengthMax: number
  /** Whether other machines can reach the listener. */
  readonly reachable: boolean
}

type Service = typeof AuthorizationServiceService
/** The handlers of the generated service, with bytes as messages. */
type Handlers = {
  [Method in keyof Service]: Service[Method]['responseStream'] extends false
    ? Unary
    : Service[Method]['requestStream'] extends false
      ? handleServerStreamingCall<Buffer, Buffer>
      : handleBidiStreamingCall<Buffer, Buffer>
}

export const authorizationService = passThrough(AuthorizationServiceService)

/** Makes the handlers. `endStreams` ends the streams that would otherwise never end. */
export function authorizationHandlers(
  services: Services,
  { batchLengthMax, reachable }: AuthorizationOptions,
): { handlers: Handlers; endStreams: () => void } {
  const matrix = matrixHandlers(services)
  return {
    handlers: {
      ...checkHandlers(services, batchLengthMax),
      ...tokenHandlers(services, reachable),
      ...matrix.handlers,
    },
    endStreams: matrix.endWatches,
  }
}
