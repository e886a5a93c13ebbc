/**
 * The claims of IAM tokens. They are input even behind a genuine signature: another holder of the key could
 * sign anything. So every claim must have the form that `newClaims` gives it.
 */

import type { Scope, TokenKind } from '../../engine/index.ts'
import { randomText } from '../base/random-text.ts'
import { TIME_MS_MAX } from '../base/written-time.ts'
import { revocationIdOf } from '../directory/application-credential-records.ts'
import { ANCESTORS_MAX } from '../directory/directory.ts'
import { canBeName } from './names.ts'
import { type TokenCredential, UNSCOPED_KIND, type VerifiedToken } from './verified-token.ts'

/** The claims of a token. Times are in seconds since the epoch, as in JWT. */
export interface IamClaims {
  /** Issuer and audience of the token. Tokens from before they were configured have none. */
  readonly iss?: string
  readonly aud?: string
  readonly kind: string
  readonly account: string
  /** Project name, and its id: a later project with the same name is a different project. */
  readonly project?: string
  readonly project_id?: string
  /** The holder's id, name and type. */
  readonly sub: string
  readonly name: string
  readonly type: string
  /** The holder's generation: replacing the password raises it. */
  readonly gen: number
  /**
   * Number of the last change of the directory when the token was issued. Absent in tokens of earlier
   * versions: 0.
   */
  readonly seq?: number
  /** Token id. */
  readonly jti: string
  /** Ids of the tokens that it was derived from, the nearest first. Absent: it was derived from none. */
  readonly from?: readonly string[]
  /** The application credential that logged in. Absent: none did. */
  readonly cred?: TokenCredential
  readonly iat: number
  /** Absent: the token never expires. */
  readonly exp?: number
}

/** How long after its expiry a token can still be shown (`allow_expired` of Keystone), in milliseconds. */
export const EXPIRED_TOKEN_MS_MAX = 48 * 60 * 60 * 1000

/** Times of claims are in seconds. */
const TIME_MAX = Math.floor(TIME_MS_MAX / 1000)

/** The largest number of a 32-bit column of the directory. */
const GENERATION_MAX = 2 ** 31 - 1

type Check = (value: unknown) => boolean

const isName: Check = (value) => typeof value === 'string' && canBeName(value)
/** The schema of the configuration has the same form. */
const isTokenName = textOf(/^[!-~]{1,255}$/)
const isTokenId = textOf(/^[\w-]{22}$/)
const isCredentialId = textOf(/^[0-9a-f]{32}$/)
const isTime: Check = (value) => isWhole(value, TIME_MAX)

/** The form of each claim. There are no other claims: an unknown one could restrict the token. */
const CLAIMS: Readonly<Record<keyof IamClaims, Check>> = {
  iss: isTokenName,
  aud: isTokenName,
  kind: isName,
  account: isName,
  project: isName,
  project_id: isName,
  sub: isName,
  name: isName,
  type: (value) => value === 'service_user' || value === 'control_panel_user',
  gen: (value) => isWhole(value, GENERATION_MAX),
  seq: (value) => isWhole(value, Number.MAX_SAFE_INTEGER),
  jti: isTokenId,
  from: (value) =>
    Array.isArray(value) && value.length > 0 && value.length <= ANCESTORS_MAX && value.every(isTokenId),
  cred: isCredential,
  iat: isTime,
  exp: isTime,
}
const KNOWN: ReadonlyMap<string, Check> = new Map(Object.entries(CLAIMS))
const OPTIONAL: ReadonlySet<string> = new Set([
  'iss',
  'aud',
  'project',
  'project_id',
  'seq',
  'from',
  'cred',
  'exp',
])
const REQUIRED = [...KNOWN.keys()].filter((name) => !OPTIONAL.has(name))

/**
 * Whom IAM tokens name as their issuer and their audience. Portcullis knows its tokens by its keys and needs
 * no names. Gateways that verify tokens offline do.
 */
export interface TokenNames {
  /** Of new tokens; `undefined`: they name none. */
  readonly issuer: string | undefined
  readonly audience: string | undefined
  /**
   * Others that tokens may name: from before a change of the configuration, or from hosts that have the
   * change already.
   */
  readonly acceptedIssuers: readonly string[]
  readonly acceptedAudiences: readonly string[]
}

