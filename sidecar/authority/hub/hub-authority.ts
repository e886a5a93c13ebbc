/**
 * The authority of a sidecar that follows another one. It has no directory and no keys: the hub says what it
 * knows of a token, once, and from then on what of that is void.
 */
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Scope, TokenKind } from '../../../engine/index.ts'
import { callError } from '../../base/call-error.ts'
import { elapsedMs } from '../../base/clock.ts'
import { dayOf } from '../../base/day.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Remembered } from '../../directory/feed/recent-changes.ts'
import { SharedQuestions } from '../../directory/feed/shared-questions.ts'
import type {
  Authority,
  CredentialOrigin,
  DescribedToken,
  IssuedToken,
  Origin,
  PasswordRequester,
  Verification,
} from '../authority.ts'
import type { Presented } from '../elsewhere.ts'
import type { PublicKey } from '../keys.ts'
import { LazyLruCache } from '../lazy-lru-cache.ts'
import { obtainedBy, withoutPrefix } from '../own-form.ts'
import { TokenMemory } from '../token-memory.ts'
import { asWritten, faultOfTime, INVALID, verificationOf } from '../token-status.ts'
import type { VerifiedToken } from '../verified-token.ts'
import type { DescribedTokens } from './described-tokens.ts'
import type { HubChanges } from './hub-changes.ts'

/** The hub's answer about a token. */
interface Known extends Remembered, DescribedToken {
  readonly token: VerifiedToken
  /** The day on which the hub noted its use, in days since the epoch. */
  readonly day: number
}

/** An answer of the hub. */
interface Answer {
  readonly known: Known | undefined
  /** Whether it is true of now. Otherwise it counts once: others that wait for it may have asked later. */
  readonly isCurrent: boolean
  /** The next question for all of those together. */
  again?: Promise<Answer>
}

/** A question to the hub. */
interface Question {
  readonly digest: string
  readonly moment: number | undefined
  readonly connection: object | undefined
}

/** Most tokens that are remembered as not genuine, and for how long, in milliseconds: a key may be added. */
const UNKNOWN_MAX = 10_000
const UNKNOWN_MS = 5_000

interface HubAuthorityParts {
  readonly changes: HubChanges
  readonly tokens: DescribedTokens
  readonly rememberedMax: number
  /** Issues at the hub. */
  readonly issue: (requester: PasswordRequester, scope: Scope, presented: Presented) => Promise<IssuedToken>
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  /** The clock of what is remembered (`elapsedMs`), in milliseconds. */
  readonly monotonic?: () => number
}

export class HubAuthority implements Authority {
  readonly #parts: HubAuthorityParts
  readonly #monotonic: () => number
  readonly #known: TokenMemory<Known>
  readonly #unknown = new LazyLruCache<{ readonly untilMs: number }>(UNKNOWN_MAX)
  readonly #asked = new SharedQuestions<Answer>()

  constructor(parts: HubAuthorityParts) {
    this.#parts = parts
    this.#monotonic = parts.monotonic ?? elapsedMs
    this.#known = new TokenMemory(parts.rememberedMax)
  }

