/** The embedded authority: issues and verifies IAM tokens and verifies static tokens, on a directory of its own (§5.1). */
import { hash, type KeyObject, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Scope, TokenKind } from '../../engine/index.ts'
import type { Answer, Directory, StaticToken } from '../directory/directory.ts'
import { NoAnswer } from '../errors.ts'
import { Secret } from '../secret.ts'
import type { Authority, IssuedToken, PasswordRequester, Verification, VerifiedToken } from './authority.ts'
import { type IamClaims, IamTokenSigner, looksLikeIamToken } from './iam-token.ts'
import type { KeyRing } from './keys.ts'
import type { Passwords } from './password.ts'
import { hashStaticToken, isWellFormedStaticToken, looksLikeStaticToken } from './static-token.ts'

export interface EmbeddedAuthorityParts {
  readonly directory: Directory
  readonly keys: KeyRing
  /** Key of the static tokens' hashes, kept apart from the directory. */
  readonly pepper: KeyObject
  readonly passwords: Passwords
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** A token issued further in the future than this is not genuine; clocks of hosts differ by less. */
const CLOCK_SKEW_SECONDS = 60

/** How many verified signatures are remembered. */
const SIGNATURES_MAX = 50_000

export class EmbeddedAuthority implements Authority {
  readonly #parts: EmbeddedAuthorityParts
  readonly #signer: IamTokenSigner
  /**
   * Claims whose signature was verified, by SHA-256 of the token. Only what never changes is remembered:
   * expiry and revocation are looked at on every call.
   */
  readonly #verified = new LRUCache<string, IamClaims>({ max: SIGNATURES_MAX })

  constructor(parts: EmbeddedAuthorityParts) {
    this.#parts = parts
    this.#signer = new IamTokenSigner(parts.keys)
  }

  formOf(value: string): TokenKind['obtained']['by'] | undefined {
    if (looksLikeStaticToken(value)) return 'control_panel'
    return looksLikeIamToken(value) ? 'issue' : undefined
  }

  verify(value: string, kinds: ReadonlyMap<string, TokenKind>): Verification | Promise<Verification> {
    if (looksLikeStaticToken(value)) return this.#verifyStatic(value)
    return looksLikeIamToken(value) ? this.#verifyIam(value, kinds) : INVALID
  }

  async issue(requester: PasswordRequester, kind: TokenKind, scope: Scope): Promise<IssuedToken> {
    const { directory, passwords, now } = this.#parts
    const user = await directory.serviceUser(requester.account, requester.userName)
    if (!(await passwords.verify(requester.password, user?.passwordHash)) || user === undefined)
      throw new NoAnswer('UNAUTHENTICATED', 'the service user or the password is not right (§2.2)', {
        reason: 'LOGIN_FAILED',
      })
    const grant = await directory.permits(user.id, scope.account, scope.project, kind.permissionScopes)
    if (grant === undefined) throw permissionMissing(kind)

    const nowSeconds = Math.floor(now() / 1000)
    const claims: IamClaims = {
      kind: kind.id,
      account: user.account,
      ...(scope.project !== undefined && { project: scope.project }),
      ...(grant.projectId !== undefined && { project_id: grant.projectId }),
      sub: user.id,
      name: user.name,
      type: 'service_user',
      gen: user.generation,
      jti: randomBytes(16).toString('base64url'),
      iat: nowSeconds,
      ...(kind.lifetimeSeconds !== null && { exp: nowSeconds + kind.lifetimeSeconds }),
    }
    return { value: new Secret(this.#signer.sign(claims)), token: tokenOf(claims) }
  }

  revoke(tokenId: string, expiresAtMs: number | undefined): Answer<number> {
    return this.#parts.directory.revoke(tokenId, this.#parts.now(), expiresAtMs)
  }

  #verifyIam(value: string, kinds: ReadonlyMap<string, TokenKind>): Verification | Promise<Verification> {
    const claims = this.#claimsOf(value)
    const nowSeconds = this.#parts.now() / 1000
    if (claims === undefined || claims.iat > nowSeconds + CLOCK_SKEW_SECONDS) return INVALID
    const token = tokenOf(claims)
    if (claims.exp !== undefined && nowSeconds >= claims.exp)
      return { ok: false, reason: 'CREDENTIAL_EXPIRED', token }
    const stands = this.#parts.directory.iamTokenStands({
      tokenId: claims.jti,
      subjectId: claims.sub,
      generation: claims.gen,
      account: claims.account,
      projectId: claims.project_id,
      permissionScopes: kinds.get(claims.kind)?.permissionScopes ?? [],
    })
    return answered(stands, (stand) =>
      stand ? { ok: true, token } : { ok: false, reason: 'CREDENTIAL_REVOKED', token },
    )
  }

  #verifyStatic(value: string): Verification | Promise<Verification> {
    if (!isWellFormedStaticToken(value)) return INVALID
    const found = this.#parts.directory.staticToken(hashStaticToken(value, this.#parts.pepper))
    return answered<StaticToken | undefined, Verification>(found, (record) => {
      if (record === undefined) return INVALID
      const token: VerifiedToken = {
        kind: record.kind,
        scope: { account: record.account },
        subject: { ...record.holder, type: 'control_panel_user' },
        tokenId: record.id,
        issuedAtMs: record.createdAtMs,
        expiresAtMs: undefined,
      }
      return record.stands ? { ok: true, token } : { ok: false, reason: 'CREDENTIAL_REVOKED', token }
    })
  }

  #claimsOf(value: string): IamClaims | undefined {
    const digest = hash('sha256', value, 'base64')
    const remembered = this.#verified.get(digest)
    if (remembered !== undefined) return remembered
    const claims = this.#signer.verify(value)
    if (claims !== undefined) this.#verified.set(digest, claims)
    return claims
  }
}

const INVALID: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }

function tokenOf(claims: IamClaims): VerifiedToken {
  return {
    kind: claims.kind,
    scope: { account: claims.account, project: claims.project },
    subject: { id: claims.sub, name: claims.name, type: claims.type },
    tokenId: claims.jti,
    issuedAtMs: claims.iat * 1000,
    expiresAtMs: claims.exp === undefined ? undefined : claims.exp * 1000,
  }
}

/** One text for a missing permission and for a project that does not exist: nobody learns which projects there are. */
function permissionMissing(kind: TokenKind): NoAnswer {
  const needed =
    kind.scopeLevel === 'project'
      ? 'a permission whose scope is Account, or one whose scope is Projects with that project selected'
      : 'a permission whose scope is Account'
  return new NoAnswer('PERMISSION_DENIED', `${kind.title}: the service user needs ${needed} (§5.1)`, {
    reason: 'PERMISSION_MISSING',
    metadata: { kind: kind.id, permission_scopes: kind.permissionScopes.join(',') },
  })
}

/** Goes on at once where the answer is there, so that a check on this host stays synchronous. */
function answered<T, U>(answer: Answer<T>, then: (value: T) => U): U | Promise<U> {
  return answer instanceof Promise ? answer.then(then) : then(answer)
}
