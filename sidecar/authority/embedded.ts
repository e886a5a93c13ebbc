/**
 * The embedded authority: issues and verifies IAM tokens and verifies static tokens, with its own directory
 * (§5.1).
 */
import type { KeyObject } from 'node:crypto'
import type { Scope, TokenKind } from '../../engine/index.ts'
import { CallError, callError } from '../base/call-error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { Secret } from '../base/secret.ts'
import type { Turns } from '../base/turns.ts'
import {
  type ApplicationCredentialLogin,
  ApplicationCredentialRecords,
  queryOfCredential,
} from '../directory/application-credential-records.ts'
import {
  ANCESTORS_MAX,
  type Directory,
  type Grant,
  type ServiceUser,
  type TokenStatus,
} from '../directory/directory.ts'
import { SharedQuestions } from '../directory/feed/shared-questions.ts'
import type { DirectoryStore } from '../directory/store.ts'
import { trusted } from './actor.ts'
import { isAllowed } from './addresses.ts'
import { changeDirectory } from './administration/change-directory.ts'
import type {
  ApplicationCredentialKey,
  Authority,
  CredentialLogin,
  CredentialOrigin,
  DescribedToken,
  IssuedToken,
  Origin,
  PasswordRequester,
  Verification,
} from './authority.ts'
import { type IamClaims, newClaims } from './iam-claims.ts'
import { type IamTokenSigner, looksLikeIamToken, queryOf, tokenOf } from './iam-token.ts'
import type { PublicKey } from './keys.ts'
import { KnownLogins } from './known-logins.ts'
import { canBeName } from './names.ts'
import { type Kinds, obtainedBy, withoutPrefix } from './own-form.ts'
import { canBeMade, type LoginPlace, type Passwords } from './password.ts'
import { type GenuineToken, SeenIamTokens } from './seen-tokens.ts'
import { looksLikeStaticToken } from './static-token.ts'
import type { StaticTokenUses } from './static-token-uses.ts'
import { StaticTokenVerifier } from './static-token-verifier.ts'
import type { LoginOutcome, LoginThrottle } from './throttle.ts'
import { rememberedByMemory } from './token-memory.ts'
import { asWritten, faultOfTime, INVALID, verificationOf } from './token-status.ts'
import { isOver } from './verified-token.ts'

export interface EmbeddedAuthorityParts {
  readonly store: DirectoryStore
  readonly signer: IamTokenSigner
  /** For signatures that must be verified. */
  readonly turns: Turns
  /** The key for hashes of static tokens. It is stored outside the directory. */
  readonly pepper: KeyObject
  readonly passwords: Passwords
  readonly failedLogins: LoginThrottle
  readonly staticTokenUses: StaticTokenUses
  /**
   * Most tokens of each kind (IAM tokens and static tokens) that are remembered; default: as many as a
   * sixteenth of the memory holds.
   */
  readonly rememberedMax?: number | undefined
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

export class EmbeddedAuthority implements Authority {
  readonly #parts: EmbeddedAuthorityParts
  readonly #directory: Directory
  /** Every call still compares the expiry with the clock, and asks whether the status is still true. */
  readonly #iamTokens: SeenIamTokens
  readonly #staticTokens: StaticTokenVerifier
  readonly #askedStatuses = new SharedQuestions<TokenStatus>()
  readonly #logins = new KnownLogins()
  /** Ids of users whose password is being hashed with today's parameters. */
  readonly #rehashing = new Set<string>()

  constructor(parts: EmbeddedAuthorityParts) {
    const { rememberedMax = rememberedByMemory() } = parts
    this.#parts = parts
    this.#directory = parts.store.verification
    this.#iamTokens = new SeenIamTokens(parts.signer, parts.turns, rememberedMax)
    const directory = parts.store.verification
    this.#staticTokens = new StaticTokenVerifier({ ...parts, directory, rememberedMax })
  }

