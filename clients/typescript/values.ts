/** The values that the client takes and returns, and their conversion to and from messages. */
import { fieldValue } from '../../engine/credentials.ts'
import type { AcceptedKind, NamedConflict, Scope, TokenKind } from '../../engine/index.ts'
import { REASONS, type Reason } from '../../engine/reasons.ts'
import type { Duration } from '../../proto/gen/google/protobuf/duration.ts'
import type * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import {
  type AcceptedKind as WireAcceptedKind,
  type Conflict as WireConflict,
  Reason as WireReason,
  type Scope as WireScope,
} from '../../proto/gen/portcullis/v1/decision.ts'
import type { Matrix as WireMatrix } from '../../proto/gen/portcullis/v1/matrix.ts'
import { wrongAnswerError } from './error.ts'
import type { HttpRequest } from './local-routes.ts'

/** A check of a credential as it arrived, or of claims that are already trusted. */
export type Check = {
  /** API id. */
  readonly api: string
  /**
   * The account, and the project if any, that owns the requested resource. Absent: only the matrix decides.
   */
  readonly target?: Scope
  /** IP address of the client. */
  readonly clientAddress?: string
} & (
  | {
      /** Request headers as they arrived, including repeated ones. */
      readonly credentials: RequestHeaders
    }
  | { readonly token: TrustedToken }
)

/** A check of a request: the routes of the sidecar say its API, and who owns the requested resource. */
export interface RequestCheck {
  readonly request: HttpRequest
  /** All headers of the request as they arrived: the routes look at some of them, too. */
  readonly credentials: RequestHeaders
  /** IP address of the client. */
  readonly clientAddress?: string
}

export type AnyCheck = Check | RequestCheck

/** Claims that the client has already verified. */
export interface TrustedToken {
  readonly kind: string
  readonly scope: Scope
}

/**
 * Headers in any form that `fetch` accepts (`Headers`, pairs, an object) or that Node provides
 * (`request.headers`, `request.headersDistinct`). A name with several values is a repeated header.
 */
export type RequestHeaders =
  | Iterable<readonly [name: string, value: string | readonly string[]]>
  | { readonly [name: string]: string | readonly string[] | undefined }

/** A token that the sidecar has verified. */
export interface VerifiedToken {
  readonly kind: string
  readonly scope: Scope
  readonly subject: { readonly id: string; readonly name: string; readonly type: string }
  readonly tokenId: string
  readonly issuedAt: Date | undefined
  /** `undefined`: the token never expires. */
  readonly expiresAt: Date | undefined
  /** The roles of the holder in the scope, as an upstream names them. */
  readonly roles: readonly string[]
  /** Name of the upstream that verifies the token; `undefined`: the sidecar's own directory does. */
  readonly authority: string | undefined
  /** Id of the project of its scope; `undefined`: it has none. */
  readonly projectId: string | undefined
  /** Ids of the tokens that it was derived from. It ends with any of them. */
  readonly derivedFrom: readonly string[]
}

/** The decision and the facts behind it. */
export interface CheckAnswer {
  readonly allowed: boolean
  /** `UNSPECIFIED` if this client does not know the reason. Then `allowed` is false. */
  readonly reason: Reason | 'UNSPECIFIED'
  readonly message: string
  readonly header: string
  /** Before the token in that header, for example `Bearer`; empty: the token alone. */
  readonly scheme: string
  readonly accepted: readonly AcceptedKind[]
  readonly conflicts: readonly NamedConflict[]
  readonly advice: readonly string[]
  readonly digest: string
  /** Whether strict mode decided, in which contested cells are denied. */
  readonly strict: boolean
  /** Digest of the exact rules: of the matrix and the mode. */
  readonly rulesDigest: string
  /** Whether the credential was verified; false for claims. */
  readonly verified: boolean
  readonly token: VerifiedToken | undefined
  /** The findings of the routes about the request; `undefined`: the check had none. */
  readonly route?:
    | {
        /** API id; empty: the request is refused. */
        readonly api: string
        /** `undefined`: only the matrix decided. */
        readonly target: Scope | undefined
        /** Why the routes refuse the request, for example `NO_ROUTE`; `undefined`: they do not. */
        readonly refused: string | undefined
      }
    | undefined
  /** How long the answer may be reused, in milliseconds; 0: it must not be reused. */
  readonly cacheForMs: number
}

