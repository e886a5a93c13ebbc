/** Callers, each known by a caller token: what each of them may do beyond using a credential of their own, and until when. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { callError } from '../base/call-error.ts'

/** What a caller may do. `everything` includes the others. */
export interface CallerRights {
  /** Administer all accounts, with the credentials of their users. */
  readonly everything: boolean
  /** Revoke every token, by its value or by its id. */
  readonly revoke: boolean
  /** Read every record of the directory, and no secret. */
  readonly read: boolean
  /** Numbers of the accounts that the caller administers as an owner does. */
  readonly administer: ReadonlySet<string>
}

/** Who is known by a caller token. */
export interface Caller {
  readonly name: string
  /** SHA-256 of the caller token, in hexadecimal. */
  readonly tokenSha256: string
  /** Names of the profiles that the caller may use. */
  readonly profiles: ReadonlySet<string>
  readonly rights: CallerRights
  /** Milliseconds since the epoch; `undefined`: the token does not expire. */
  readonly expiresAtMs: number | undefined
}

/** Finds callers by their token. They may be replaced at any time. */
export class Callers {
  #known: readonly Caller[]
  readonly #now: () => number

  /** @param now wall clock, in milliseconds since the epoch */
  constructor(callers: readonly Caller[], now: () => number = Date.now) {
    this.#known = callers
    this.#now = now
  }

  /** Whoever is not among them is withdrawn at once. */
  replace(callers: readonly Caller[]): void {
    this.#known = callers
  }

  /** The caller whose token an `authorization` value has. No value: `undefined`. @throws CallError where the token is unknown */
  find(authorization: readonly string[]): Caller | undefined {
    const [value] = authorization
    if (value === undefined) return undefined
    const token = /^Bearer ([\x21-\x7e]+)$/i.exec(value)?.[1]
    if (authorization.length > 1 || token === undefined) throw callError('CALLER_TOKEN_INVALID', {})
    return this.#byDigest(createHash('sha256').update(token).digest())
  }

  /** The caller as they are now, with the same token. @throws CallError where they expired or were withdrawn */
  confirm({ tokenSha256 }: Caller): Caller {
    return this.#byDigest(Buffer.from(tokenSha256, 'hex'))
  }

  #byDigest(digest: Buffer): Caller {
    for (const caller of this.#known) {
      const { tokenSha256, expiresAtMs } = caller
      // Digests are of one length, which `timingSafeEqual` asks for.
      if (!timingSafeEqual(digest, Buffer.from(tokenSha256, 'hex'))) continue
      if (expiresAtMs === undefined || this.#now() < expiresAtMs) return caller
    }
    throw callError('CALLER_TOKEN_INVALID', {})
  }
}
