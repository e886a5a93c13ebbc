/** The handlers of `Plan`, `GetMatrix` and `WatchMatrix`. They use the current matrix. */
import type { handleServerStreamingCall } from '@grpc/grpc-js'
import { plan } from '../usecases/plan.ts'
import { forCall, type Services } from '../usecases/services.ts'
import { type Unary, unaryHandler } from './handler.ts'
import { readPlanRequest } from './requests.ts'
import { matrixResponse, planResponse } from './responses.ts'

interface MatrixHandlers {
  readonly plan: Unary
  readonly getMatrix: Unary
  readonly watchMatrix: handleServerStreamingCall<Buffer, Buffer>
}

/** Makes the handlers. `endWatches` ends the streams of `WatchMatrix`, which would otherwise never end. */
export function matrixHandlers(services: Services): {
  handlers: MatrixHandlers
  endWatches: () => void
} {
  const { rules, log } = services
  const watches = new Set<() => void>()
  const handlers: MatrixHandlers = {
    plan: unaryHandler(log, (request) => {
      const current = forCall(services)
      return planResponse(current.engine, plan(current, readPlanRequest(request)))
    }),
    getMatrix: unaryHandler(log, () => matrixResponse(rules.engine)),
    watchMatrix: (call) => {
      const unwatch = rules.watch((changed) => call.write(matrixResponse(changed)))
      const end = () => call.end()
      const stopWatching = () => {
        unwatch()
        watches.delete(end)
      }
      watches.add(end)
      for (const event of ['cancelled', 'close', 'error', 'finish']) call.on(event, stopWatching)
      call.write(matrixResponse(rules.engine))
    },
  }
  return {
    handlers,
    endWatches: () => {
      for (const end of watches) end()
    },
  }
}
