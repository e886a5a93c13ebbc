/**
 * What a program knows of the sidecar's rules and of tokens, and what it answers from that. It reads no clock
 * and no network: it is told everything, so each of its runs can be repeated (clients/conformance).
 */
import { type CredentialHeaders, type CredentialNames, extractCredential } from '../../engine/credentials.ts'
import type { CredentialReason } from '../../engine/reasons.ts'
import type * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import { isFault, type LocalReason, LocalRules, WrongSidecar } from './local-rules.ts'
import {
  type CheckAnswer,
  type LocalQuestion,
  msOf,
  reasonName,
  type VerifiedToken,
  verifiedToken,
} from './values.ts'

/** The sidecar must be asked. */
export interface Ask {
  readonly type: 'ask'
  readonly api: string
  /** Empty: it is not known. */
  readonly kind: string
  /** What its answer may be remembered for; `undefined`: nothing. */
  readonly credential:
    | { readonly header: string; readonly value: string; readonly address: string }
    | undefined
  /** How often everything had become void. */
  readonly age: number
}

export type Recalled = Ask | { readonly type: 'answer'; readonly answer: CheckAnswer }

export interface LocalMemoryOptions {
  /** Most pairs of a token and an address. Default: 10,000. */
  readonly tokensMax?: number
  /** Account numbers. Tokens of other accounts are not remembered. Default: all accounts. */
  readonly accounts?: readonly string[]
}

/** A token that the sidecar has vouched for, by its value. */
interface Known {
  readonly header: string
  readonly token: VerifiedToken
  readonly projectId: string
  readonly derivedFrom: readonly string[]
  readonly expiresAtMs: number
  /** Address → what is wrong with the token there. */
  readonly faults: Map<string, CredentialReason | 'NONE'>
  /** Since somebody last looked for what can go. */
  isUsed: boolean
}

/** The stream that is read. */
interface Stream {
  readonly askedAtMs: number
  /** On the clock of the sidecar. */
  readonly firstSentAtMs: number
  sentAtMs: number
}

const TOKENS_MAX = 10_000

/** Most addresses of one token: no token takes the place of all others. */
const ADDRESSES_MAX = 100

/** Most denials whose words are kept. */
const WORDS_MAX = 1_000

/** What is asked for a place, before a token that was used since goes anyway. */
const CHANCES_MAX = 16

/** What is wrong with a token itself, as long as no change touches it. */
const LASTING: ReadonlySet<LocalReason> = new Set([
  'CREDENTIAL_EXPIRED',
  'CREDENTIAL_REVOKED',
  'ADDRESS_NOT_ALLOWED',
])

export class LocalMemory {
  readonly #tokensMax: number
  readonly #accounts: ReadonlySet<string>
  readonly #tokens = new Map<string, Known>()
  /** Pairs of a token and an address. */
  #size = 0
  /** API, kind and reason of a denial → how the sidecar says it. */
  readonly #words = new Map<string, Pick<CheckAnswer, 'message' | 'header'>>()
  #rules: LocalRules | undefined
  #position: wire.Position | undefined
  #basis = ''
  #age = 0
  #stream: Stream | undefined
  #askedAtMs = 0
  #knownUntilMs = Number.NEGATIVE_INFINITY
  /** What the time of day of the sidecar is ahead of the monotonic clock. */
  #timeOfDayMs = Number.NaN

  constructor({ tokensMax = TOKENS_MAX, accounts = [] }: LocalMemoryOptions = {}) {
    this.#tokensMax = tokensMax
    this.#accounts = new Set(accounts)
  }

  /** Whether it may answer. */
  isFollowing(nowMs: number): boolean {
    return this.#rules !== undefined && nowMs < this.#knownUntilMs
  }

