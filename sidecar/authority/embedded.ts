/** The embedded authority: issues and verifies IAM tokens and verifies static tokens, on a directory of its own (§5.1). */
import { hash, type KeyObject } from 'node:crypto'
import type { Scope, TokenKind } from '../../engine/index.ts'
import { CallError, callError } from '../base/call-error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { Secret } from '../base/secret.ts'
import { EXPIRED_TOKEN_MS_MAX } from '../directory/change.ts'
import type { Directory, Grant, ServiceUser, TokenStatus } from '../directory/directory.ts'
import type { DirectoryStore } from '../directory/store.ts'
import { type Actor, trusted } from './actor.ts'
import { isAllowed, throttleKey } from './addresses.ts'
import { changeDirectory } from './administration/change.ts'
import type {
  Authority,
  IssuedToken,
  Origin,
  PasswordRequester,
  TokenRevocation,
  Verification,
  VerifiedToken,
} from './authority.ts'
import { type IamTokenSigner, looksLikeIamToken, newClaims, tokenOf } from './iam-token.ts'
import type { SigningKey } from './keys.ts'
import { LazyLruCache } from './lazy-lru-cache.ts'
import { canBeName } from './names.ts'
import type { Passwords } from './password.ts'
import { hashStaticToken, isWellFormedStaticToken, looksLikeStaticToken } from './static-token.ts'
import type { LoginOutcome, LoginThrottle } from './throttle.ts'

export interface EmbeddedAuthorityParts {
  readonly store: DirectoryStore
  readonly signer: IamTokenSigner
  /** Key of the static tokens' hashes, kept apart from the directory. */
  readonly pepper: KeyObject
  readonly passwords: Passwords
  readonly failedLogins: LoginThrottle
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** A token issued further in the future than this is not genuine; clocks of hosts differ by less. */
const CLOCK_SKEW_MS = 60_000

/** How many tokens are remembered of each form. */
const REMEMBERED_MAX = 50_000

/** An IAM token whose signature was verified. What can change is remembered only with the directory's version that said it. */
interface RememberedIamToken {
  readonly token: VerifiedToken
  /** Of the holder, when the token was issued. */
  readonly generation: number
  /** The kind that `status` was asked about. */
  kind: TokenKind | undefined
  status: TokenStatus | undefined
  version: number | undefined
}

/** A static token that the directory knew at a version. */
interface RememberedStaticToken {
  readonly token: VerifiedToken
  readonly status: TokenStatus
  readonly version: number
}

export class EmbeddedAuthority implements Authority {
  readonly #parts: EmbeddedAuthorityParts
  readonly #directory: Directory
  /** By SHA-256 of the token. Expiry is looked at on every call, and whether the directory is still at that version. */
  readonly #iamTokens = new LazyLruCache<RememberedIamToken>(REMEMBERED_MAX)
  readonly #staticTokens = new LazyLruCache<RememberedStaticToken>(REMEMBERED_MAX)
  /** The keys that the remembered IAM tokens were verified with: one that was taken away vouches for nothing any more. */
  #keysRelied: readonly SigningKey[] = []

  constructor(parts: EmbeddedAuthorityParts) {
    this.#parts = parts
    this.#directory = parts.store.verification
  }

  formOf(value: string): TokenKind['obtained']['by'] | undefined {
    if (looksLikeStaticToken(value)) return 'control_panel'
    return looksLikeIamToken(value) ? 'issue' : undefined
  }

  verify(
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
    clientAddress?: string,
    evenExpired = false,
  ): Verification | Promise<Verification> {
    if (looksLikeStaticToken(value)) return this.#verifyStatic(value, clientAddress)
    return looksLikeIamToken(value) ? this.#verifyIam(value, kinds, clientAddress, evenExpired) : INVALID
  }

  async issue(
    requester: PasswordRequester,
    kind: TokenKind,
    scope: Scope,
    from?: Origin,
  ): Promise<IssuedToken> {
    const { account, userName, password } = requester
    const settle = await this.#parts.failedLogins.admit({
      account: bounded(account),
      userName: bounded(userName),
      address: (from?.address && throttleKey(from.address)) ?? THIS_MACHINE,
    })
    let outcome: LoginOutcome = 'abandoned'
    // Goes on when its client has left: what was guessed counts.
    try {
      const user = await this.#userWith(requester)
      if (user === undefined) {
        outcome = 'failed'
        throw callError('LOGIN_FAILED', {})
      }
      // The identity endpoint answers every refusal as it answers a wrong password; the count must tell no more.
      const refused: LoginOutcome = from?.restricted ? 'failed' : 'succeeded'
      // Whoever asks elsewhere is not at the endpoint that the account restricts; the token they get still is.
      if (from?.restricted && !isAllowed(from.address, user.addresses)) {
        outcome = refused
        throw callError('ADDRESS_NOT_ALLOWED', {})
      }
      const grant = await this.#grantFor(user, kind, scope)
      if (grant === undefined) {
        outcome = refused
        throw permissionMissing(kind)
      }
      const holder = { ...user, type: 'service_user' }
      const nowMs = this.#parts.now()
      const claims = newClaims({ holder, kind, scope, projectId: grant.projectId, nowMs })
      const issued = { value: new Secret(this.#parts.signer.sign(claims)), token: tokenOf(claims) }
      outcome = 'succeeded'
      if (this.#parts.passwords.isOutdated(user.passwordHash)) await this.#rehash(user, password)
      return issued
    } finally {
      settle(outcome)
    }
  }

  revoke(actor: Actor, { tokenId, account, expiresAtMs }: TokenRevocation): Promise<number> {
    return changeDirectory(this.#parts.store, actor, async (change) => {
      const known = account === '' ? await change.records.tokenById(tokenId) : undefined
      return known === undefined
        ? change.revoke(tokenId, account, expiresAtMs)
        : change.revoke(tokenId, known.account, known.expiresAtMs)
    })
  }

  /** The user whose password it is; `undefined`, at the same cost, where it is nobody's. */
  async #userWith({ account, userName, password }: PasswordRequester): Promise<ServiceUser | undefined> {
    const known = canBeName(account) && canBeName(userName)
    const user = known ? await this.#directory.serviceUser(account, userName) : undefined
    const right = await this.#parts.passwords.verify(password, user?.passwordHash)
    return right ? user : undefined
  }

