/**
 * The credential that goes out with a request of an egress route: the route must be open to the caller, and
 * the matrix must let the credential pass.
 */
import {
  type CompiledKind,
  type Decision,
  type Engine,
  placeNamed,
  placesExpected,
  type TokenKind,
} from '../../engine/index.ts'
import { CallError } from '../base/call-error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { Secret } from '../base/secret.ts'
import type { Callers } from './callers.ts'
import { type Issued, type Issuing, issue, kindForApis } from './issue.ts'
import type { ProfileCaller } from './profiles.ts'

/** The permitted use of a route, and its callers. The operator writes it down in the configuration. */
export interface Passage {
  /** Path that the application asks for, with a slash at both ends. It names the route. */
  readonly path: string
  readonly api: string
  /** Name of the profile whose token is sent. */
  readonly profile: string
  /** Project of the token, for kinds that need one. */
  readonly project: string | undefined
  /** Place that the token is sent in, by its name; `undefined`: the first one of its kind. */
  readonly place?: string | undefined
  /** Names of the callers who may use the route; `anyone`: every client that reaches the listener. */
  readonly callers: ReadonlySet<string> | 'anyone'
}

/** The credential to send, or why the matrix lets none pass. */
export type Outgoing =
  | { readonly allowed: true; readonly decision: Decision; readonly credential: Issued }
  | { readonly allowed: false; readonly decision: Decision; readonly credential: undefined }

/** `unknown`: no caller token, or one that no caller has. */
export type Admission = 'admitted' | 'unknown' | 'not_allowed'

/**
 * Whether the caller may use the route. A route for `anyone` needs no credential.
 *
 * @param authorization values that name the caller: `Bearer CALLER_TOKEN`
 */
export function admit(
  callers: Pick<Callers, 'expectToken'>,
  passage: Passage,
  authorization: readonly string[],
): Admission {
  if (passage.callers === 'anyone') return 'admitted'
  try {
    return passage.callers.has(callers.expectToken(authorization).name) ? 'admitted' : 'not_allowed'
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    return 'unknown'
  }
}

/**
 * The credential for a request of the route. The route itself may use the profile: its callers never see the
 * token, so they need not be bound to the profile themselves.
 *
 * @param rejected a token that the API has just refused
 * @throws CallError as `issue` does
 */
export function outgoing(services: Issuing, passage: Passage, rejected?: Secret): MaybePromise<Outgoing> {
  return credentialFor(services, passage, callerOf(passage), rejected)
}

/**
 * The credential of a profile for an API.
 *
 * @param caller who uses the profile
 * @param rejected a token that the API has just refused
 * @throws CallError as `issue` does
 */
export function credentialFor(
  services: Issuing,
  { api, profile, project, place }: Pick<Passage, 'api' | 'profile' | 'project' | 'place'>,
  caller: ProfileCaller | undefined,
  rejected?: Secret,
): MaybePromise<Outgoing> {
  const { engine } = services
  const accepted = engine.apis.get(api)?.accepted ?? []
  if (accepted.length === 0) return { allowed: false, decision: denialOf(engine, api), credential: undefined }
  const issued = issue(services, {
    requester: { type: 'profile', name: profile, caller },
    // Survives: `'apis'` → `""`. A wish that is not for a scope is for APIs.
    purpose: { type: 'apis', apis: [api], project },
    place,
    from: undefined,
    rejected,
  })
  return andThen(issued, (credential): Outgoing => {
    // Whatever chose the token: one that the matrix denies is not sent.
    const decision = engine.decide({ api, kind: credential.kind, scope: credential.scope })
    return decision.allowed
      ? { allowed: true, decision, credential }
      : { allowed: false, decision, credential: undefined }
  })
}

/** The facts of a profile that decide which tokens it gives. */
interface ProfileFacts {
  readonly hasStaticToken: boolean
  /** Whether it is limited to projects. */
  readonly projectsOnly: boolean
}

/**
 * The faults of the routes under this matrix: an unknown API, no token that could ever open it, or a place
 * that none is sent in.
 *
 * @returns the key in the configuration, and the expected value there
 */
export function routeProblems(
  engine: Engine,
  passages: readonly Passage[],
  factsOf: (profile: string) => ProfileFacts,
): string[] {
  return passages.flatMap((passage, index) => {
    const at = `egress.routes[${index}]`
    const api = engine.apis.get(passage.api)
    if (api === undefined) return [`${at}.api: expected the id of an API of the matrix`]
    const kinds = api.accepted.map(({ kind }) => engine.tokenKinds.get(kind) as TokenKind)
    const issued = kinds.filter(({ obtained }) => obtained.by === 'issue')
    const { hasStaticToken, projectsOnly } = factsOf(passage.profile)
    if (issued.length === 0 && kinds.length > 0 && !hasStaticToken)
      return [`${at}.profile: expected a profile with a static token, because the API accepts no other token`]
    const everyNeedsProject = issued.length > 0 && issued.every(({ scopeLevel }) => scopeLevel === 'project')
    if (everyNeedsProject && passage.project === undefined)
      return [
        `${at}.project: expected the name of a project, because every token that the API accepts is bound to one`,
      ]
    const sent = kindSent(engine, passage, projectsOnly)
    if (sent === undefined || placeNamed(sent, passage.place) !== undefined) return []
    return [`${at}.place: expected ${placesExpected(sent)}`]
  })
}

/** The kind that a route sends; `undefined`: all of its requests are refused, each with the reason. */
function kindSent(
  engine: Engine,
  { api, project }: Passage,
  projectsOnly: boolean,
): CompiledKind | undefined {
  try {
    return kindForApis(engine, { type: 'apis', apis: [api], project }, projectsOnly)
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    return undefined
  }
}

/** Why no token opens the API: it is unknown, strict mode denies it, or it accepts no kind. */
function denialOf(engine: Engine, api: string): Decision {
  const denials = [...engine.tokenKinds.values()].map(({ id: kind, scopeLevel }) =>
    engine.decide({
      api,
      kind,
      scope: { account: '0', ...(scopeLevel === 'project' && { project: 'any' }) },
    }),
  )
  // Survives: `''` → `"Stryker was here!"`, `{ account: '0' }` → `{}`, `'0'` → `""`. Without any kind, the
  // denial is the same for every kind and every scope.
  const [first = engine.decide({ api, kind: '', scope: { account: '0' } })] = denials
  return denials.find(({ reason }) => reason === 'CONTESTED') ?? first
}

/** A route is a separate caller: bound to its one profile, without any right. */
function callerOf({ path, profile }: Passage): ProfileCaller {
  return { name: `egress route ${path}`, profiles: new Set([profile]) }
}

/**
 * Whether a renewed token may be accepted where this one was refused: a token of the configuration stays the
 * same.
 */
export function isRenewable({ issuedAtMs }: Issued): boolean {
  return issuedAtMs !== undefined
}