/** Tokens name no issuer and no audience, and none may. */
export const NO_NAMES: TokenNames = {
  issuer: undefined,
  audience: undefined,
  acceptedIssuers: [],
  acceptedAudiences: [],
}

/**
 * Whether a token that names an issuer or an audience is meant for this authority. One that names none is:
 * the key proves it.
 */
export function isNamedHere(
  { iss, aud }: Pick<IamClaims, 'iss' | 'aud'>,
  { issuer, audience, acceptedIssuers, acceptedAudiences }: TokenNames,
): boolean {
  return (
    (iss === undefined || iss === issuer || acceptedIssuers.includes(iss)) &&
    (aud === undefined || aud === audience || acceptedAudiences.includes(aud))
  )
}

/** Reads the payload of a token. Returns `undefined` for claims that Portcullis does not write. */
export function readClaims(payload: string): IamClaims | undefined {
  let claims: Readonly<Record<string, unknown>>
  try {
    // A value that is not an object has none of the required claims.
    claims = Object(JSON.parse(payload))
  } catch {
    return undefined
  }
  const found = Object.keys(claims)
  if (!found.every((name) => KNOWN.get(name)?.(claims[name]) === true)) return undefined
  if (!REQUIRED.every((name) => Object.hasOwn(claims, name))) return undefined
  // Without its id the project would not be looked up in the directory.
  if (Object.hasOwn(claims, 'project') !== Object.hasOwn(claims, 'project_id')) return undefined
  const read = claims as unknown as IamClaims
  // Its end is found by its id among those that the token was derived from.
  if (read.cred !== undefined && read.from?.at(-1) !== revocationIdOf(read.cred.id)) return undefined
  if (read.kind === UNSCOPED_KIND && read.project !== undefined) return undefined
  const { iat, exp = iat } = read
  return exp < iat ? undefined : read
}

/** Makes the claims of a token that is issued now. */
export function newClaims(issuance: {
  readonly names: TokenNames
  readonly holder: {
    readonly id: string
    readonly name: string
    readonly type: string
    readonly generation: number
  }
  readonly kind: TokenKind
  readonly scope: Scope
  readonly projectId: string | undefined
  readonly changeNumber: number
  /** The token that the new one is derived from, which it cannot outlive. */
  readonly parent?: VerifiedToken
  /** The application credential that logs in, and when it ends. */
  readonly credential?: TokenCredential & { readonly expiresAtMs: number | undefined }
  readonly nowMs: number
}): IamClaims {
  const { names, holder, kind, scope, projectId, changeNumber, parent, credential, nowMs } = issuance
  const cred = credential ?? parent?.applicationCredential
  const iat = Math.floor(nowMs / 1000)
  const ends = [
    ...(kind.lifetimeSeconds === null ? [] : [iat + kind.lifetimeSeconds]),
    ...[parent, credential].flatMap((earlier) =>
      earlier?.expiresAtMs === undefined ? [] : [Math.floor(earlier.expiresAtMs / 1000)],
    ),
  ]
  return {
    ...(names.issuer !== undefined && { iss: names.issuer }),
    ...(names.audience !== undefined && { aud: names.audience }),
    kind: kind.id,
    account: scope.account,
    ...(scope.project !== undefined && { project: scope.project }),
    ...(projectId !== undefined && { project_id: projectId }),
    sub: holder.id,
    name: holder.name,
    type: holder.type,
    gen: holder.generation,
    seq: changeNumber,
    jti: randomText(16),
    ...(parent !== undefined && { from: [parent.tokenId, ...(parent.derivedFrom ?? [])] }),
    ...(credential !== undefined && { from: [revocationIdOf(credential.id)] }),
    ...(cred !== undefined && {
      cred: { id: cred.id, unrestricted: cred.unrestricted, limited: cred.limited },
    }),
    iat,
    ...(ends.length > 0 && { exp: Math.min(...ends) }),
  }
}

function isCredential(value: unknown): boolean {
  const { id, unrestricted, limited, ...others } = Object(value) as Readonly<Record<string, unknown>>
  return (
    isCredentialId(id) &&
    typeof unrestricted === 'boolean' &&
    typeof limited === 'boolean' &&
    Object.keys(others).length === 0
  )
}

function textOf(form: RegExp): Check {
  return (value) => typeof value === 'string' && form.test(value)
}

function isWhole(value: unknown, max: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max
}
