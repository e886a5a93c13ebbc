/** The handlers of `Plan`, `GetMatrix` and `WatchMatrix`. They use the current matrix. */
import { finish } from '../../engine/index.ts'
import type { Deciding, PerCall, Ruled } from '../usecases/capabilities.ts'
import { plan } from '../usecases/plan.ts'
import type { ServerStreamMethod, UnaryMethod } from './call.ts'
import { answersInSteps } from './change-messages.ts'
import { matrixResponse, matrixResponseInSteps } from './matrix-messages.ts'
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
  encodedRules: () => Buffer
} {
  // Encoded once for all who ask.
  let response = matrixResponse(rules.engine)
  let answers = finish(answersInSteps(rules.engine))
  let joined: Buffer | undefined
  rules.prepare(function* (engine) {
    const next = yield* matrixResponseInSteps(engine)
    const nextAnswers = yield* answersInSteps(engine)
    return () => {
      response = next
      answers = nextAnswers
      joined = undefined
    }
  })
  const current = () => response
  const topic = new Topic(watches, current)
  rules.watch(() => topic.changed())
  const handlers: MatrixHandlers = {
    plan: (request) => {
      const current = forCall()
      return planResponse(current.engine, plan(current, readPlanRequest(request)))
    },
    getMatrix: current,
    watchMatrix: (_request, responses, context) => topic.open(context, responses),
  }
  const encodedRules = () => {
    // The matrix of a `GetMatrixResponse` has the number of that of the rules.
    joined ??= Buffer.concat([response, ...answers, encodedRoutes(routes)])
    return joined
  }
  return { handlers, encodedRules }
}