  #grantFor(user: ServiceUser, kind: TokenKind, scope: Scope): MaybePromise<Grant | undefined> {
    if (!canBeName(scope.account) || (scope.project !== undefined && !canBeName(scope.project)))
      return undefined
    return this.#directory.permits(user.id, scope.account, scope.project, kind.permissionScopes)
  }

  /** Hashes a password, which was right, as passwords are hashed today. Where that fails, the next login tries again. */
  async #rehash(user: ServiceUser, password: Secret): Promise<void> {
    try {
      const hash = await this.#parts.passwords.hash(password.reveal())
      const actor = trusted(`service_user ${user.id} (${user.name})`)
      await changeDirectory(this.#parts.store, actor, (change) => change.rehashPassword(user, hash))
    } catch (error) {
      if (!(error instanceof CallError)) throw error
    }
  }

  #verifyIam(
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
    clientAddress: string | undefined,
    evenExpired: boolean,
  ): Verification | Promise<Verification> {
    const remembered = this.#remembered(value)
    const nowMs = this.#parts.now()
    if (remembered === undefined) return INVALID
    const { token, generation } = remembered
    if (token.issuedAtMs > nowMs + CLOCK_SKEW_MS) return INVALID
    const graceMs = evenExpired ? EXPIRED_TOKEN_MS_MAX : 0
    if (token.expiresAtMs !== undefined && nowMs >= token.expiresAtMs + graceMs)
      return { ok: false, reason: 'CREDENTIAL_EXPIRED', token }

    const kind = kinds.get(token.kind)
    // Before the question: what changes while it is asked must not be taken for what was read.
    const version = this.#directory.version()
    const { status } = remembered
    if (
      status !== undefined &&
      version !== undefined &&
      remembered.version === version &&
      remembered.kind === kind
    )
      return verificationOf(token, status, clientAddress)
    const asked = this.#directory.iamTokenStatus({
      tokenId: token.tokenId,
      subjectId: token.subject.id,
      generation,
      account: token.scope.account,
      projectId: token.projectId,
      permissionScopes: kind?.permissionScopes ?? [],
    })
    return andThen(asked, (found) => {
      remembered.kind = kind
      remembered.status = found
      remembered.version = version
      return verificationOf(token, found, clientAddress)
    })
  }

  /** The token by its digest, its signature verified now or before, by a key that is still in force. */
  #remembered(value: string): RememberedIamToken | undefined {
    const { keys } = this.#parts.signer
    if (keys !== this.#keysRelied) {
      this.#keysRelied = keys
      this.#iamTokens.clear()
    }
    const digest = hash('sha256', value, 'base64')
    const known = this.#iamTokens.get(digest)
    if (known !== undefined) return known
    const claims = this.#parts.signer.verify(value)
    if (claims === undefined) return undefined
    const remembered = {
      token: tokenOf(claims),
      generation: claims.gen,
      kind: undefined,
      status: undefined,
      version: undefined,
    }
    this.#iamTokens.set(digest, remembered)
    return remembered
  }

  #verifyStatic(value: string, clientAddress: string | undefined): Verification | Promise<Verification> {
    const version = this.#directory.version()
    const digest = hash('sha256', value, 'base64')
    const known = this.#staticTokens.get(digest)
    if (known !== undefined && known.version === version)
      return verificationOf(known.token, known.status, clientAddress)
    if (!isWellFormedStaticToken(value)) return INVALID
    const record = this.#directory.staticToken(hashStaticToken(value, this.#parts.pepper))
    return andThen(record, (found) => {
      if (found === undefined) return INVALID
      const token: VerifiedToken = {
        kind: found.kind,
        scope: { account: found.account },
        subject: { ...found.holder, type: 'control_panel_user' },
        tokenId: found.id,
        issuedAtMs: found.createdAtMs,
        expiresAtMs: undefined,
      }
      if (version !== undefined) this.#staticTokens.set(digest, { token, status: found, version })
      return verificationOf(token, found, clientAddress)
    })
  }
}

const INVALID: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }

/** What a failed login is remembered by: a text that nobody is called is not kept, however long it is. */
function bounded(name: string): string {
  return canBeName(name) ? name : hash('sha256', name, 'base64')
}

/** Stands for the address of whoever asks from this machine. */
const THIS_MACHINE = ''

function verificationOf(
  token: VerifiedToken,
  status: TokenStatus,
  clientAddress: string | undefined,
): Verification {
  if (!status.active) return { ok: false, reason: 'CREDENTIAL_REVOKED', token }
  if (!isAllowed(clientAddress, status.addresses)) return { ok: false, reason: 'ADDRESS_NOT_ALLOWED', token }
  return { ok: true, token }
}

/** One text for a missing permission and for a project that does not exist: nobody learns which projects there are. */
function permissionMissing(kind: TokenKind): CallError {
  const needed =
    kind.scopeLevel === 'project'
      ? 'a permission whose scope is Account, or one whose scope is Projects with that project selected'
      : 'a permission whose scope is Account'
  return callError(
    'PERMISSION_MISSING',
    { kind: kind.title, permission: needed },
    { metadata: { kind: kind.id, permission_scopes: kind.permissionScopes.join(',') } },
  )
}
