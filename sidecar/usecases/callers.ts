/**
 * Callers, each known by a caller token, by a name in a client certificate, or by either: the rights of each
 * beyond using its own credential, and their end.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { CallError, callError } from '../base/call-error.ts'
import type { CertificateName } from '../base/certificate-name.ts'

/** The rights of a caller. `everything` includes the others. */
export interface CallerRights {
  /** Administer all accounts, with the credentials of their users. */
  readonly everything: boolean
  /** Revoke every token, by its value or by its id. */
  readonly revoke: boolean
  /** Read every record of the directory, and no secret. */
  readonly read: boolean
  /** Follow what changes of the directory and of the rules. */
  readonly follow: boolean
  /** Numbers of the accounts that the caller administers as an owner does. */
  readonly administer: ReadonlySet<string>
}

/** A caller that is known by a caller token or by a client certificate. */
export interface Caller {
  readonly name: string
  /** SHA-256 of the caller token, in hexadecimal; `undefined`: no token identifies the caller. */
  readonly tokenSha256: string | undefined
  /** The name in the client certificate; `undefined`: no certificate identifies the caller. */
  readonly certificateName: CertificateName | undefined
  /** Names of the profiles that the caller may use. */
  readonly profiles: ReadonlySet<string>
  readonly rights: CallerRights
  /** Milliseconds since the epoch; `undefined`: the caller does not expire. */
  readonly expiresAtMs: number | undefined
}

/** The credentials of a call that can identify its caller. */
export interface CallerCredentials {
  /** Values of `authorization`: a caller token. */
  readonly authorization: readonly string[]
  /** Values of `x-auth-token`: an IAM token. */
  readonly iamToken: readonly string[]
  /** Names in the client certificate of the connection, which TLS has verified; empty: there are none. */
  readonly certificateNames: readonly CertificateName[]
}

/** A caller, and their identification: they can be found again when a change is made. */
export interface IdentifiedCaller extends Caller {
  readonly identifiedBy:
    | { readonly type: 'token'; readonly digest: Buffer }
    | { readonly type: 'certificate'; readonly names: readonly CertificateName[] }
}

/** Of a listener for callers alone, as its refusals have it. */
export const EVERY_CALL = { action: 'every call of this listener' }

/** Finds callers. They may be replaced at any time. */
export class Callers {
  // Survives: `[]` → `["Stryker was here"]`. The constructor replaces it before it is used.
  #all: readonly Caller[] = []
  /** With the digests of their tokens, which are of one length, as `timingSafeEqual` asks for. */
  // Survives: `[]` → `["Stryker was here"]`. The constructor replaces it before it is used.
  #known: readonly { readonly caller: Caller; readonly tokenDigest: Buffer }[] = []
  #byName: ReadonlyMap<CertificateName, Caller> = new Map()
  readonly #now: () => number
  readonly #watchers = new Set<() => void>()

  /** @param now wall clock, in milliseconds since the epoch */
  constructor(callers: readonly Caller[], now: () => number = Date.now) {
    this.#now = now
    this.replace(callers)
  }

  /** All of them, also those who expired. */
  get all(): readonly Caller[] {
    return this.#all
  }

