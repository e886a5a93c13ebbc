/** The handlers of `Plan`, `GetMatrix` and `WatchMatrix`. They use the current matrix. */
import { plan } from '../usecases/plan.ts'
import { forCall, type Services } from '../usecases/services.ts'
import type { ServerStreamMethod, UnaryMethod } from './call.ts'
import { readPlanRequest } from './requests.ts'
import { matrixResponse, matrixResponseInSteps, planResponse } from './responses.ts'
import { Topic, type Watches } from './watches.ts'

interface MatrixHandlers {
  readonly plan: UnaryMethod
  readonly getMatrix: UnaryMethod
  readonly watchMatrix: ServerStreamMethod
}

/** Makes the handlers. `endWatches` ends the streams of `WatchMatrix`, which would otherwise never end. */
export function matrixHandlers(
  services: Services,
  watches: Watches,
): {
  handlers: MatrixHandlers
  endWatches: () => void
} {
  const { rules } = services
  // Encoded once for all who ask.
  let response = matrixResponse(rules.engine)
  rules.prepare(function* (engine) {
    const next = yield* matrixResponseInSteps(engine)
    return () => {
      response = next
    }
  })
  const current = () => response
  const topic = new Topic(watches, current)
  rules.watch(() => topic.changed())
  const handlers: MatrixHandlers = {
    plan: (request) => {
      const current = forCall(services)
      return planResponse(current.engine, plan(current, readPlanRequest(request)))
    },
    getMatrix: current,
    watchMatrix: (_request, responses, context) => topic.open(context, responses),
  }
  return { handlers, endWatches: () => topic.end() }
}
