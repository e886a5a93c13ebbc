/**
 * Planning: the smallest set of tokens for the APIs of a job, with what each one needs and how it is
 * obtained.
 */
import type { Engine, TokenKind } from '../../engine/index.ts'
import { planTokens } from '../../matrix/plan.ts'
import { issueCommand, loginCommand, planCommand, requestCommand } from './shell.ts'

export interface PlannedTokenView {
  readonly kind: TokenKind
  readonly apis: readonly { readonly id: string; readonly title: string; readonly contested: boolean }[]
  /** By a request to the identity endpoint (§4.1). */
  readonly login: string | undefined
  /** Through a sidecar. */
  readonly issue: string | undefined
  readonly request: string
}

export interface PlanView {
  readonly tokens: readonly PlannedTokenView[]
  /** APIs that need no token. */
  readonly open: readonly string[]
  readonly unopened: readonly string[]
  readonly unknown: readonly string[]
  /** The same on a command line; `undefined` where nothing is asked for. */
  readonly command: string | undefined
}

export function planView(engine: Engine, asked: readonly string[]): PlanView {
  const { tokens, unopened, unknown, public: open } = planTokens(engine, asked)
  const known = asked.filter((api) => engine.apis.has(api))
  return {
    tokens: tokens.map(({ kind, apis }) => ({
      kind,
      apis: apis.map((id) => ({
        id,
        title: engine.apis.get(id)?.title ?? id,
        contested: engine.apis.get(id)?.contested.includes(kind.id) === true,
      })),
      login: loginCommand(kind),
      issue: issueCommand(kind, apis),
      request: requestCommand(kind),
    })),
    open,
    unopened,
    unknown,
    command: known.length === 0 ? undefined : planCommand(known, engine.strict),
  }
}
