/**
 * IAM tokens of the embedded authority: compact JWS (RFC 7515, RFC 8037) signed with Ed25519, opaque to
 * clients. The protected header is not parsed but compared: it has to be, byte for byte, the one that a
 * known key writes, so that nothing in a token can choose an algorithm.
 */
import { randomBytes, sign, verify } from 'node:crypto'
import type { Scope, TokenKind } from '../../engine/index.ts'
import type { VerifiedToken } from './authority.ts'
import type { KeyRing, SigningKey } from './keys.ts'

/** What a token says. Times in seconds since the epoch, as JWT has them. */
export interface IamClaims {
  readonly kind: string
  readonly account: string
  /** Project name, and its id: a project of the same name made later is another one. */
  readonly project?: string
  readonly project_id?: string
  /** The holder's id, name and type. */
  readonly sub: string
  readonly name: string
  readonly type: string
  /** The holder's generation: replacing the password raises it. */
  readonly gen: number
  /** Token id. */
  readonly jti: string
  readonly iat: number
  /** Absent: no expiry. */
  readonly exp?: number
}

/** Signs claims with the ring's active key, and verifies tokens of any key of the ring. */
export class IamTokenSigner {
  readonly #active: SigningKey
  readonly #byHeader: ReadonlyMap<string, SigningKey>

  constructor(ring: KeyRing) {
    this.#active = ring.active
    this.#byHeader = new Map(ring.all.map((key) => [headerOf(key), key]))
  }

  /** The token for these claims. */
  sign(claims: IamClaims): string {
    const signed = `${headerOf(this.#active)}.${encode(claims)}`
    return `${signed}.${sign(null, Buffer.from(signed), this.#active.privateKey).toString('base64url')}`
  }

  /** The claims of a genuine token, of whatever age; `undefined` for anything else. */
  verify(token: string): IamClaims | undefined {
    const headerEnd = token.indexOf('.')
    const signedEnd = token.lastIndexOf('.')
    const key = this.#byHeader.get(token.slice(0, Math.max(headerEnd, 0)))
    if (key === undefined || signedEnd === headerEnd) return undefined
    const signature = Buffer.from(token.slice(signedEnd + 1), 'base64url')
    // Other spellings of the same bytes (padding, stray characters, spare bits) are other tokens: refused.
    if (signature.toString('base64url') !== token.slice(signedEnd + 1)) return undefined
    if (!verify(null, Buffer.from(token.slice(0, signedEnd)), key.publicKey, signature)) return undefined
    return JSON.parse(Buffer.from(token.slice(headerEnd + 1, signedEnd), 'base64url').toString()) as IamClaims
  }
}

/** The claims of a token that is issued now. */
export function newClaims(issuance: {
  readonly holder: {
    readonly id: string
    readonly name: string
    readonly type: string
    readonly generation: number
  }
  readonly kind: TokenKind
  readonly scope: Scope
  readonly projectId: string | undefined
  readonly nowMs: number
}): IamClaims {
  const { holder, kind, scope, projectId, nowMs } = issuance
  const iat = Math.floor(nowMs / 1000)
  return {
    kind: kind.id,
    account: scope.account,
    ...(scope.project !== undefined && { project: scope.project }),
    ...(projectId !== undefined && { project_id: projectId }),
    sub: holder.id,
    name: holder.name,
    type: holder.type,
    gen: holder.generation,
    jti: randomBytes(16).toString('base64url'),
    iat,
    ...(kind.lifetimeSeconds !== null && { exp: iat + kind.lifetimeSeconds }),
  }
}

/** The token that claims describe. */
export function tokenOf(claims: IamClaims): VerifiedToken {
  return {
    kind: claims.kind,
    scope: { account: claims.account, project: claims.project },
    ...(claims.project_id !== undefined && { projectId: claims.project_id }),
    subject: { id: claims.sub, name: claims.name, type: claims.type },
    tokenId: claims.jti,
    issuedAtMs: claims.iat * 1000,
    expiresAtMs: claims.exp === undefined ? undefined : claims.exp * 1000,
  }
}

/** Whether a credential has the form of a compact JWS. */
export function looksLikeIamToken(value: string): boolean {
  return /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(value)
}

function headerOf(key: SigningKey): string {
  return encode({ alg: 'EdDSA', kid: key.keyId, typ: 'portcullis-iam+jwt' })
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
