/** Verifies static tokens, and remembers what the directory said of them. */
import { hash, type KeyObject } from 'node:crypto'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { Directory, StaticToken, TokenStatus } from '../directory/directory.ts'
import type { Dependencies, Remembered } from '../directory/feed/recent-changes.ts'
import { SharedQuestions } from '../directory/feed/shared-questions.ts'
import type { CredentialOrigin, DescribedToken, Verification, VerifiedToken } from './authority.ts'
import { LazyLruCache } from './lazy-lru-cache.ts'
import { hashStaticToken, isWellFormedStaticToken } from './static-token.ts'
import { NEVER_USED, type StaticTokenUses } from './static-token-uses.ts'
import { TokenMemory } from './token-memory.ts'
import { INVALID, verificationOf } from './token-status.ts'

/** Most static tokens that are remembered as unknown. */
const UNKNOWN_TOKENS_MAX = 10_000

/** A static token, and its status. */
interface CachedStaticToken extends Remembered {
  readonly token: VerifiedToken
  readonly status: TokenStatus
  /**
   * The last day of its use that is known or waits to be written, in days since the epoch, or `NEVER_USED`.
   */
  usedDay: number
}

interface StaticTokenVerifierParts {
  readonly directory: Directory
  /** The key for hashes of static tokens. */
  readonly pepper: KeyObject
  readonly staticTokenUses: StaticTokenUses
  /** Most tokens that are remembered. */
  readonly rememberedMax: number
}

export class StaticTokenVerifier {
  readonly #parts: StaticTokenVerifierParts
  /** By SHA-256 of the token. */
  readonly #known: TokenMemory<CachedStaticToken>
  /** Tokens that the directory does not have: no number of guesses displaces a genuine one. */
  readonly #unknown = new LazyLruCache<Remembered>(UNKNOWN_TOKENS_MAX)
  readonly #asked = new SharedQuestions<StaticToken | undefined>()

  constructor(parts: StaticTokenVerifierParts) {
    this.#parts = parts
    this.#known = new TokenMemory(parts.rememberedMax)
  }

  /** How many tokens are remembered. */
  get size(): number {
    return this.#known.size
  }

  verify(value: string, from: CredentialOrigin): Verification | Promise<Verification> {
    const found = this.#find(value)
    return found instanceof Promise
      ? found.then((token) => this.#verified(token, from))
      : this.#verified(found, from)
  }

  /** The directory's record of a token; `undefined`: it is unknown. One that is active counts as used. */
  describe(value: string): MaybePromise<DescribedToken | undefined> {
    return andThen(this.#find(value), (found) => {
      if (found?.status.active) this.#use(found)
      return found
    })
  }

  #find(value: string): MaybePromise<CachedStaticToken | undefined> {
    const { changes } = this.#parts.directory
    const moment = changes.moment()
    const digest = hash('sha256', value, 'base64')
    const known = this.#known.get(digest)
    if (known !== undefined && moment !== undefined && changes.isTrue(known)) return known
    if (!isWellFormedStaticToken(value)) return undefined
    const unknown = this.#unknown.get(digest)
    if (unknown !== undefined && moment !== undefined && changes.isTrue(unknown)) return undefined
    return this.#ask(value, digest, moment)
  }

  #ask(
    value: string,
    digest: string,
    moment: number | undefined,
  ): MaybePromise<CachedStaticToken | undefined> {
    const asked = this.#asked.ask(digest, moment, () =>
      this.#parts.directory.staticToken(hashStaticToken(value, this.#parts.pepper)),
    )
    return andThen(asked, (found) => {
      if (found === undefined) {
        if (moment !== undefined) this.#unknown.set(digest, { token: NOBODYS, moment })
        return undefined
      }
      const cached = cachedOf(found, moment ?? 0)
      if (moment !== undefined) this.#known.set(digest, cached)
      return cached
    })
  }

  #verified(found: CachedStaticToken | undefined, from: CredentialOrigin): Verification {
    if (found === undefined) return INVALID
    const verification = verificationOf(found.token, found.status, from.clientAddress)
    if (isUse(verification, from)) this.#use(found)
    return verification
  }

  /** The look at the clock is saved on a day whose use is known. */
  #use(found: CachedStaticToken): void {
    const { staticTokenUses } = this.#parts
    const { today } = staticTokenUses
    if (today === NEVER_USED || found.usedDay < today)
      found.usedDay = staticTokenUses.note(found.token.tokenId, found.usedDay)
  }
}

/** An unknown static token has no owner. None that is made later is the same. */
const NOBODYS: Dependencies = { tokenId: '', subject: { id: '' }, scope: { account: '' } }

function cachedOf(found: StaticToken, moment: number): CachedStaticToken {
  const token: VerifiedToken = {
    kind: found.kind,
    scope: { account: found.account },
    subject: { ...found.holder, type: 'control_panel_user' },
    tokenId: found.id,
    issuedAtMs: found.createdAtMs,
    expiresAtMs: undefined,
  }
  return { token, status: found, moment, usedDay: found.lastUsedDay ?? NEVER_USED }
}

/** Whether a credential that was verified is used: it is accepted from there, and not only looked up. */
function isUse({ ok }: Verification, { lookedUp = false }: CredentialOrigin): boolean {
  return ok && !lookedUp
}