/** A request for a token: the credentials to issue with, and the scope or the APIs that the token is for. */
export type IssueQuestion = (
  | { readonly password: { readonly userName: string; readonly account: string; readonly password: string } }
  | {
      readonly profile: string
      /** A token that an API has just refused with 401: the profile gives another one. A secret. */
      readonly rejected?: string
    }
) &
  ({ readonly scope: Scope } | { readonly apis: readonly string[]; readonly project?: string }) & {
    /**
     * The place of the kind to send it in, as the matrix writes it: `X-Api-Key`, `Authorization: Bearer` or
     * `Authorization: Basic (password)`. Default: the first one.
     */
    readonly place?: string
  }

/** A token, and the header to send it in. */
export interface IssuedToken {
  readonly header: string
  /** Before the token in that header, for example `Bearer`; empty: the token alone. */
  readonly scheme: string
  /** The part of the credentials of Basic that the token is, if such a place was asked for. */
  readonly basic?: 'user' | 'password' | undefined
  /** A secret. */
  readonly value: string
  /** The content of the header: the value, behind its scheme. A secret. */
  readonly headerValue: string
  readonly kind: string
  readonly scope: Scope
  readonly tokenId: string
  readonly issuedAt: Date | undefined
  readonly expiresAt: Date | undefined
  readonly conflicts: readonly NamedConflict[]
}

export interface RevokedToken {
  readonly tokenId: string
  readonly revokedAt: Date | undefined
}

/** The smallest set of tokens for the APIs. `unopened` lists the APIs that no kind of token opens. */
export interface PlanAnswer {
  readonly tokens: readonly (Pick<TokenKind, 'scopeLevel' | 'header'> & {
    readonly scheme: string
    readonly kind: string
    readonly issuable: boolean
    readonly obtained: string
    /** Where a person obtains it or reads how; empty: the matrix does not say. */
    readonly link: string
    readonly permissionScopes: readonly string[]
    readonly steps: readonly string[]
    readonly apis: readonly string[]
    readonly conflicts: readonly NamedConflict[]
  })[]
  /** Ids of the requested APIs that need no token. */
  readonly public: readonly string[]
  readonly unopened: readonly string[]
  readonly digest: string
  /** Whether strict mode is on, in which contested cells are denied. */
  readonly strict: boolean
  /** Digest of the exact rules: of the matrix and the mode. */
  readonly rulesDigest: string
}

/** The current matrix of the sidecar. */
export interface MatrixAnswer {
  readonly digest: string
  readonly strict: boolean
  /** Digest of the exact rules: of the matrix and the mode. */
  readonly rulesDigest: string
  readonly tokenKinds: readonly {
    readonly id: string
    readonly title: string
    readonly family: string
    readonly scopeLevel: string
    readonly header: string
    readonly scheme: string
    readonly prefix: string
    readonly issuedTo: string
    readonly issuable: boolean
    readonly permissionScopes: readonly string[]
    /** `undefined`: tokens of this kind never expire. */
    readonly lifetimeSeconds: number | undefined
    readonly steps: readonly string[]
    readonly section: string
  }[]
  readonly apis: readonly {
    readonly id: string
    readonly title: string
    readonly accepted: readonly string[]
    readonly contested: readonly string[]
    readonly section: string
  }[]
  readonly conflicts: readonly NamedConflict[]
}

/**
 * @param at path of the check in the caller's argument, with a dot at the end
 * @throws TypeError that names the field, if a caller without types passes a wrong value
 */
export function checkRequest(check: AnyCheck, at = ''): wire.CheckRequest {
  if (typeof check !== 'object' || check === null)
    throw new TypeError(`${at.slice(0, -1) || 'check'}: expected an object`)
  const { api, request, target }: Partial<Check & RequestCheck> = check
  return {
    api: text(`${at}api`, request === undefined ? api : (api ?? '')),
    subject: subjectOf(check, at),
    // An invalid target must not count as a missing one.
    target: target === undefined ? undefined : scopeMessage(target, `${at}target`),
    clientAddress: text(`${at}clientAddress`, check.clientAddress ?? ''),
    request: request === undefined ? undefined : requestMessage(request, `${at}request`),
  }
}

