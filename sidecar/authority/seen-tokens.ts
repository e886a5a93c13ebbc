/**
 * IAM tokens whose signature was verified: each signature is verified once. Genuine and forged tokens are
 * remembered separately, so that no number of forged ones displaces a genuine one. Of a genuine token that
 * made room for others, a table still knows that its signature was verified, and when it was last active.
 */
import { hash } from 'node:crypto'
import type { TokenKind } from '../../engine/index.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Turns } from '../base/turns.ts'
import type { TokenStatus } from '../directory/directory.ts'
import type { Remembered } from '../directory/feed/recent-changes.ts'
import { DigestTable } from './digest-table.ts'
import { claimsOfVerified, type IamTokenSigner, tokenOf } from './iam-token.ts'
import type { SigningKey } from './keys.ts'
import { LazyLruCache } from './lazy-lru-cache.ts'
import { TokenMemory } from './token-memory.ts'
import type { VerifiedToken } from './verified-token.ts'

/** A genuine token, and the status that it was found to have. */
export interface GenuineToken extends Remembered {
  /** SHA-256 of the token, in base64. */
  readonly digest: string
  /** The keys in force when it was found. */
  readonly keys: readonly SigningKey[]
  readonly token: VerifiedToken
  /** The kind that `status` was determined for. */
  kind: TokenKind | undefined
  status: TokenStatus | undefined
}

/** Most forged tokens that are remembered. New ones displace only other forged tokens. */
const FORGED_MAX = 10_000

const FORGED = {}

/** Active, and accepted from any address. */
const ACTIVE: TokenStatus = { active: true, addresses: [] }

/** One in this number of known tokens is remembered again: soon each that is used often. */
const ADMITTED = 8

/** A later moment has no room in the table. */
const MOMENT_MAX = 2 ** 32 - 1

/** The owner of work whose connection is unknown. */
const NOBODY = {}

export class SeenIamTokens {
  readonly #signer: IamTokenSigner
  readonly #turns: Turns
  /** By SHA-256 of the token. */
  readonly #genuine: TokenMemory<GenuineToken>
  /** Tokens that were forgotten, with the moment at which each was known to be `ACTIVE`; 0: none. */
  readonly #verified = new DigestTable()
  /** The kinds that this was found for. */
  readonly #kinds = new Map<string, TokenKind>()
  #admitting = 0
  readonly #forged = new LazyLruCache<object>(FORGED_MAX)
  /**
   * The work that waits for its turn, by connection and then by digest: many questions about one token are
   * one piece of work.
   */
  readonly #waiting = new WeakMap<object, Map<string, Promise<GenuineToken | undefined>>>()
  /**
   * The keys that the signatures were verified with. When they change, all is forgotten: a key may have come
   * or gone.
   */
  #keys: readonly SigningKey[] = []

  /** @param genuineMax most genuine tokens that are remembered */
  constructor(signer: IamTokenSigner, turns: Turns, genuineMax: number) {
    this.#signer = signer
    this.#turns = turns
    this.#genuine = new TokenMemory(genuineMax, (digest, forgotten) =>
      this.#verified.set(Buffer.from(digest, 'base64'), this.#momentOf(forgotten)),
    )
  }

  /** How many genuine tokens are remembered. */
  get size(): number {
    return this.#genuine.size
  }

  /**
   * The token, if a current key has signed it: at once if it was seen before, else when it is the
   * connection's turn.
   *
   * @throws CallError if the keys cannot be read, or too many tokens wait
   */
  find(value: string, connection: object | undefined): MaybePromise<GenuineToken | undefined> {
    const digest = hash('sha256', value, 'base64')
    const seen = this.#seen(digest)
    if (seen !== undefined) return isGenuine(seen) ? seen : undefined
    const moment = this.#verified.get(Buffer.from(digest, 'base64'))
    if (moment !== undefined) return this.#verifiedBefore(value, digest, moment)
    if (!this.#signer.mayHaveSigned(value)) return undefined
    // Not across connections: a connection must not wait for the turn of another one, which may be suspected.
    const waiting = this.#waiting.get(connection ?? NOBODY)
    const found =
      waiting?.get(digest) ?? this.#turns.run(connection, () => this.#verify(value, digest, connection))
    if (found instanceof Promise && waiting?.get(digest) !== found)
      this.#keepUntilDone(found, digest, connection)
    return found
  }

  /** Remembers a token that was signed here. Its signature never needs to be verified. */
  remember(value: string, token: VerifiedToken): void {
    const digest = hash('sha256', value, 'base64')
    if (this.#seen(digest) === undefined) this.#genuine.set(digest, this.#unasked(digest, token))
  }

  /** Remembers a token whose status is known now, unless a key has come or gone since it was found. */
  keep(token: GenuineToken): void {
    if (token.keys === this.#signer.keys) this.#genuine.set(token.digest, token)
  }

  #verifiedBefore(value: string, digest: string, moment: number): GenuineToken {
    const token = tokenOf(claimsOfVerified(value))
    const known = moment > 0 && { kind: this.#kinds.get(token.kind), status: ACTIVE, moment }
    const genuine = { ...this.#unasked(digest, token), ...known }
    this.#admitting = (this.#admitting + 1) % ADMITTED
    if (this.#admitting === 0) this.keep(genuine)
    return genuine
  }

  /** When the token was known to be active, as the table has it. */
  #momentOf({ token, kind, status, moment }: GenuineToken): number {
    if (kind === undefined || !status?.active || status.addresses.length > 0 || moment > MOMENT_MAX) return 0
    const known = this.#kinds.get(token.kind) ?? kind
    // With other scopes none of what the table has was found for this kind.
    if (String(known.permissionScopes) !== String(kind.permissionScopes)) this.#verified.clear()
    this.#kinds.set(token.kind, kind)
    return moment
  }

  #keepUntilDone(
    found: Promise<GenuineToken | undefined>,
    digest: string,
    connection: object = NOBODY,
  ): void {
    const waiting = this.#waiting.get(connection) ?? new Map<string, typeof found>()
    this.#waiting.set(connection, waiting.set(digest, found))
    const forget = () => void waiting.delete(digest)
    found.then(forget, forget)
  }

  #seen(digest: string): GenuineToken | typeof FORGED | undefined {
    const { keys } = this.#signer
    if (keys !== this.#keys) {
      this.#keys = keys
      this.#genuine.clear()
      this.#verified.clear()
      this.#forged.clear()
    }
    return this.#genuine.get(digest) ?? this.#forged.get(digest)
  }

  #verify(value: string, digest: string, connection: object | undefined): GenuineToken | undefined {
    // While this call waited, the keys may have changed, or another call may have verified the same token.
    const seen = this.#seen(digest)
    if (seen !== undefined) return isGenuine(seen) ? seen : undefined
    const claims = this.#signer.verify(value)
    if (claims === undefined) {
      this.#forged.set(digest, FORGED)
      this.#turns.suspect(connection)
      return undefined
    }
    const genuine = this.#unasked(digest, tokenOf(claims))
    this.#genuine.set(digest, genuine)
    return genuine
  }

  /** A token about which the directory was not asked yet. */
  #unasked(digest: string, token: VerifiedToken): GenuineToken {
    return { digest, keys: this.#keys, token, kind: undefined, status: undefined, moment: 0 }
  }
}

function isGenuine(seen: GenuineToken | typeof FORGED): seen is GenuineToken {
  return seen !== FORGED
}
