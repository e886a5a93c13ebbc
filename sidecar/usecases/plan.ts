/** The smallest set of tokens that opens every API of a job. */
import { planTokens } from '../../matrix/index.ts'
import type { Deciding } from './capabilities.ts'
import { refuseUnknownApis } from './issue.ts'

export interface PlanRequest {
  readonly apis: readonly string[]
}

/** @throws CallError that names the unknown APIs */
export function plan({ engine }: Deciding, { apis }: PlanRequest): ReturnType<typeof planTokens> {
  refuseUnknownApis(engine, apis, 'apis')
  return planTokens(engine, apis)
}
