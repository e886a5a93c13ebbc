/** What the client takes and returns: plain values, and their way to and from the wire. */
import type { AcceptedKind, NamedConflict, Reason, Scope, TokenKind } from '../../engine/index.ts'
import type { Duration } from '../gen/google/protobuf/duration.ts'
import type * as wire from '../gen/portcullis/v1/authorization.ts'
import {
  type Conflict as WireConflict,
  Reason as WireReason,
  type Scope as WireScope,
} from '../gen/portcullis/v1/decision.ts'
import type { Matrix as WireMatrix } from '../gen/portcullis/v1/matrix.ts'

/** A check: of a credential as it arrived, or of claims that are already trusted. */
export type Check = {
  /** API id. */
  readonly api: string
  /** What the resource asked for belongs to. Absent: only the matrix is asked. */
  readonly target?: Scope
  /** IP address of the client. */
  readonly clientAddress?: string
} & (
  | {
      /** Request headers as they arrived: pairs of name and value, repetitions included. */
      readonly credentials: Iterable<readonly [name: string, value: string]>
    }
  | { readonly token: { readonly kind: string; readonly scope: Scope } }
)

/** A credential that the sidecar vouches for. */
export interface VerifiedToken {
  readonly kind: string
  readonly scope: Scope
  readonly subject: { readonly id: string; readonly name: string; readonly type: string }
  readonly tokenId: string
  readonly issuedAt: Date | undefined
  /** `undefined`: never. */
  readonly expiresAt: Date | undefined
}

/** The decision, and what it rests on. */
export interface CheckAnswer {
  readonly allowed: boolean
  /** `UNSPECIFIED` for a reason that this client does not know; `allowed` is then false. */
  readonly reason: Reason | 'UNSPECIFIED'
  readonly message: string
  readonly header: string
  readonly accepted: readonly AcceptedKind[]
  readonly conflicts: readonly NamedConflict[]
  readonly advice: readonly string[]
  readonly digest: string
  /** Whether the credential was verified; false for claims. */
  readonly verified: boolean
  readonly token: VerifiedToken | undefined
  /** How long the answer may be reused, in milliseconds; 0: not at all. */
  readonly cacheForMs: number
}

/** A request for a token: who asks, and what for. */
export type IssueQuestion = (
  | { readonly password: { readonly userName: string; readonly account: string; readonly password: string } }
  | { readonly profile: string }
) &
  ({ readonly scope: Scope } | { readonly apis: readonly string[]; readonly project?: string })

/** A token, and how to send it. */
export interface IssuedToken {
  readonly header: string
  /** A secret. */
  readonly value: string
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

/** The smallest set of tokens that opens the APIs that any kind opens. */
export interface PlanAnswer {
  readonly tokens: readonly (Pick<TokenKind, 'scopeLevel' | 'header'> & {
    readonly kind: string
    readonly issuable: boolean
    readonly permissionScopes: readonly string[]
    readonly steps: readonly string[]
    readonly apis: readonly string[]
    readonly conflicts: readonly NamedConflict[]
  })[]
  readonly unopened: readonly string[]
  readonly digest: string
}

/** The matrix in force at the sidecar. */
export interface MatrixAnswer {
  readonly digest: string
  readonly strict: boolean
  readonly tokenKinds: readonly {
    readonly id: string
    readonly title: string
    readonly family: string
    readonly scopeLevel: string
    readonly header: string
    readonly issuedTo: string
    readonly issuable: boolean
    readonly permissionScopes: readonly string[]
    /** `undefined`: no expiry. */
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

export function checkRequest(check: Check): wire.CheckRequest {
  return {
    api: check.api,
    subject:
      'token' in check
        ? { $case: 'token', value: { kind: check.token.kind, scope: scopeMessage(check.token.scope) } }
        : {
            $case: 'credentials',
            value: { headers: Array.from(check.credentials, ([name, value]) => ({ name, value })) },
          },
    target: check.target && scopeMessage(check.target),
    clientAddress: check.clientAddress ?? '',
  }
}

export function checkAnswer(response: wire.CheckResponse): CheckAnswer {
  const reason = REASON_NAMES.get(response.reason) ?? 'UNSPECIFIED'
  const { token, cacheFor, conflicts, ...rest } = response
  return {
    ...rest,
    // A reason that this client does not know may be a condition that it does not know.
    allowed: response.allowed && reason === 'ALLOWED',
    reason,
    conflicts: conflicts.map(conflictValue),
    token: token && {
      kind: token.kind,
      scope: scopeValue(token.scope),
      subject: token.subject ?? { id: '', name: '', type: '' },
      tokenId: token.tokenId,
      issuedAt: token.issuedAt,
      expiresAt: token.expiresAt,
    },
    cacheForMs: cacheFor === undefined ? 0 : msOf(cacheFor),
  }
}

export function issueRequest(question: IssueQuestion): wire.IssueRequest {
  return {
    requester:
      'password' in question
        ? { $case: 'password', value: { ...question.password } }
        : { $case: 'profile', value: question.profile },
    purpose:
      'scope' in question
        ? { $case: 'scope', value: scopeMessage(question.scope) }
        : { $case: 'apis', value: { apis: [...question.apis], project: question.project ?? '' } },
  }
}

export function issuedToken({ scope, conflicts, ...rest }: wire.IssueResponse): IssuedToken {
  return { ...rest, scope: scopeValue(scope), conflicts: conflicts.map(conflictValue) }
}

export function planAnswer({ tokens, unopened, digest }: wire.PlanResponse): PlanAnswer {
  return {
    tokens: tokens.map(({ scopeLevel, conflicts, ...token }) => ({
      ...token,
      scopeLevel: scopeLevel as TokenKind['scopeLevel'],
      conflicts: conflicts.map(conflictValue),
    })),
    unopened,
    digest,
  }
}

export function matrixAnswer(matrix: WireMatrix | undefined): MatrixAnswer {
  const { tokenKinds = [], conflicts = [], digest = '', strict = true, apis = [] } = matrix ?? {}
  return {
    digest,
    strict,
    apis,
    conflicts: conflicts.map(conflictValue),
    tokenKinds: tokenKinds.map(({ lifetime, ...kind }) => ({
      ...kind,
      lifetimeSeconds: lifetime === undefined ? undefined : msOf(lifetime) / 1000,
    })),
  }
}

const REASON_NAMES = new Map(
  Object.entries(WireReason)
    .filter(([name]) => name !== 'REASON_UNSPECIFIED')
    .map(([name, number]) => [number as WireReason, name.slice('REASON_'.length) as Reason]),
)

function conflictValue(conflict: WireConflict): NamedConflict {
  return {
    ...conflict,
    type: conflict.type as NamedConflict['type'],
    resolution: conflict.resolution as NamedConflict['resolution'],
  }
}

function scopeMessage({ account, project }: Scope): WireScope {
  return { account, project: project ?? '' }
}

function scopeValue(scope: WireScope | undefined): Scope {
  const { account = '', project = '' } = scope ?? {}
  return project === '' ? { account } : { account, project }
}

function msOf({ seconds, nanos }: Duration): number {
  return seconds * 1000 + nanos / 1e6
}
