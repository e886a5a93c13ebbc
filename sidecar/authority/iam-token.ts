/**
 * IAM tokens of the embedded authority: compact JWS (RFC 7515, RFC 8037) signed with Ed25519, opaque to
 * clients. The protected header is compared and not parsed: it must equal, byte for byte, the header that a
 * known key writes. So a token cannot choose the algorithm.
 */
import { sign, verify } from 'node:crypto'
import type { TokenKind } from '../../engine/index.ts'
import { callError } from '../base/call-error.ts'
import type { IamTokenQuery, TokenHolder } from '../directory/directory.ts'
import type { DirectoryRecords } from '../directory/records.ts'
import type { VerifiedToken } from './authority.ts'
import { type IamClaims, isNamedHere, NO_NAMES, readClaims, type TokenNames } from './iam-claims.ts'
import type { KeyRing, SigningKey } from './keys.ts'

/** Signs claims with the active key of the ring, and verifies tokens of every key in the ring. */
export class IamTokenSigner {
  /** Whom new tokens name. */
  readonly names: TokenNames
  readonly #ring: KeyRing
  #indexed: readonly SigningKey[] | undefined
  #byHeader: ReadonlyMap<string, SigningKey> = new Map()
  #reloadedAtMs = Number.NEGATIVE_INFINITY
  readonly #onUnknownKey: (keyId: string) => void
  #reportedAtMs = Number.NEGATIVE_INFINITY

  /**
   * @param onUnknownKey receives the id of a token's key that is not in the ring, at most once a minute; the
   *   token may be forged
   */
  constructor(ring: KeyRing, onUnknownKey: (keyId: string) => void = () => {}, names: TokenNames = NO_NAMES) {
    this.names = names
    this.#ring = ring
    this.#onUnknownKey = onUnknownKey
  }

  /** The current keys. The array is the same object until the keys change. */
  get keys(): readonly SigningKey[] {
    return this.#ring.keys
  }

  /** Signs a token with these claims. @throws CallError on a host that only has public keys */
  sign(claims: IamClaims): string {
    const key = this.#ring.keys.find(({ state }) => state === 'active')
    if (key?.privateKey === undefined) throw callError('NO_SIGNING_KEY', {})
    const signed = `${headerOf(key.keyId)}.${encode(claims)}`
    return `${signed}.${sign(null, Buffer.from(signed), key.privateKey).toString('base64url')}`
  }

  /**
   * Returns the claims of a genuine token, even an expired one; `undefined` for any other text, and for a
   * token that names another issuer or audience. The staged key counts too: on another host, which has read
   * the file earlier, it may be active already.
   */
  verify(token: string): IamClaims | undefined {
    const signedEnd = token.lastIndexOf('.')
    const key = this.#keyOf(headerIn(token))
    if (key === undefined) return undefined
    const signature = Buffer.from(token.slice(signedEnd + 1), 'base64url')
    // A different spelling of the same bytes (padding, stray characters, spare bits) is not the same token
    // and is refused.
    if (signature.toString('base64url') !== token.slice(signedEnd + 1)) return undefined
    if (!verify(null, Buffer.from(token.slice(0, signedEnd)), key.publicKey, signature)) return undefined
    const claims = readClaims(payloadOf(token))
    return claims !== undefined && isNamedHere(claims, this.names) ? claims : undefined
  }

  /** Whether a key in the ring may have signed the token. Only then is it worth the look at its signature. */
  mayHaveSigned(token: string): boolean {
    return this.#keyOf(headerIn(token)) !== undefined
  }

  #index(): void {
    // Survives: `this.#ring.keys === this.#indexed` → `false`. It only spares to index the same keys again
    // for each token.
    if (this.#ring.keys === this.#indexed) return
    this.#indexed = this.#ring.keys
    this.#byHeader = new Map(this.#ring.keys.map((key) => [headerOf(key.keyId), key]))
  }

  /**
   * Finds the key of a header. An unknown header may belong to a new key, so the file is read again first.
   */
  #keyOf(header: string): SigningKey | undefined {
    const nowMs = performance.now()
    this.#index()
    if (!this.#byHeader.has(header) && nowMs - this.#reloadedAtMs > RELOAD_INTERVAL_MS) {
      this.#reloadedAtMs = nowMs
      this.#ring.reload()
      this.#index()
    }
    const key = this.#byHeader.get(header)
    if (key === undefined && nowMs - this.#reportedAtMs > REPORT_INTERVAL_MS)
      this.#reportUnknownKey(header, nowMs)
    return key
  }

