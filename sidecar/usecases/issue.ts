/**
 * Obtains the right token for a scope or for a set of APIs. A token that opens none of them is never made.
 */
import {
  type CompiledKind,
  type Engine,
  type NamedConflict,
  type Place,
  placeNamed,
  placesExpected,
  type Scope,
  schemeOf,
  withArticle,
} from '../../engine/index.ts'
import { contestedCells, planTokens, preferredKinds } from '../../matrix/index.ts'
import type { Authority, IssuedToken, Origin, PasswordRequester } from '../authority/authority.ts'
import { kindForScope } from '../authority/kind-of-scope.ts'
import { type CallError, callError, invalidArgument, invalidFields } from '../base/call-error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { Secret } from '../base/secret.ts'
import type { Deciding } from './capabilities.ts'
import { type Profile, type ProfileCaller, type Profiles, profileFor } from './profiles.ts'

export interface Issuing extends Deciding {
  readonly authority: Authority
  readonly profiles: Profiles
}

/** The purpose of the token. */
export type Purpose =
  | { readonly type: 'scope'; readonly scope: Scope }
  | { readonly type: 'apis'; readonly apis: readonly string[]; readonly project: string | undefined }

/** A token, how to send it, and what the source says against it. */
export interface Issued extends Pick<Place, 'header' | 'basic'> {
  /** Before the token in that header; empty: the token alone. */
  readonly scheme: string
  readonly value: Secret
  readonly kind: string
  readonly scope: Scope
  readonly tokenId: string
  /** `undefined` for a static token that the configuration holds. */
  readonly issuedAtMs: number | undefined
  readonly expiresAtMs: number | undefined
  readonly conflicts: readonly NamedConflict[]
}

/** The requester of a token, its purpose, and the address. */
export interface IssueRequest {
  readonly requester:
    | { readonly type: 'password'; readonly login: PasswordRequester }
    | { readonly type: 'profile'; readonly name: string; readonly caller: ProfileCaller | undefined }
  readonly purpose: Purpose
  /** The place to send it in, by its name; `undefined`: the first one of its kind. */
  readonly place?: string | undefined
  /**
   * A token that an API has just refused with 401. If a profile would give it again, it gives another one. A
   * requester with a password gets a new token anyway.
   */
  readonly rejected?: Secret | undefined
  /** Where a login by password comes from; `undefined`: this machine. */
  readonly from: Omit<Origin, 'address' | 'restricted'> | undefined
}

/**
 * By profile, the token may have been issued earlier; then the answer comes at once. By password, it is
 * always a new one.
 *
 * @throws CallError: not allowed by §5.1, no single kind opens the APIs, or a static token without a holder
 *   (§4.2), or no token of the kind is sent in the place
 */
export function issue(services: Issuing, request: IssueRequest): MaybePromise<Issued> {
  const { purpose, place, rejected } = request
  const source = sourceOf(services, request)
  const choice = choiceFor(services.engine, purpose, place, source.projects !== undefined)
  const { kind, sentIn, conflicts } = choice
  const scope = purpose.type === 'scope' ? purpose.scope : scopeFor(kind, source.account, purpose)

  if (kind.obtained.by !== 'issue') {
    if (source.staticToken === undefined || kind.obtained.by === 'elsewhere') throw notIssuable(kind)
    return {
      ...sentIn,
      value: source.staticToken,
      kind: kind.id,
      scope,
      tokenId: '',
      issuedAtMs: undefined,
      expiresAtMs: undefined,
      conflicts,
    }
  }
  return andThen(source.issue(kind, scope, rejected), (token) => issuedFor(token, choice))
}

/** The source of the token: a profile, or a user by password, whose tokens may be for any scope. */
type Source = Omit<Profile, 'name'>

