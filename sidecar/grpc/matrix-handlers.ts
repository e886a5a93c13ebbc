/** The handlers of `Plan`, `GetMatrix` and `WatchMatrix`. They use the current matrix. */
import { plan } from '../usecases/plan.ts'
import { forCall, type Services } from '../usecases/services.ts'
import type { ServerStreamMethod, UnaryMethod } from './call.ts'
import { readPlanRequest } from './requests.ts'
import { matrixResponse, planResponse } from './responses.ts'

interface MatrixHandlers {
  readonly plan: UnaryMethod
  readonly getMatrix: UnaryMethod
  readonly watchMatrix: ServerStreamMethod
}

/** Makes the handlers. `endWatches` ends the streams of `WatchMatrix`, which would otherwise never end. */
export function matrixHandlers(services: Services): {
  handlers: MatrixHandlers
  endWatches: () => void
} {
  const { rules } = services
  const watches = new Set<() => void>()
  const handlers: MatrixHandlers = {
    plan: (request) => {
      const current = forCall(services)
      return planResponse(current.engine, plan(current, readPlanRequest(request)))
    },
    getMatrix: () => matrixResponse(rules.engine),
    watchMatrix: (_request, responses) => {
      const unwatch = rules.watch((changed) => responses.write(matrixResponse(changed)))
      const end = () => responses.end()
      watches.add(end)
      responses.onEnd(() => {
        unwatch()
        watches.delete(end)
      })
      responses.write(matrixResponse(rules.engine))
    },
  }
  return {
    handlers,
    endWatches: () => {
      for (const end of watches) end()
    },
  }
}