  /**
   * Reports the key id of a header, but only in our own format: a client can send any text, and the id goes
   * to the log.
   */
  #reportUnknownKey(header: string, nowMs: number): void {
    const keyId = /"kid":"([0-9a-f]{16})"/.exec(Buffer.from(header, 'base64url').toString())?.[1]
    if (keyId === undefined || header !== headerOf(keyId)) return
    this.#reportedAtMs = nowMs
    this.#onUnknownKey(keyId)
  }
}

/** Shortest time between two readings of the file because of tokens with an unknown key, in milliseconds. */
const RELOAD_INTERVAL_MS = 200

/** Shortest time between two reports of an unknown key, in milliseconds. */
const REPORT_INTERVAL_MS = 60_000

/** The verified token for these claims. */
export function tokenOf(claims: IamClaims): VerifiedToken {
  return {
    kind: claims.kind,
    scope: { account: claims.account, project: claims.project },
    ...(claims.project_id !== undefined && { projectId: claims.project_id }),
    subject: { id: claims.sub, name: claims.name, type: claims.type },
    generation: claims.gen,
    changeNumber: claims.seq ?? 0,
    tokenId: claims.jti,
    ...(claims.from !== undefined && { derivedFrom: claims.from }),
    ...(claims.cred !== undefined && { applicationCredential: claims.cred }),
    issuedAtMs: claims.iat * 1000,
    expiresAtMs: claims.exp === undefined ? undefined : claims.exp * 1000,
  }
}

/**
 * The facts that decide whether the token is active.
 *
 * @param permissionScopes of its kind
 */
export function queryOf(token: VerifiedToken, permissionScopes: readonly string[]): IamTokenQuery {
  return {
    tokenId: token.tokenId,
    ancestors: token.derivedFrom ?? NONE,
    subjectId: token.subject.id,
    // A token without a generation is not an IAM token, and no user has the generation 0.
    generation: token.generation ?? 0,
    changeNumber: token.changeNumber ?? 0,
    account: token.scope.account,
    projectId: token.projectId,
    permissionScopes,
  }
}

/**
 * The holder of an IAM token; `undefined`: the token is not active now. Its expiry is not looked at.
 *
 * @param kind of the token; `undefined`: the matrix in force has none of its name
 */
export function holderOf(
  records: DirectoryRecords,
  token: VerifiedToken,
  kind: TokenKind | undefined,
): Promise<TokenHolder | undefined> {
  return records.activeHolder(queryOf(token, kind?.permissionScopes ?? []))
}

const NONE: readonly string[] = []

/** Whether a credential begins like a compact JWS: `{"` in base64url. */
export function looksLikeIamToken(value: string): boolean {
  return value.startsWith('eyJ')
}

/**
 * Whether a credential begins exactly like the tokens that are signed here, whatever the key. No other
 * issuer's token does.
 */
export function hasOwnHeader(value: string): boolean {
  return value.startsWith(HEADER_START) && value.startsWith(HEADER_END, HEADER_END_AT)
}

/** Where the token begins that is signed here, whatever the key; -1: the text has none. */
export function ownHeaderAt(value: string): number {
  const at = value.indexOf(HEADER_START)
  return at >= 0 && hasOwnHeader(value.slice(at)) ? at : -1
}

/** The claims of a token for which `verify` has returned them. */
export function claimsOfVerified(token: string): IamClaims {
  return JSON.parse(payloadOf(token))
}

function payloadOf(token: string): string {
  return Buffer.from(token.slice(token.indexOf('.') + 1, token.lastIndexOf('.')), 'base64url').toString()
}

function headerIn(token: string): string {
  return token.slice(0, Math.max(token.indexOf('.'), 0))
}

function headerOf(keyId: string): string {
  return encode({ alg: 'EdDSA', kid: keyId, typ: 'portcullis-iam+jwt' })
}

/**
 * Two headers, to find what all of them have in common: the key ids, of one length, differ in every
 * character.
 */
const [ONE_HEADER, OTHER_HEADER] = [headerOf('0'.repeat(16)), headerOf('a'.repeat(16))]
const DIFFERENT = [...ONE_HEADER].map((character, index) => character !== OTHER_HEADER[index])
const HEADER_START = ONE_HEADER.slice(0, DIFFERENT.indexOf(true))
const HEADER_END_AT = DIFFERENT.lastIndexOf(true) + 1
const HEADER_END = `${ONE_HEADER.slice(HEADER_END_AT)}.`

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
