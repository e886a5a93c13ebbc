/** How a proxy answers a request that no route has an API for. */
import type { RouteMatch } from '../routes/route.ts'
import type { DenialAnswer } from './denial.ts'

/** A denial, and no credential would help. */
export function routeDenialAnswer({
  refused,
  detail,
}: Exclude<RouteMatch, { refused: undefined }>): DenialAnswer {
  return {
    status: 403,
    headers: [
      ['content-type', 'application/json'],
      ['cache-control', 'no-store'],
    ],
    body: JSON.stringify({ error: { reason: refused, message: detail, accepted: [] } }),
  }
}