function requestMessage(request: HttpRequest, field: string): wire.HttpRequest {
  const { method, host, path }: Partial<HttpRequest> = request ?? {}
  return {
    method: text(`${field}.method`, method),
    host: text(`${field}.host`, host),
    path: text(`${field}.path`, path),
  }
}

function subjectOf(check: AnyCheck, at: string): wire.CheckRequest['subject'] {
  const { credentials, token }: { credentials?: RequestHeaders; token?: TrustedToken } = check
  if ((credentials === undefined) === (token === undefined))
    throw new TypeError(`${at}credentials: expected request headers, or \`token\` instead`)
  if (credentials !== undefined)
    return { $case: 'credentials', value: { headers: headersOf(credentials, `${at}credentials`) } }
  const { kind, scope } = token as TrustedToken
  return {
    $case: 'token',
    value: { kind: text(`${at}token.kind`, kind), scope: scopeMessage(scope, `${at}token.scope`) },
  }
}

/** Converts headers: each value becomes one header. The values are secrets, so no error shows them. */
function headersOf(credentials: RequestHeaders, field: string): { name: string; value: string }[] {
  const invalid = () => new TypeError(`${field}: expected a Headers, pairs of name and value, or an object`)
  if (typeof credentials !== 'object' || credentials === null) throw invalid()
  const pairs =
    Symbol.iterator in credentials
      ? Array.from(credentials)
      : Object.entries(credentials).filter(([, value]) => value !== undefined)
  return pairs.flatMap((pair) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw invalid()
    const [name, values] = pair
    return [values].flat().map((value) => {
      if (typeof name !== 'string' || typeof value !== 'string') throw invalid()
      return { name, value }
    })
  })
}

/** @param isRouted whether the check had a request: an answer that names no API allows nothing then */
export function checkAnswer(response: wire.CheckResponse, isRouted = false): CheckAnswer {
  const reason = reasonName(response.reason)
  // The position is for the memory of a client that follows `WatchChanges`.
  const { token, cacheFor, accepted, conflicts, route, position: _position, ...rest } = response
  return {
    ...rest,
    // An unknown reason may stand for a condition that this client does not know, so it counts as a denial.
    allowed: response.allowed && reason === 'ALLOWED' && (!isRouted || isFound(route)),
    reason,
    accepted: accepted.map(acceptedKind),
    conflicts: conflicts.map(conflictValue),
    token: token && verifiedToken(token),
    route: route && {
      api: route.api,
      target: route.target && scopeValue(route.target),
      refused: route.refused === '' ? undefined : route.refused,
    },
    cacheForMs: cacheFor === undefined ? 0 : msOf(cacheFor),
  }
}

/** An empty text of the contract is an absent value of the engine. */
export function acceptedKind(wire: WireAcceptedKind): AcceptedKind {
  const { kind, header, scheme, issuable, link } = wire
  // A sidecar of the release before does not say it, and knows no kinds that are obtained elsewhere.
  const said = wire.obtained as AcceptedKind['obtained'] | ''
  const obtained = said || (issuable ? 'issue' : 'control_panel')
  return {
    kind,
    header,
    ...(scheme !== '' && { scheme }),
    issuable,
    obtained,
    ...(link !== '' && { link }),
  }
}

function isFound(route: wire.FoundRoute | undefined): boolean {
  return route !== undefined && route.api !== '' && route.refused === ''
}

/** @throws PortcullisError if one of its times is not a time */
export function verifiedToken(token: wire.VerifiedToken): VerifiedToken {
  return {
    kind: token.kind,
    scope: scopeValue(token.scope),
    subject: token.subject ?? { id: '', name: '', type: '' },
    tokenId: token.tokenId,
    issuedAt: timeOf(token.issuedAt),
    expiresAt: timeOf(token.expiresAt),
    roles: token.roles,
    authority: token.authority === '' ? undefined : token.authority,
    projectId: token.projectId === '' ? undefined : token.projectId,
    derivedFrom: token.derivedFrom,
  }
}