function sourceOf(
  { authority, profiles }: Issuing,
  { requester, from = THIS_MACHINE }: IssueRequest,
): Source {
  if (requester.type === 'profile') return profileFor(profiles, requester.name, requester.caller)
  const { login } = requester
  return {
    account: login.account,
    staticToken: undefined,
    projects: undefined,
    issue: (kind, scope) => authority.issue(login, kind, scope, { ...from, restricted: false }),
  }
}

/** The kind of token for a purpose, and what the source says against it. */
interface Choice {
  readonly kind: CompiledKind
  /** How it is sent. */
  readonly sentIn: Pick<Issued, 'header' | 'scheme' | 'basic'>
  readonly conflicts: readonly NamedConflict[]
}

/** The choices of each engine so far, by their dependencies. */
const CHOICES = new WeakMap<Engine, Map<string, Choice>>()

/** Most choices that are remembered of an engine. Lists of APIs come from clients. */
const CHOICES_MAX = 1_000

function keyOf(purpose: Purpose, place: string | undefined, projectsOnly: boolean): string {
  // Survives: `purpose.scope.project === undefined` → `purpose.scope.project !== undefined`. The two keys are
  // exchanged, and still two.
  if (purpose.type === 'scope') return `${purpose.scope.project === undefined} ${place}`
  // Survives: `purpose.project === undefined` → `purpose.project !== undefined`. The two keys are exchanged,
  // and still two.
  return JSON.stringify([purpose.project === undefined, projectsOnly, place, ...purpose.apis])
}

function choiceFor(
  engine: Engine,
  purpose: Purpose,
  place: string | undefined,
  projectsOnly: boolean,
): Choice {
  const key = keyOf(purpose, place, projectsOnly)
  const choices = CHOICES.get(engine) ?? new Map<string, Choice>()
  const known = choices.get(key)
  if (known !== undefined) return known
  const kind =
    purpose.type === 'scope'
      ? kindForScope(purpose.scope, engine.tokenKinds.values())
      : kindForApis(engine, purpose, projectsOnly)
  // Survives: `[]` → `["Stryker was here"]`. No conflict bears on an API that is not there.
  const cells = purpose.type === 'scope' ? [] : purpose.apis
  const choice = { kind, sentIn: sentIn(kind, place), conflicts: conflictsBearingOn(engine, kind, cells) }
  if (choices.size >= CHOICES_MAX) choices.clear()
  CHOICES.set(engine, choices.set(key, choice))
  return choice
}

/** @throws CallError that lists the places of the kind */
function sentIn(kind: CompiledKind, name: string | undefined): Choice['sentIn'] {
  const place = placeNamed(kind, name)
  if (place === undefined) throw invalidArgument({ field: 'place', expected: placesExpected(kind) })
  return { header: place.header, scheme: schemeOf(place), basic: place.basic }
}

/** The answers for tokens that are given again, by the choice that they were given for. */
const ISSUED = new WeakMap<IssuedToken, WeakMap<Choice, Issued>>()

/**
 * A token of the cache is the same object at each call, and so is the answer for it: it is encoded only once.
 */
function issuedFor(issuedToken: IssuedToken, choice: Choice): Issued {
  const known = ISSUED.get(issuedToken)?.get(choice)
  if (known !== undefined) return known
  const { value, token } = issuedToken
  const { tokenId, scope, issuedAtMs, expiresAtMs } = token
  const { kind, sentIn, conflicts } = choice
  const issued: Issued = {
    ...{ ...sentIn, value, kind: kind.id, scope },
    ...{ tokenId, issuedAtMs, expiresAtMs, conflicts },
  }
  const answers = ISSUED.get(issuedToken) ?? new WeakMap<Choice, Issued>()
  ISSUED.set(issuedToken, answers.set(choice, issued))
  return issued
}

const THIS_MACHINE = { source: { type: 'this_machine' } } as const

/**
 * A kind that every one of the APIs accepts: one that can be issued, of those one without contested cells,
 * and of those the narrowest that the project allows.
 *
 * @param projectsOnly whether a token for the whole account would be refused
 */