  /** A caller that is not among them is withdrawn at once. */
  replace(callers: readonly Caller[]): void {
    this.#all = callers
    this.#known = callers.flatMap((caller) =>
      caller.tokenSha256 === undefined
        ? []
        : [{ caller, tokenDigest: Buffer.from(caller.tokenSha256, 'hex') }],
    )
    this.#byName = new Map(
      callers.flatMap((caller): [CertificateName, Caller][] =>
        // Survives: `caller.certificateName === undefined` → `false`. No certificate has an empty name.
        caller.certificateName === undefined ? [] : [[caller.certificateName, caller]],
      ),
    )
    for (const watcher of this.#watchers) watcher()
  }

  /** Calls `watcher` after every replacement. */
  watch(watcher: () => void): void {
    this.#watchers.add(watcher)
  }

  /**
   * The caller of a call. A certificate counts only where the call presents no other credential: a program
   * that forwards the tokens of others must not add its own rights to theirs. No credential of a caller:
   * `undefined`.
   *
   * @throws CallError where the token is unknown, or the certificate has names of several callers
   */
  find({ authorization, iamToken, certificateNames }: CallerCredentials): IdentifiedCaller | undefined {
    if (authorization.length > 0) return this.#byToken(authorization)
    return iamToken.length > 0 ? undefined : this.#byCertificate(certificateNames)
  }

  /**
   * The caller of a call that needs a caller token.
   *
   * @throws CallError where it has none, or not that of a caller
   */
  expectToken(authorization: readonly string[]): IdentifiedCaller {
    if (authorization.length === 0) throw callError('CALLER_TOKEN_MISSING', EVERY_CALL)
    return this.#byToken(authorization)
  }

  /** The caller of a call that needs none: `undefined` too if its credentials identify no caller. */
  findOrNobody(credentials: CallerCredentials): IdentifiedCaller | undefined {
    // Survives: `credentials.authorization.length + credentials.certificateNames.length === 0` → `false`. It
    // only spares the search: without a credential no user is found.
    if (credentials.authorization.length + credentials.certificateNames.length === 0) return undefined
    return orNobody(() => this.find(credentials))
  }

  /** As `byDigest`; `undefined`: they expired or were withdrawn. */
  byDigestOrNobody(digest: Buffer): IdentifiedCaller | undefined {
    return orNobody(() => this.byDigest(digest))
  }

  /** @throws CallError unless the names identify one caller who has not expired */
  expectCertificate(names: readonly CertificateName[]): void {
    if (this.#byCertificate(names) === undefined) throw callError('CLIENT_CERTIFICATE_UNKNOWN', {})
  }

  /**
   * The caller as they are now, by the same token or certificate.
   *
   * @throws CallError where they expired or were withdrawn
   */
  confirm({ identifiedBy }: IdentifiedCaller): IdentifiedCaller {
    if (identifiedBy.type === 'token') return this.byDigest(identifiedBy.digest)
    const caller = this.#byCertificate(identifiedBy.names)
    if (caller === undefined) throw callError('CLIENT_CERTIFICATE_UNKNOWN', {})
    return caller
  }

  /** The caller whose token has this SHA-256. @throws CallError where they expired or were withdrawn */
  byDigest(digest: Buffer): IdentifiedCaller {
    for (const { caller, tokenDigest } of this.#known) {
      if (!timingSafeEqual(digest, tokenDigest)) continue
      if (!this.#hasExpired(caller)) return { ...caller, identifiedBy: { type: 'token', digest } }
    }
    throw callError('CALLER_TOKEN_INVALID', {})
  }

  #byToken([value, ...more]: readonly string[]): IdentifiedCaller {
    const token = /^Bearer ([\x21-\x7e]+)$/i.exec(value as string)?.[1]
    if (more.length > 0 || token === undefined) throw callError('CALLER_TOKEN_INVALID', {})
    return this.byDigest(hash('sha256', token, 'buffer'))
  }

  #byCertificate(names: readonly CertificateName[]): IdentifiedCaller | undefined {
    let found: Caller | undefined
    for (const name of names) {
      const caller = this.#byName.get(name)
      if (caller === undefined) continue
      // An expired caller counts here: their expiry must not give the certificate the rights of another
      // caller.
      if (found !== undefined && found !== caller) throw callError('CLIENT_CERTIFICATE_AMBIGUOUS', {})
      found = caller
    }
    if (found === undefined || this.#hasExpired(found)) return undefined
    return { ...found, identifiedBy: { type: 'certificate', names } }
  }

  #hasExpired({ expiresAtMs }: Caller): boolean {
    // Survives: `expiresAtMs !== undefined` → `true`. No time has come that is not there.
    return expiresAtMs !== undefined && this.#now() >= expiresAtMs
  }
}

function orNobody(find: () => IdentifiedCaller | undefined): IdentifiedCaller | undefined {
  try {
    return find()
  } catch (error) {
    if (error instanceof CallError) return undefined
    throw error
  }
}