  get cached(): Readonly<Record<string, number>> {
    return { hub_tokens: this.#known.size }
  }

  recognize(value: string, kinds: ReadonlyMap<string, TokenKind>): TokenKind['obtained']['by'] | undefined {
    return obtainedBy(value, kinds)
  }

  verify(
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
    from: CredentialOrigin = UNKNOWN,
  ): Verification | Promise<Verification> {
    if (obtainedBy(value, kinds) === undefined) return INVALID
    const own = withoutPrefix(value, kinds)
    const found = this.#find(own, from.connection)
    const judged = (known: Known | undefined) => asWritten(this.#judge(known, from), value, own, kinds, from)
    return found instanceof Promise ? found.then(judged) : judged(found)
  }

  describe(
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
    connection?: object,
  ): MaybePromise<DescribedToken | undefined> {
    return obtainedBy(value, kinds) === undefined
      ? undefined
      : this.#find(withoutPrefix(value, kinds), connection)
  }

  issue(requester: PasswordRequester, _kind: TokenKind, scope: Scope, from?: Origin): Promise<IssuedToken> {
    return this.#parts.issue(requester, scope, from?.handOn?.() ?? {})
  }

  issueByCredential(): Promise<IssuedToken> {
    return Promise.reject(elsewhere())
  }

  derive(): Promise<IssuedToken> {
    return Promise.reject(elsewhere())
  }

  publicKeys(): readonly PublicKey[] {
    return []
  }

  #judge(known: Known | undefined, { clientAddress, acceptExpired = false }: CredentialOrigin): Verification {
    if (known === undefined) return INVALID
    const fault = faultOfTime(known.token, this.#parts.now(), acceptExpired)
    return fault ?? verificationOf(known.token, known.status, clientAddress)
  }

  #find(value: string, connection: object | undefined): MaybePromise<Known | undefined> {
    const { changes, now } = this.#parts
    const digest = hash('sha256', value, 'base64')
    // Taken before the question: a concurrent change must make the answer outdated.
    const moment = changes.moment()
    const known = this.#known.get(digest)
    if (known !== undefined && moment !== undefined && changes.isTrue(known) && isNoted(known, now()))
      return known
    const unknown = this.#unknown.get(digest)
    if (unknown !== undefined && moment !== undefined && this.#monotonic() < unknown.untilMs) return undefined
    let isOwn = false
    const answer = this.#asked.ask(digest, moment, () => {
      isOwn = true
      return this.#ask(value, { digest, moment, connection })
    })
    return andThen(answer, async (given) => {
      if (isOwn || given.isCurrent) return given.known
      given.again ??= this.#ask(value, { digest, moment, connection })
      return (await given.again).known
    })
  }

  async #ask(value: string, { digest, moment, connection }: Question): Promise<Answer> {
    const { changes, tokens, now } = this.#parts
    const asked = changes.latest()
    const { found, of } = await tokens.describe(value, connection)
    // Once one caller has seen the new answer, no caller may get the earlier one.
    const earlier = this.#known.get(digest)
    if (earlier !== undefined && !isSame(earlier, found)) this.#known.delete(digest)
    if (found === undefined) {
      this.#unknown.set(digest, { untilMs: this.#monotonic() + UNKNOWN_MS })
      return { known: undefined, isCurrent: true }
    }
    const known: Known = { ...found, moment: moment ?? 0, day: dayOf(now()) }
    // An answer of a process that is ahead of the stream, that follows another history, or that has read
    // other keys, counts once. So does one of a process that is behind: a change that it missed was sent
    // before, and will not be again.
    const isCurrent =
      moment !== undefined &&
      isNameable(known.token) &&
      changes.wasTold(of) &&
      (of.position?.sequence ?? 0) >= (asked?.sequence ?? 0) &&
      changes.isTrue(known)
    if (isCurrent) this.#known.set(digest, known)
    return { known: isCurrent ? known : countedOnce(known), isCurrent }
  }
}

const UNKNOWN: CredentialOrigin = {}

function isSame(earlier: Known, found: DescribedToken | undefined): boolean {
  const { token, status } = earlier
  return isDeepStrictEqual({ token, status }, found)
}

/** Whether a change can name all that the token depends on. */
function isNameable({ tokenId, subject, scope, projectId = '' }: VerifiedToken): boolean {
  const isNamed = tokenId !== '' && subject.id !== '' && scope.account !== ''
  return isNamed && (scope.project === undefined || projectId !== '')
}

/** Nor may those remember it who follow this sidecar. */
function countedOnce(known: Known): Known {
  return { ...known, token: { ...known.token, countsOnce: true } }
}

/** A static token is asked about once a day, so that the hub knows on which day it was used last. */
function isNoted({ token, day }: Known, nowMs: number): boolean {
  return token.expiresAtMs !== undefined || day === dayOf(nowMs)
}

function elsewhere() {
  return callError('DIRECTORY_ELSEWHERE', {})
}
