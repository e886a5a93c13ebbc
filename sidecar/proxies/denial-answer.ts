/**
 * How a proxy answers a request that must not pass: the status, and a body that says why. Every protocol that
 * proxies speak uses this file, and no other file chooses these statuses.
 */

import { denialOf, failureOf, type Headers, REASON_HEADER, refusalOf } from '../../engine/denial.ts'
import type { Decision } from '../../engine/index.ts'
import { CallError, type CallErrorReason, callError } from '../base/call-error.ts'
import type { RouteMatch } from '../rules/routes/route.ts'
import type { Reporting } from '../usecases/capabilities.ts'
import type { CallOrigin } from '../usecases/requester.ts'

export type { Headers } from '../../engine/denial.ts'

/** How the proxy answers a request that must not pass. */
export interface DenialAnswer {
  readonly status: 401 | 403 | 500 | 503
  readonly headers: Headers
  /** JSON. */
  readonly body: string
}

/** Decisions are shared, so each is put into words once. */
const DENIALS = new WeakMap<Decision, DenialAnswer>()

/**
 * The answer to a request that the decision denies. It says which kinds of token would have been accepted.
 */
export function denialAnswer(decision: Decision): DenialAnswer {
  let answer = DENIALS.get(decision)
  if (answer === undefined) {
    answer = denialOf(decision)
    DENIALS.set(decision, answer)
  }
  return answer
}

/** The answer to a request that no route has an API for. A denial, and no credential would help. */
export function routeDenialAnswer({
  refused,
  detail,
}: Exclude<RouteMatch, { refused: undefined }>): DenialAnswer {
  return refusalOf(refused, detail)
}

/** The stable code of an error; one that is unexpected is `INTERNAL`. */
export function reasonOfFailure(error: unknown): CallErrorReason {
  return callErrorOf(error).reason
}

/** The stable code of what the answer says, in its header. */
export function reasonOfDenial({ headers }: Pick<DenialAnswer, 'headers'>): string {
  return headers.find(([name]) => name === REASON_HEADER)?.[1] ?? 'INTERNAL'
}

/** The answer where there is no decision. @param requestId shown where the failure is unexpected */
export function failureAnswer(error: unknown, requestId?: string): DenialAnswer {
  const { reason, code, metadata } = callErrorOf(error)
  const retryAfter = isTemporary(code) ? (metadata.retry_after_seconds ?? '1') : undefined
  return failureOf(reason, retryAfter, error instanceof CallError ? undefined : requestId)
}

function callErrorOf(error: unknown): CallError {
  return error instanceof CallError ? error : callError('INTERNAL', {})
}

/**
 * Logs the facts that the client does not get. Many of a kind are counted, because every request of a route
 * brings one.
 *
 * @param observed whether the request passes anyway
 */
export function traceFailure(
  { trace, tracing }: Reporting,
  error: unknown,
  from: CallOrigin,
  requestId: string,
  observed: boolean,
): void {
  tracing?.current()?.erred(error)
  const request = { request_id: requestId }
  if (!(error instanceof CallError)) trace.failed(error, { ...from, ...request })
  else
    trace.record({
      level: 'warn',
      message: observed
        ? 'a request of a proxy passed in observe mode, because nothing could be decided'
        : 'a request of a proxy was denied, because nothing could be decided',
      by: { ...from, reason: error.reason, problem: error.message },
      details: () => ({ ...request, ...(error.cause !== undefined && { err: error.cause }) }),
    })
}

/** Whether a failure may have ended when the client tries again. */
function isTemporary(code: CallError['code']): boolean {
  switch (code) {
    case 'RESOURCE_EXHAUSTED':
    case 'UNAVAILABLE':
    case 'CANCELLED':
      return true
    case 'INVALID_ARGUMENT':
    case 'UNAUTHENTICATED':
    case 'PERMISSION_DENIED':
    case 'FAILED_PRECONDITION':
    case 'NOT_FOUND':
    case 'ALREADY_EXISTS':
    case 'INTERNAL':
      return false
  }
}
