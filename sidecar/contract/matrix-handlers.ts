/** The handlers of `Plan`, `GetMatrix` and `WatchMatrix`. They use the current matrix. */
import { finish } from '../../engine/index.ts'
import type { Deciding, PerCall, Ruled } from '../usecases/capabilities.ts'
import { plan } from '../usecases/plan.ts'
import type { ServerStreamMethod, UnaryMethod } from './call.ts'
import { type EncodedRules, rulesInSteps } from './change-messages.ts'
import { matrixInSteps, matrixPage, wholeRefusal } from './matrix-messages.ts'
import { readPlanRequest } from './requests.ts'
import { planResponse } from './responses.ts'
import { encodedRoutes } from './route-messages.ts'
import { Topic, type Watches } from './watches.ts'

interface MatrixHandlers {
  readonly plan: UnaryMethod
  readonly getMatrix: UnaryMethod
  readonly watchMatrix: ServerStreamMethod
}

/** Makes the handlers. */
export function matrixHandlers(
  { rules, routes, forCall }: PerCall<Deciding> & Ruled,
  watches: Watches,
): {
  handlers: MatrixHandlers
  /** The rules in force, for those who decide by them. */
  encodedRules: () => EncodedRules
} {
  // Encoded once for all who ask.
  const ofRoutes = encodedRoutes(routes)
  let matrix = finish(matrixInSteps(rules.engine))
  let encoded = finish(rulesInSteps(rules.engine, ofRoutes))
  rules.prepare(function* (engine) {
    const next = yield* matrixInSteps(engine)
    const nextEncoded = yield* rulesInSteps(engine, ofRoutes)
    return () => {
      matrix = next
      encoded = nextEncoded
    }
  })
  const topic = new Topic(watches, () => matrix.whole)
  rules.watch(() => {
    const refusal = wholeRefusal(matrix)
    if (refusal === undefined) topic.changed()
    else topic.fail(refusal)
  })
  const handlers: MatrixHandlers = {
    plan: (request) => {
      const current = forCall()
      return planResponse(current.engine, plan(current, readPlanRequest(request)))
    },
    getMatrix: (request) => matrixPage(matrix, request),
    watchMatrix: (_request, responses, context) => {
      const refusal = wholeRefusal(matrix)
      if (refusal !== undefined) throw refusal
      topic.open(context, responses)
    },
  }
  return { handlers, encodedRules: () => encoded }
}