  /** Entries of the caches of verified tokens. */
  get cached(): Readonly<Record<string, number>> {
    return { iam_tokens: this.#iamTokens.size, static_tokens: this.#staticTokens.size }
  }

  recognize(value: string, kinds: Kinds): TokenKind['obtained']['by'] | undefined {
    return obtainedBy(value, kinds)
  }

  verify(sent: string, kinds: Kinds, from: CredentialOrigin = UNKNOWN): Verification | Promise<Verification> {
    const value = withoutPrefix(sent, kinds)
    const verification = looksLikeStaticToken(value)
      ? this.#staticTokens.verify(value, from)
      : this.#verifyIam(value, kinds, from)
    return verification instanceof Promise
      ? verification.then((found) => asWritten(found, sent, value, kinds, from))
      : asWritten(verification, sent, value, kinds, from)
  }

  #verifyIam(value: string, kinds: Kinds, from: CredentialOrigin): MaybePromise<Verification> {
    if (!looksLikeIamToken(value)) return INVALID
    const seen = this.#iamTokens.find(value, from.connection)
    return seen instanceof Promise
      ? seen.then((found) => this.#verifySeen(found, kinds, from))
      : this.#verifySeen(seen, kinds, from)
  }

  describe(sent: string, kinds: Kinds, connection: object): MaybePromise<DescribedToken | undefined> {
    const value = withoutPrefix(sent, kinds)
    if (looksLikeStaticToken(value)) return this.#staticTokens.describe(value)
    if (!looksLikeIamToken(value)) return undefined
    return andThen(this.#iamTokens.find(value, connection), (seen) =>
      seen === undefined
        ? undefined
        : andThen(this.#statusOf(seen, kinds), (status) => ({ token: seen.token, status })),
    )
  }

  async issue(
    requester: PasswordRequester,
    kind: TokenKind,
    scope: Scope,
    from: Origin = UNKNOWN_ORIGIN,
  ): Promise<IssuedToken> {
    const { password } = requester
    const login = this.#logins.placeOf(requester, from)
    const settle = canBeMade(password.reveal())
      ? undefined
      : await this.#parts.failedLogins.admit({ ...login.names, source: login.source })
    let outcome: LoginOutcome = 'abandoned'
    // The login continues after its client has disconnected, so that every guess is counted.
    try {
      const user = await this.#authenticate(requester, login.place)
      if (user === undefined) {
        outcome = 'failed'
        throw callError('LOGIN_FAILED', {})
      }
      // The identity endpoint gives every refusal the answer of a wrong password. The throttle must not
      // reveal more than that.
      const refused: LoginOutcome = from.restricted ? 'failed' : 'succeeded'
      // The account's restriction applies to logins at that endpoint only. Tokens are restricted wherever
      // they were issued.
      if (from.restricted && !isAllowed(from.address, user.addresses)) {
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
      const { signer } = this.#parts
      const claims = newClaims({ names: signer.names, holder, kind, scope, ...grant, nowMs })
      const issued = await this.#signed(claims, kind)
      outcome = 'succeeded'
      this.#logins.remember(login)
      if (this.#parts.passwords.isOutdated(user.passwordHash)) await this.#rehash(user, password)
      return issued
    } finally {
      settle?.(outcome)
    }
  }

  async issueByCredential(
    { key, secret }: CredentialLogin,
    kind: TokenKind,
    from: Origin = UNKNOWN_ORIGIN,
  ): Promise<IssuedToken> {
    // Clients choose secrets that can be guessed. So each login counts: for the credential, however it is
    // named.
    const found = await this.#credential(key)
    const named = found ?? key
    const names =
      'id' in named
        ? { account: '', userName: `application credential ${named.id}` }
        : { account: named.account, userName: `${named.userName}, application credential ${named.name}` }
    const login = this.#logins.placeOf(names, from)
    const settle = await this.#parts.failedLogins.admit({ ...login.names, source: login.source })
    let outcome: LoginOutcome = 'abandoned'
    try {
      const claim = { ...names, password: secret, chosen: true }
      if (!(await this.#parts.passwords.verify(claim, found?.secretHash, login.place))) {
        outcome = 'failed'
        throw callError('LOGIN_FAILED', {})
      }
      outcome = from.restricted ? 'failed' : 'succeeded'
      const issued = await this.#issueTo(found as ApplicationCredentialLogin, kind, from)
      outcome = 'succeeded'
      this.#logins.remember(login)
      return issued
    } finally {
      settle(outcome)
    }
  }

  async #issueTo(found: ApplicationCredentialLogin, kind: TokenKind, from: Origin): Promise<IssuedToken> {
    const { id, account, project, userId, userName, generation, unrestricted, limited, expiresAt } = found
    const scope = { account, project }
    const grant = await this.#grantFor({ id: userId }, kind, scope)
    if (grant === undefined) throw permissionMissing(kind)
    // Asked after the grant, as for a derived token: what ends the credential later ends the token too.
    const query = queryOfCredential(found, kind.permissionScopes)
    const active = await this.#parts.store.records.activeHolder(query)
    if (active === undefined || grant.projectId !== found.projectId) throw callError('LOGIN_FAILED', {})
    if (from.restricted && !isAllowed(from.address, active.addresses))
      throw callError('ADDRESS_NOT_ALLOWED', {})
    const nowMs = this.#parts.now()
    const expiresAtMs = expiresAt?.ms
    if (isOver({ issuedAtMs: found.createdAtMs, expiresAtMs }, nowMs)) throw callError('LOGIN_FAILED', {})
    const { names } = this.#parts.signer
    const holder = { id: userId, name: userName, type: 'service_user', generation }
    const credential = { id, unrestricted, limited, expiresAtMs }
    return this.#signed(newClaims({ names, holder, kind, scope, ...grant, credential, nowMs }), kind)
  }

  /** The credential that a login names. */
  async #credential(key: ApplicationCredentialKey): Promise<ApplicationCredentialLogin | undefined> {
    const texts = 'id' in key ? [key.id] : [key.name, key.account, key.userName]
    if (!texts.every(canBeName)) return undefined
    return new ApplicationCredentialRecords(this.#parts.store.records.queries).login(key)
  }

  async derive(
    value: string,
    kinds: Kinds,
    kind: TokenKind,
    scope: Scope,
    from?: Origin,
  ): Promise<IssuedToken> {
    const clientAddress = from?.restricted ? from.address : undefined
    const verification = await this.verify(value, kinds, { clientAddress })
    const { token: parent } = verification
    // §5.1: only service users get IAM tokens from an endpoint.
    if (!verification.ok || parent?.generation === undefined || parent.subject.type !== 'service_user')
      throw callError('LOGIN_FAILED', {})
    if ((parent.derivedFrom?.length ?? 0) >= ANCESTORS_MAX) throw callError('LOGIN_FAILED', {})
    // As in Keystone: a program must not get further than its credential says.
    const { applicationCredential: credential } = parent
    if (credential !== undefined && !(credential.unrestricted && scope.project === parent.scope.project))
      throw callError('LOGIN_FAILED', {})
    const holder = { ...parent.subject, generation: parent.generation }
    const grant = await this.#grantFor(holder, kind, scope)
    if (grant === undefined) throw permissionMissing(kind)
    // Asked after the grant, and never from a cache. A change that ends the parent later ends the new token
    // too, because that change has a higher number than the grant. An earlier change is found here.
    const query = queryOf(parent, kinds.get(parent.kind)?.permissionScopes ?? [])
    const active = await this.#parts.store.records.activeHolder(query)
    if (active === undefined) throw callError('LOGIN_FAILED', {})
    if (from?.restricted && !isAllowed(from.address, active.addresses))
      throw callError('ADDRESS_NOT_ALLOWED', {})
    const nowMs = this.#parts.now()
    if (isOver(parent, nowMs)) throw callError('LOGIN_FAILED', {})
    const { signer } = this.#parts
    const claims = newClaims({ names: signer.names, holder, kind, scope, ...grant, parent, nowMs })
    return this.#signed(claims, kind)
  }

  /** The claims are those of what was read, which must not be lost while the token lives. */
  async #signed(claims: IamClaims, { prefix = '' }: TokenKind): Promise<IssuedToken> {
    await this.#parts.store.durable()
    const value = this.#parts.signer.sign(claims)
    const token = tokenOf(claims)
    this.#iamTokens.remember(value, token)
    return { value: new Secret(`${prefix}${value}`), token }
  }

  publicKeys(): readonly PublicKey[] {
    return this.#parts.signer.keys.map(({ keyId, publicKey }) => ({ keyId, publicKey }))
  }

  /** Returns the user if the password is right. An unknown user takes as long as a wrong password. */
  async #authenticate(claim: PasswordRequester, place: LoginPlace): Promise<ServiceUser | undefined> {
    const { account, userName } = claim
    const known = canBeName(account) && canBeName(userName)
    const user = known ? await this.#directory.serviceUser(account, userName) : undefined
    const matches = await this.#parts.passwords.verify(claim, user?.passwordHash, place)
    return matches ? user : undefined
  }

  #grantFor(user: Pick<ServiceUser, 'id'>, kind: TokenKind, scope: Scope): MaybePromise<Grant | undefined> {
    if (!canBeName(scope.account) || (scope.project !== undefined && !canBeName(scope.project)))
      return undefined
    return this.#directory.permits(user.id, scope.account, scope.project, kind.permissionScopes)
  }

  /**
   * Hashes a right password again with today's parameters. If the store fails, the next login tries again.
   */
  async #rehash(user: ServiceUser, password: Secret): Promise<void> {
    // Many logins may be in progress at once with a password that was checked once.
    if (this.#rehashing.has(user.id)) return
    this.#rehashing.add(user.id)
    try {
      const hash = await this.#parts.passwords.hash(password.reveal(), user.id)
      const actor = trusted(`service_user ${user.id} (${user.name})`, 'users')
      await changeDirectory(this.#parts.store, actor, (change) => change.rehashPassword(user, hash))
    } catch (error) {
      if (!(error instanceof CallError)) throw error
    } finally {
      this.#rehashing.delete(user.id)
    }
  }

  /** @param seen `undefined`: no current key has signed the token */
  #verifySeen(
    seen: GenuineToken | undefined,
    kinds: Kinds,
    { clientAddress, acceptExpired = false }: CredentialOrigin,
  ): Verification | Promise<Verification> {
    if (seen === undefined) return INVALID
    const { token } = seen
    const fault = faultOfTime(token, this.#parts.now(), acceptExpired)
    if (fault !== undefined) return fault
    const status = this.#statusOf(seen, kinds)
    return status instanceof Promise
      ? status.then((found) => verificationOf(token, found, clientAddress))
      : verificationOf(token, status, clientAddress)
  }

  #statusOf(seen: GenuineToken, kinds: Kinds): MaybePromise<TokenStatus> {
    const { token } = seen
    const kind = kinds.get(token.kind)
    const { changes } = this.#directory
    // Taken before the question: a concurrent change must make the answer outdated.
    const moment = changes.moment()
    if (moment !== undefined && seen.status !== undefined && isOfKind(seen, kind) && changes.isTrue(seen))
      return seen.status
    const query = queryOf(token, kind?.permissionScopes ?? [])
    const asked = this.#askedStatuses.ask(`${token.tokenId} ${query.permissionScopes}`, moment, () =>
      this.#directory.iamTokenStatus(query),
    )
    return andThen(asked, (status) => {
      if (moment !== undefined) {
        Object.assign(seen, { kind, status, moment })
        this.#iamTokens.keep(seen)
      }
      return status
    })
  }
}

/** Whether the status was determined for the kind. Another matrix has other objects for the same kinds. */
function isOfKind(seen: GenuineToken, kind: TokenKind | undefined): boolean {
  if (seen.kind === kind) return true
  const [scopes, others] = [seen.kind, kind].map((each) => String(each?.permissionScopes ?? []))
  if (scopes !== others) return false
  seen.kind = kind
  return true
}

const UNKNOWN: CredentialOrigin = {}

/** A login whose origin the caller of `issue` does not say. */
const UNKNOWN_ORIGIN: Origin = { source: { type: 'this_machine' }, restricted: false }

/**
 * A missing permission and a missing project get the same message, so that it does not reveal which projects
 * exist.
 */
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