  /**
   * A stream is asked for now; what was known still counts for as long as it did.
   *
   * @param nowMs on a monotonic clock, as everywhere in this class
   */
  begin(nowMs: number): wire.WatchChangesRequest {
    this.#stream = undefined
    this.#askedAtMs = nowMs
    return { accounts: [...this.#accounts], after: this.#position, basis: this.#basis }
  }

  /** @throws WrongSidecar if the response cannot be followed. Everything is void then. */
  hear(response: wire.WatchChangesResponse, nowMs: number): void {
    try {
      this.#hear(response, nowMs)
    } catch (error) {
      this.#forgetAll()
      this.#position = undefined
      this.#basis = ''
      this.#knownUntilMs = Number.NEGATIVE_INFINITY
      throw error
    }
  }

  #hear(
    { position, rules, voided, validFor, sentAt, basis, timeOfDay }: wire.WatchChangesResponse,
    nowMs: number,
  ) {
    if (position === undefined || validFor === undefined || sentAt === undefined)
      throw new WrongSidecar('it says no position or no time')
    const sentAtMs = msOf(sentAt)
    this.#expectForward(position, sentAtMs, basis, voided?.everything === true)
    if (rules !== undefined) {
      this.#rules = new LocalRules(rules)
      this.#words.clear()
    }
    if (voided !== undefined) this.#forget(voided)
    this.#position = position
    this.#basis = basis
    const stream = this.#stream ?? { askedAtMs: this.#askedAtMs, firstSentAtMs: sentAtMs, sentAtMs }
    this.#stream = stream
    stream.sentAtMs = sentAtMs
    // It was sent at this time or later, and not after it has arrived.
    const sentMs = Math.min(nowMs, stream.askedAtMs + (sentAtMs - stream.firstSentAtMs))
    this.#knownUntilMs = sentMs + msOf(validFor)
    this.#timeOfDayMs = (timeOfDay?.getTime() ?? Number.NaN) - sentMs
  }

  #expectForward(position: wire.Position, sentAtMs: number, basis: string, isEverything: boolean): void {
    if (this.#stream !== undefined && sentAtMs < this.#stream.sentAtMs)
      throw new WrongSidecar('its clock goes backwards')
    const known = this.#position
    if (isEverything || known === undefined) return
    if (basis !== this.#basis && this.#stream === undefined)
      throw new WrongSidecar('it goes on from what rests on other keys')
    if (position.change < known.change || (position.change === known.change && !isSame(position, known)))
      throw new WrongSidecar('its positions go backwards')
  }

  /** The answer from memory, or that the sidecar must be asked. */
  recall(question: LocalQuestion, nowMs: number): Recalled {
    const { api, subject, target, address } = question
    const rules = this.#rules
    if (rules === undefined) return this.#ask(api, '')
    const isValid = nowMs < this.#knownUntilMs
    if ('kind' in subject) {
      const { kind, scope } = subject
      if (!isValid) return this.#ask(api, kind)
      return this.#answer(rules, api, kind, rules.reason(api, kind, scope, target))
    }
    // A token that is known is well formed.
    const found = onlyHeader(subject.headers, rules.names) ?? extractCredential(subject.headers, rules.names)
    const known = found.ok ? this.#tokens.get(found.value) : undefined
    if (known === undefined || !found.ok) return this.#unknown(rules, question, isValid)
    const { header, value } = found
    const fault = known.faults.get(address)
    if (!isValid || known.header !== header || fault === undefined || !this.#isCurrent(known, nowMs))
      return this.#ask(api, '', { header, value, address })
    known.isUsed = true
    const { token } = known
    const { kind } = token
    const reason =
      fault === 'NONE' ? rules.reason(api, kind, token.scope, target) : rules.reasonOfFault(api, kind, fault)
    return this.#answer(rules, api, kind, reason, token, found, address)
  }

  /** There is no token, or none that is known. */
  #unknown(rules: LocalRules, { api, subject, address }: LocalQuestion, isValid: boolean): Recalled {
    const headers = 'headers' in subject ? subject.headers : []
    const found = extractCredential(headers, rules.names)
    if (found.ok) return this.#ask(api, '', { header: found.header, value: found.value, address })
    if (!isValid) return this.#ask(api, '')
    return this.#answer(rules, api, '', rules.reasonOfFault(api, '', found.reason))
  }

  /** What the sidecar has answered to what it was asked. */
  learn({ api, kind, credential, age }: Ask, response: wire.CheckResponse): void {
    const rules = this.#rules
    const reason = reasonName(response.reason)
    const { token, position } = response
    if (reason !== 'ALLOWED' && response.rulesDigest === rules?.matrix.rulesDigest)
      this.#keepWords(wordsKey(api, token?.kind ?? kind, reason), response)
    const isLasting = response.verified || LASTING.has(reason)
    if (credential === undefined || token === undefined || position === undefined || !isLasting) return
    // What became void since, or is older than what was told since, may be what it rests on.
    const told = this.#position
    if (age !== this.#age || told === undefined || position.change < told.change) return
    if (position.change === told.change && !isSame(position, told)) return
    if (this.#accounts.size > 0 && !this.#accounts.has(token.scope?.account ?? '')) return
    this.#keep(credential, token, isFault(reason) ? reason : 'NONE')
  }

  #keep(
    { header, value, address }: NonNullable<Ask['credential']>,
    token: wire.VerifiedToken,
    fault: CredentialReason | 'NONE',
  ): void {
    let known = this.#tokens.get(value)
    if (known?.header !== header || known.token.tokenId !== token.tokenId) {
      this.#drop(value)
      const { projectId, derivedFrom, expiresAt } = token
      const expiresAtMs = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
      known = {
        ...{ header, token: verifiedToken(token), projectId, derivedFrom, expiresAtMs },
        ...{ faults: new Map(), isUsed: false },
      }
      this.#tokens.set(value, known)
    }
    const { faults } = known
    if (faults.size >= ADDRESSES_MAX && !faults.has(address)) {
      this.#size -= faults.size
      faults.clear()
    }
    if (!faults.has(address)) this.#size++
    faults.set(address, fault)
    this.#makeRoom()
  }

  /** The oldest go first, unless they were used since somebody last looked. */
  #makeRoom(): void {
    let chances = CHANCES_MAX
    for (const [value, known] of this.#tokens) {
      if (this.#size <= this.#tokensMax) return
      const isSpared = known.isUsed && chances-- > 0
      this.#tokens.delete(value)
      known.isUsed = false
      if (isSpared) this.#tokens.set(value, known)
      else this.#size -= known.faults.size
    }
  }

  #drop(value: string): void {
    this.#size -= this.#tokens.get(value)?.faults.size ?? 0
    this.#tokens.delete(value)
  }

  #forget({ everything, tokenIds, userIds, accounts, projectIds }: wire.Voided): void {
    if (everything) this.#forgetAll()
    const tokens = new Set(tokenIds)
    const users = new Set(userIds)
    const projects = new Set(projectIds)
    const ofAccounts = new Set(accounts)
    for (const [value, { token, projectId, derivedFrom }] of this.#tokens)
      if (
        tokens.has(token.tokenId) ||
        users.has(token.subject.id) ||
        ofAccounts.has(token.scope.account) ||
        (projectId !== '' && projects.has(projectId)) ||
        derivedFrom.some((id) => tokens.has(id))
      )
        this.#drop(value)
  }

  #forgetAll(): void {
    this.#tokens.clear()
    this.#size = 0
    this.#age++
  }

  #keepWords(key: string, { message, header }: Pick<CheckAnswer, 'message' | 'header'>): void {
    if (this.#words.size >= WORDS_MAX) this.#words.clear()
    this.#words.set(key, { message, header })
  }

  /** Whether the token has not expired, by the clock of the sidecar. */
  #isCurrent({ expiresAtMs }: Known, nowMs: number): boolean {
    return expiresAtMs === Number.POSITIVE_INFINITY || nowMs + this.#timeOfDayMs < expiresAtMs
  }

