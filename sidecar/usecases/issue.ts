/** Obtains the right token for a scope or for a set of APIs. A token that opens none of them is never made. */
import {
  type Engine,
  type NamedConflict,
  type Scope,
  type TokenKind,
  withArticle,
} from '../../engine/index.ts'
import { planTokens, preferredKinds } from '../../matrix/index.ts'
import type { PasswordRequester } from '../authority/authority.ts'
import { type CallError, callError, invalidArgument } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import type { Caller } from './callers.ts'
import { PROFILES_ORIGIN, type Profile, profileFor } from './profiles.ts'
import type { CallServices } from './services.ts'

/** What the token is for. */
export type Purpose =
  | { readonly type: 'scope'; readonly scope: Scope }
  | { readonly type: 'apis'; readonly apis: readonly string[]; readonly project: string | undefined }

/** A token, how to send it, and what the source says against it. */
export interface Issued {
  readonly header: string
  readonly value: Secret
  readonly kind: string
  readonly scope: Scope
  readonly tokenId: string
  /** `undefined` for a static token that the configuration holds. */
  readonly issuedAtMs: number | undefined
  readonly expiresAtMs: number | undefined
  readonly conflicts: readonly NamedConflict[]
}

/** Who asks for a token, for what, and from where. */
export interface IssueRequest {
  readonly requester:
    | { readonly type: 'password'; readonly login: PasswordRequester }
    | { readonly type: 'profile'; readonly name: string; readonly caller: Caller | undefined }
  readonly purpose: Purpose
  /** By which failed logins are counted; `undefined`: this machine. */
  readonly clientAddress: string | undefined
}

/** @throws CallError: not allowed by §5.1, no single kind opens the APIs, or a static token that nobody holds (§4.2) */
export async function issue(
  { engine, authority, profiles }: Pick<CallServices, 'engine' | 'authority' | 'profiles'>,
  { requester: asked, purpose, clientAddress }: IssueRequest,
): Promise<Issued> {
  const { requester, staticToken }: Profile =
    asked.type === 'password'
      ? { requester: asked.login, staticToken: undefined }
      : profileFor(profiles, asked.name, asked.caller)
  const from = asked.type === 'password' ? clientAddress : PROFILES_ORIGIN
  const kind = purpose.type === 'scope' ? kindForScope(engine, purpose.scope) : kindForApis(engine, purpose)
  const scope = purpose.type === 'scope' ? purpose.scope : scopeFor(kind, requester.account, purpose)
  const conflicts = conflictsBearingOn(engine, kind, purpose)

  if (kind.obtained.by !== 'issue') {
    if (staticToken === undefined) throw notIssuable(kind)
    return {
      header: kind.header,
      value: staticToken,
      kind: kind.id,
      scope,
      tokenId: '',
      issuedAtMs: undefined,
      expiresAtMs: undefined,
      conflicts,
    }
  }
  const { value, token } = await authority.issue(requester, kind, scope, { address: from, restricted: false })
  const { tokenId, issuedAtMs, expiresAtMs } = token
  return {
    header: kind.header,
    value,
    kind: kind.id,
    scope: token.scope,
    tokenId,
    issuedAtMs,
    expiresAtMs,
    conflicts,
  }
}

/** §4.1 rules 1 and 2: the scope decides which kind of token is issued. */
export function kindForScope(engine: Engine, scope: Scope): TokenKind {
  const level = scope.project === undefined ? 'account' : 'project'
  for (const kind of engine.tokenKinds.values())
    if (kind.obtained.by === 'issue' && kind.scopeLevel === level) return kind
  throw callError('NO_KIND_FOR_SCOPE', { level })
}

/** A kind that every one of the APIs accepts: one that can be issued, and of those the narrowest that the project allows. */
function kindForApis(engine: Engine, { apis, project }: Extract<Purpose, { type: 'apis' }>): TokenKind {
  refuseUnknownApis(engine, apis, 'apis.apis')
  const opensAll = preferredKinds([...engine.tokenKinds.values()]).filter((kind) =>
    apis.every((api) => engine.apis.get(api)?.accepted.some((accepted) => accepted.kind === kind.id)),
  )
  const [first] = opensAll
  if (first === undefined) throw noSingleKind(engine, apis)
  const usable = opensAll.find((kind) => kind.scopeLevel !== 'project' || project !== undefined)
  if (usable === undefined || (first.obtained.by === 'issue' && usable.obtained.by !== 'issue'))
    throw invalidArgument({
      field: 'apis.project',
      expected: `a project name: these APIs take ${withArticle(first.title)}, which is bound to a project`,
    })
  return usable
}

/** @param field of the request that has them @throws CallError that names the unknown ones */
export function refuseUnknownApis(engine: Engine, apis: readonly string[], field: string): void {
  const unknown = apis.flatMap((api, index) =>
    engine.apis.has(api) ? [] : [{ field: `${field}[${index}]`, expected: 'the id of an API of the matrix' }],
  )
  if (unknown.length > 0) throw invalidArgument(...unknown)
}

function scopeFor(kind: TokenKind, account: string, { project }: Extract<Purpose, { type: 'apis' }>): Scope {
  return kind.scopeLevel === 'project' ? { account, project } : { account }
}

function noSingleKind(engine: Engine, apis: readonly string[]): CallError {
  const { tokens, unopened } = planTokens(engine, apis)
  const plan = tokens.map((token) => `${withArticle(token.kind.title)} for ${token.apis.join(', ')}`)
  const parts = [
    ...(plan.length > 0 ? [`the smallest set is ${plan.join(' and ')}`] : []),
    ...(unopened.length > 0 ? [`no kind opens ${unopened.join(', ')}`] : []),
  ]
  return callError(
    'NO_SINGLE_KIND',
    { plan: parts.join('; ') },
    {
      metadata: {
        ...Object.fromEntries(tokens.map((token) => [`plan_${token.kind.id}`, token.apis.join(',')])),
        ...(unopened.length > 0 && { unopened: unopened.join(',') }),
      },
    },
  )
}

function notIssuable(kind: TokenKind): CallError {
  const steps = kind.obtained.steps ?? []
  const how = steps.length > 0 ? `; in the control panel: ${steps.join(' ')}` : ''
  return callError(
    'NOT_ISSUABLE',
    { kind: withArticle(kind.title), steps: how },
    {
      metadata: {
        kind: kind.id,
        ...Object.fromEntries(steps.map((step, index) => [`step_${index + 1}`, step])),
      },
    },
  )
}

/** Conflicts about the kind as such, and about the cells that the token is asked for. */
function conflictsBearingOn(engine: Engine, kind: TokenKind, purpose: Purpose): NamedConflict[] {
  const cells = purpose.type === 'apis' ? purpose.apis : []
  const named = new Set(cells.flatMap((api) => engine.apis.get(api)?.conflicts.get(kind.id) ?? []))
  return engine.conflicts.filter((conflict) => conflict.kinds.includes(kind.id) || named.has(conflict))
}