export function kindForApis(
  engine: Engine,
  { apis, project }: Extract<Purpose, { type: 'apis' }>,
  projectsOnly: boolean,
): CompiledKind {
  refuseUnknownApis(engine, apis, 'apis.apis')
  const closed = apis.filter((api) => engine.apis.get(api)?.public !== true)
  if (closed.length === 0) throw noSingleKind(engine, apis)
  const opensAll = preferredKinds(
    [...engine.tokenKinds.values()].filter((kind) =>
      // Survives: `engine.apis.get(api)?.accepted` → `engine.apis.get(api).accepted`. Unknown APIs were
      // refused before, and a known one has a list for each kind.
      closed.every((api) => engine.apis.get(api)?.accepted.some((accepted) => accepted.kind === kind.id)),
    ),
    (kind) => contestedCells(engine, kind, apis),
  )
  const fitting = opensAll.filter((kind) => !projectsOnly || kind.scopeLevel === 'project')
  const preferred = [...fitting, ...opensAll]
  const [first] = preferred
  if (first === undefined) throw noSingleKind(engine, apis)
  const usable = preferred.find((kind) => kind.scopeLevel !== 'project' || project !== undefined)
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
  if (unknown.length > 0) throw invalidFields(unknown)
}

function scopeFor(
  kind: CompiledKind,
  account: string,
  { project }: Extract<Purpose, { type: 'apis' }>,
): Scope {
  return kind.scopeLevel === 'project' ? { account, project } : { account }
}

function noSingleKind(engine: Engine, apis: readonly string[]): CallError {
  const { tokens, unopened, public: open } = planTokens(engine, apis)
  const plan = tokens.map((token) => `${withArticle(token.kind.title)} for ${firstOf(token.apis, ', ')}`)
  const parts = [
    ...(plan.length > 0 ? [`the smallest set is ${plan.join(' and ')}`] : []),
    ...(unopened.length > 0 ? [`no kind opens ${firstOf(unopened, ', ')}`] : []),
    ...(open.length > 0 ? [`no token is needed for ${firstOf(open, ', ')}`] : []),
  ]
  return callError(
    'NO_SINGLE_KIND',
    { plan: parts.join('; ') },
    {
      metadata: {
        ...Object.fromEntries(tokens.map((token) => [`plan_${token.kind.id}`, firstOf(token.apis, ',')])),
        ...(unopened.length > 0 && { unopened: firstOf(unopened, ',') }),
      },
    },
  )
}

/**
 * Most APIs that an error names for one token. They travel in trailers, and clients limit the size of
 * trailers.
 */
const APIS_NAMED_MAX = 40

function firstOf(apis: readonly string[], separator: string): string {
  const named = apis.slice(0, APIS_NAMED_MAX).join(separator)
  const more = apis.length - APIS_NAMED_MAX
  return more > 0 ? `${named}${separator}and ${more} more` : named
}

function notIssuable(kind: CompiledKind): CallError {
  const steps = kind.obtained.steps ?? []
  const where = kind.obtained.by === 'control_panel' ? 'in the control panel' : 'elsewhere'
  const link = kind.obtained.link === undefined ? [] : [kind.obtained.link]
  const how = [...steps, ...link].length > 0 ? `; ${where}: ${[...steps, ...link].join(' ')}` : ''
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
function conflictsBearingOn(engine: Engine, kind: CompiledKind, cells: readonly string[]): NamedConflict[] {
  // Survives: `engine.apis.get(api)?.conflicts` → `engine.apis.get(api).conflicts`, `[]` → `["Stryker was
  // here"]`. Unknown APIs were refused before, and a known one has a list for each kind.
  const named = new Set(cells.flatMap((api) => engine.apis.get(api)?.conflicts.get(kind.id) ?? []))
  return engine.conflicts.filter((conflict) => conflict.kinds.includes(kind.id) || named.has(conflict))
}
