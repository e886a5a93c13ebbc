/**
 * IAM tokens of the embedded authority: compact JWS (RFC 7515, RFC 8037) signed with Ed25519, opaque to
 * clients. The protected header is not parsed but compared: it has to be, byte for byte, the one that a
 * known key writes, so that nothing in a token can choose an algorithm.
 */
import { randomBytes, sign, verify } from 'node:crypto'
import type { Scope, TokenKind } from '../../engine/index.ts'
import { callError } from '../base/call-error.ts'
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

/** Signs claims with the active key of the ring, and verifies tokens of any key of it. */
export class IamTokenSigner {
  readonly #ring: KeyRing
  #indexed: readonly SigningKey[] = []
  #byHeader: ReadonlyMap<string, SigningKey> = new Map()
  #lookedAtMs = Number.NEGATIVE_INFINITY
  readonly #onUnknownKey: (keyId: string) => void
  #toldAtMs = Number.NEGATIVE_INFINITY

  /** @param onUnknownKey told of tokens in our form, genuine or not, whose key is none of the ring; once a minute at most */
  constructor(ring: KeyRing, onUnknownKey: (keyId: string) => void = () => {}) {
    this.#ring = ring
    this.#onUnknownKey = onUnknownKey
  }

  /** The keys in force; the same array as long as they are the same. */
  get keys(): readonly SigningKey[] {
    return this.#ring.keys
  }

  /** The token for these claims. @throws CallError on a host that has public keys alone */
  sign(claims: IamClaims): string {
    const key = this.#ring.keys.find(({ state }) => state === 'active')
    if (key?.privateKey === undefined) throw callError('NO_SIGNING_KEY', {})
    const signed = `${headerOf(key.keyId)}.${encode(claims)}`
    return `${signed}.${sign(null, Buffer.from(signed), key.privateKey).toString('base64url')}`
  }

  /** The claims of a genuine token, of whatever age; `undefined` for anything else. */
  verify(token: string): IamClaims | undefined {
    const headerEnd = token.indexOf('.')
    const signedEnd = token.lastIndexOf('.')
    const key = this.#keyOf(token.slice(0, Math.max(headerEnd, 0)))
    if (key === undefined || signedEnd === headerEnd) return undefined
    const signature = Buffer.from(token.slice(signedEnd + 1), 'base64url')
    // Other spellings of the same bytes (padding, stray characters, spare bits) are other tokens: refused.
    if (signature.toString('base64url') !== token.slice(signedEnd + 1)) return undefined
    if (!verify(null, Buffer.from(token.slice(0, signedEnd)), key.publicKey, signature)) return undefined
    return JSON.parse(Buffer.from(token.slice(headerEnd + 1, signedEnd), 'base64url').toString()) as IamClaims
  }

  /** A header that is not known may be of a key that was staged and made active since the last look at the file. */
  #keyOf(header: string): SigningKey | undefined {
    const nowMs = performance.now()
    if (
      this.#ring.keys === this.#indexed &&
      !this.#byHeader.has(header) &&
      nowMs - this.#lookedAtMs > LOOK_AGAIN_MS
    ) {
      this.#lookedAtMs = nowMs
      this.#ring.reload()
    }
    if (this.#ring.keys !== this.#indexed) {
      this.#indexed = this.#ring.keys
      this.#byHeader = new Map(this.#indexed.map((key) => [headerOf(key.keyId), key]))
    }
    const key = this.#byHeader.get(header)
    if (key === undefined && nowMs - this.#toldAtMs > TELL_AGAIN_MS) this.#tellOfKeyIn(header, nowMs)
    return key
  }

  /** The key's id, if it can be one: a header is anybody's text, and this goes to the log. */
  #tellOfKeyIn(header: string, nowMs: number): void {
    const [, keyId] = /"kid":"([0-9a-f]{16})"/.exec(Buffer.from(header, 'base64url').toString()) ?? []
    if (keyId === undefined || header !== headerOf(keyId)) return
    this.#toldAtMs = nowMs
    this.#onUnknownKey(keyId)
  }
}

/** How often a token of an unknown key makes the file be looked at, in milliseconds. */
const LOOK_AGAIN_MS = 200

/** How often somebody is told of one, in milliseconds. */
const TELL_AGAIN_MS = 60_000

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

/** Whether a credential begins as the compact JWS of an object does: `{"` in base64url. */
export function looksLikeIamToken(value: string): boolean {
  return value.startsWith('eyJ')
}

function headerOf(keyId: string): string {
  return encode({ alg: 'EdDSA', kid: keyId, typ: 'portcullis-iam+jwt' })
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
