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
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Remembered } from '../../directory/feed/recent-changes.ts'
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
  /** The basis of the answer. */
  readonly basis: string
}

/** An answer of the hub. */
interface Answer {
  readonly known: Known | undefined
  /** Whether it is true of now. Otherwise it counts once: others that wait for it may have asked later. */
  readonly isCurrent: boolean
}

/** A question to the hub about a token. All callers share it. */
interface Question {
  /** That of the caller who asked first. */
  readonly connection: object | undefined
  /** The moment when it was sent, which may be unknown; `undefined`: it waits. */
  sent: { readonly moment: number | undefined } | undefined
  readonly answer: Promise<Answer>
}

/** A token that is asked about. */
interface Asked {
  readonly value: string
  readonly digest: string
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
  /** The last question about each token, by its digest. */
  readonly #questions = new Map<string, Question>()

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
    const digest = hash('sha256', own, 'base64')
    const known = this.#known.get(digest)
    const expired = known && this.#expired(known, from)
    if (expired !== undefined) return asWritten(expired, value, own, kinds, from)
    const found = this.#find({ value: own, digest, connection: from.connection }, known)
    const judged = (token: Known | undefined) => asWritten(this.#judge(token, from), value, own, kinds, from)
    return found instanceof Promise ? found.then(judged) : judged(found)
  }

  describe(
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
    connection?: object,
  ): MaybePromise<DescribedToken | undefined> {
    if (obtainedBy(value, kinds) === undefined) return undefined
    const own = withoutPrefix(value, kinds)
    const digest = hash('sha256', own, 'base64')
    return this.#find({ value: own, digest, connection }, this.#known.get(digest))
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

  /** No change brings an expired token back, so the hub need not be asked about it again. */
  #expired({ token, basis }: Known, { acceptExpired = false }: CredentialOrigin): Verification | undefined {
    const fault = faultOfTime(token, this.#parts.now(), acceptExpired)
    return fault?.token !== undefined && basis === this.#parts.changes.basis ? fault : undefined
  }

  #find(asked: Asked, known: Known | undefined): MaybePromise<Known | undefined> {
    const { changes, now } = this.#parts
    const moment = changes.moment()
    if (known !== undefined && moment !== undefined && changes.isTrue(known) && isNoted(known, now()))
      return known
    const unknown = this.#unknown.get(asked.digest)
    if (unknown !== undefined && moment !== undefined && this.#monotonic() < unknown.untilMs) return undefined
    return this.#shared(asked)
  }

  /** The answer of a question that was sent after this call, or that is still true. All callers share it. */
  async #shared(asked: Asked): Promise<Known | undefined> {
    for (;;) {
      const question = this.#questions.get(asked.digest)
      if (question === undefined) return (await this.#begin(asked).answer).known
      const { sent, answer, connection } = question
      const isSame = sent?.moment !== undefined && sent.moment === this.#parts.changes.moment()
      try {
        const { known, isCurrent } = await answer
        if (sent === undefined || (isSame && isCurrent)) return known
      } catch (error) {
        // The other connection asked too much, so it was not sent.
        const isOfOther = connection !== asked.connection && question.sent === undefined
        if ((sent === undefined || isSame) && !isOfOther) throw error
      }
      // All that have waited for it share the next one.
    }
  }

  #begin(asked: Asked): Question {
    const { digest, connection } = asked
    const question: { -readonly [Key in keyof Question]: Question[Key] } = {
      ...{ connection, sent: undefined, answer: NEVER },
    }
    this.#questions.set(digest, question)
    question.answer = this.#ask(asked, (moment) => {
      question.sent = { moment }
    }).finally(() => this.#questions.delete(digest))
    return question
  }

  async #ask(
    { value, digest, connection }: Asked,
    onSent: (moment: number | undefined) => void,
  ): Promise<Answer> {
    const { changes, tokens, now } = this.#parts
    let moment: number | undefined
    let told = changes.told
    const { found, of } = await tokens.describe(
      value,
      () => {
        // Taken before the question: a concurrent change must make the answer outdated.
        moment = changes.moment()
        told = changes.told
        onSent(moment)
      },
      connection,
    )
    // Once one caller has seen the new answer, no caller may get the earlier one.
    const earlier = this.#known.get(digest)
    if (earlier !== undefined && !isSame(earlier, found)) this.#known.delete(digest)
    if (found === undefined) {
      this.#unknown.set(digest, { untilMs: this.#monotonic() + UNKNOWN_MS })
      return { known: undefined, isCurrent: true }
    }
    const known: Known = { ...found, moment: moment ?? 0, day: dayOf(now()), basis: changes.basis }
    // An answer of a process that is ahead of the stream, that follows another history, or that has read
    // other keys, counts once. So does one of a process that is behind: a change that it missed was sent
    // before, and will not be again.
    const isCurrent =
      moment !== undefined &&
      isNameable(known.token) &&
      changes.wasTold(of) &&
      (of.position?.sequence ?? 0) >= told.sequence &&
      changes.isTrue(known)
    // While the end of everything is put off, it is true of a later position than this sidecar names.
    const given = isCurrent && !changes.isPutOff ? known : countedOnce(known)
    if (isCurrent) this.#known.set(digest, given)
    return { known: given, isCurrent }
  }
}

const UNKNOWN: CredentialOrigin = {}

/** Of a question that is being made. */
const NEVER = new Promise<never>(() => {})

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