/** @throws TypeError that names the field, if a caller without types passes a wrong value */
export function issueRequest(question: IssueQuestion): wire.IssueRequest {
  return {
    requester:
      'password' in question
        ? { $case: 'password', value: { ...question.password } }
        : { $case: 'profile', value: text('profile', question.profile) },
    purpose:
      'scope' in question
        ? { $case: 'scope', value: scopeMessage(question.scope, 'scope') }
        : { $case: 'apis', value: { apis: apiList(question.apis), project: question.project ?? '' } },
    rejectedValue: ('rejected' in question && question.rejected) || '',
    place: question.place ?? '',
  }
}

/**
 * @throws TypeError if it is not an array: a string is iterable too, and each letter would count as an API
 */
export function apiList(apis: readonly string[]): string[] {
  if (!Array.isArray(apis)) throw new TypeError('apis: expected a list of ids')
  return apis.map((api, index) => text(`apis[${index}]`, api))
}

/** @throws PortcullisError if one of its times is not a time */
export function issuedToken({
  scope,
  conflicts,
  position: _position,
  basic,
  ...rest
}: wire.IssueResponse): IssuedToken {
  const part = basic === '' ? {} : { basic: basic as 'user' | 'password' }
  return {
    ...{ ...rest, ...part },
    issuedAt: timeOf(rest.issuedAt),
    expiresAt: timeOf(rest.expiresAt),
    headerValue: fieldValue({ ...rest, ...part }, rest.value),
    scope: scopeValue(scope),
    conflicts: conflicts.map(conflictValue),
  }
}

export function planAnswer({ tokens, ...rest }: wire.PlanResponse): PlanAnswer {
  return {
    tokens: tokens.map(({ scopeLevel, conflicts, ...token }) => ({
      ...token,
      scopeLevel: scopeLevel as TokenKind['scopeLevel'],
      conflicts: conflicts.map(conflictValue),
    })),
    ...rest,
  }
}

/** @param pages the matrix, or its pages in their order */
export function matrixAnswer(pages: readonly (WireMatrix | undefined)[]): MatrixAnswer {
  const { digest = '', strict = true, rulesDigest = '' } = pages[0] ?? {}
  const tokenKinds = pages.flatMap((page) => page?.tokenKinds ?? [])
  return {
    digest,
    strict,
    rulesDigest,
    apis: pages.flatMap((page) => page?.apis ?? []),
    conflicts: pages.flatMap((page) => page?.conflicts.map(conflictValue) ?? []),
    tokenKinds: tokenKinds.map(({ lifetime, ...kind }) => ({
      ...kind,
      lifetimeSeconds: lifetime === undefined ? undefined : msOf(lifetime) / 1000,
    })),
  }
}

const REASON_NAMES: ReadonlyMap<WireReason, Reason> = new Map(
  REASONS.map((reason) => [WireReason[`REASON_${reason}`], reason]),
)

/** `UNSPECIFIED` where the sidecar is newer, and has reasons that are not known here. */
export function reasonName(reason: WireReason): Reason | 'UNSPECIFIED' {
  return REASON_NAMES.get(reason) ?? 'UNSPECIFIED'
}

function conflictValue(conflict: WireConflict): NamedConflict {
  return {
    ...conflict,
    type: conflict.type as NamedConflict['type'],
    resolution: conflict.resolution as NamedConflict['resolution'],
  }
}

function scopeMessage(scope: Scope, field: string): WireScope {
  const { account, project }: Partial<Scope> = scope ?? {}
  return { account: text(`${field}.account`, account), project: text(`${field}.project`, project ?? '') }
}

/** @throws TypeError that does not show the value */
function text(field: string, value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`${field}: expected a string`)
  return value
}

export function scopeValue(scope: WireScope | undefined): Scope {
  const { account = '', project = '' } = scope ?? {}
  return project === '' ? { account } : { account, project }
}

/** @throws PortcullisError if it is before or after all times of `Date` */
function timeOf(time: Date | undefined): Date | undefined {
  if (time !== undefined && Number.isNaN(time.getTime())) throw wrongAnswerError('a time')
  return time
}

export function msOf({ seconds, nanos }: Duration): number {
  return seconds * 1000 + nanos / 1e6
}