  #answer(
    rules: LocalRules,
    api: string,
    kind: string,
    reason: LocalReason,
    token?: VerifiedToken,
    found?: { readonly header: string; readonly value: string },
    address = '',
  ): Recalled {
    const allowed = reason === 'ALLOWED'
    const words = allowed ? rules.wordsOfAllowed(api, kind) : this.#words.get(wordsKey(api, kind, reason))
    if (words === undefined)
      return this.#ask(api, kind, found && { header: found.header, value: found.value, address })
    // An API that is not in the matrix comes before all that is known of the token.
    const said = reason === 'UNKNOWN_API' ? undefined : token
    const { digest, strict, rulesDigest } = rules.matrix
    return {
      type: 'answer',
      answer: {
        allowed,
        reason,
        message: words.message,
        header: words.header,
        accepted: allowed ? NONE : rules.accepted(api),
        conflicts: NONE,
        advice: NONE,
        digest,
        strict,
        rulesDigest,
        verified: said !== undefined && (allowed || !isFault(reason)),
        token: said,
        cacheForMs: 0,
      },
    }
  }

  #ask(api: string, kind: string, credential?: Ask['credential']): Ask {
    return { type: 'ask', api, kind, credential, age: this.#age }
  }
}

const NONE: readonly never[] = Object.freeze([])

/** The one header that carries a credential; `undefined` where it takes more to say which it is. */
function onlyHeader(
  headers: CredentialHeaders,
  names: CredentialNames,
): { readonly ok: true; readonly header: string; readonly value: string } | undefined {
  if (!Array.isArray(headers)) return undefined
  let found: { readonly ok: true; readonly header: string; readonly value: string } | undefined
  for (let index = 0; index < headers.length; index++) {
    const pair: readonly unknown[] | undefined = headers[index]
    const name = pair?.[0]
    const header = typeof name === 'string' ? names.find(name) : undefined
    if (header === undefined) continue
    const values = pair?.[1]
    const value = Array.isArray(values) && values.length === 1 ? values[0] : values
    if (found !== undefined || typeof value !== 'string' || value !== value.trim()) return undefined
    found = { ok: true, header, value }
  }
  return found
}

function wordsKey(api: string, kind: string, reason: LocalReason): string {
  return `${api}\0${kind}\0${reason}`
}

function isSame(some: wire.Position, other: wire.Position): boolean {
  return some.change === other.change && some.recordedAt?.getTime() === other.recordedAt?.getTime()
}
