/**
 * What a program knows of the sidecar's rules and of tokens, and what it answers from that. It reads no clock
 * and no network: it is told everything, so each of its runs can be repeated (clients/conformance).
 */
import { type CredentialFinder, fieldPlace } from '../../engine/credentials.ts'
import { situationOf, situationOfFault } from '../../engine/situations.ts'
import type * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import { headerPairs, type LocalQuestion } from './local-question.ts'
import { isFault, type LocalReason, LocalRules, type Verdict, WrongSidecar } from './local-rules.ts'
import { answerOf, type Fault, Holders, KnownToken } from './local-token.ts'
import { type CheckAnswer, msOf, type RequestHeaders, reasonName, type TrustedToken } from './values.ts'

/** The sidecar must be asked. */
export class Ask {
  /** Empty: the sidecar says it, by its routes. */
  readonly api: string
  /** Empty: it is not known. */
  readonly kind: string
  /** What its answer may be remembered for; `undefined`: nothing. */
  readonly credential:
    | { readonly place: string; readonly value: string; readonly address: string }
    | undefined
  /** How often everything had become void. */
  readonly age: number

  constructor(api: string, kind: string, credential: Ask['credential'], age: number) {
    this.api = api
    this.kind = kind
    this.credential = credential
    this.age = age
  }
}

export interface LocalMemoryOptions {
  /** Most pairs of a token and an address. Default: 10,000. */
  readonly tokensMax?: number
  /** Account numbers. Tokens of other accounts are not remembered. Default: all accounts. */
  readonly accounts?: readonly string[]
}

/** The stream that is read. */
interface Stream {
  readonly askedAtMs: number
  /** On the clock of the sidecar. */
  readonly firstSentAtMs: number
  sentAtMs: number
}

const TOKENS_MAX = 10_000

/** Most denials that are kept. */
const DENIALS_MAX = 1_000

/** What is asked for a place, before a token that was used since goes anyway. */
const CHANCES_MAX = 16

/** What is wrong with a token itself, as long as no change touches it. */
const LASTING: ReadonlySet<LocalReason> = new Set([
  'CREDENTIAL_EXPIRED',
  'CREDENTIAL_REVOKED',
  'ADDRESS_NOT_ALLOWED',
])

/** What is wrong with a token at every address. */
const EVERYWHERE: ReadonlySet<LocalReason> = new Set(['CREDENTIAL_EXPIRED', 'CREDENTIAL_REVOKED'])

export class LocalMemory {
  readonly #tokensMax: number
  readonly #accounts: ReadonlySet<string>
  /** By their values. */
  readonly #tokens = new Map<string, KnownToken>()
  readonly #holders = new Holders()
  /** Pairs of a token and an address. */
  #size = 0
  /** API, kind and reason of a denial → the verdict, in the words of the sidecar. */
  readonly #denials = new Map<string, Verdict>()
  #rules: LocalRules | undefined
  #position: wire.Position | undefined
  /**
   * The largest one that was told, or that a denial of a token rests on. Answers before it are not
   * remembered.
   */
  #rememberedFrom: wire.Position | undefined
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
    return { accounts: [...this.#accounts], after: this.#position }
  }

  /** @throws WrongSidecar if the response cannot be followed. Everything is void then. */
  hear(response: wire.WatchChangesResponse, nowMs: number): void {
    try {
      this.#hear(response, nowMs)
    } catch (error) {
      this.#forgetAll()
      this.#position = undefined
      this.#knownUntilMs = Number.NEGATIVE_INFINITY
      throw error
    }
  }

  #hear({ position, rules, voided, validFor, sentAt, timeOfDay }: wire.WatchChangesResponse, nowMs: number) {
    if (position === undefined || validFor === undefined || sentAt === undefined)
      throw new WrongSidecar('it says no position or no time')
    const sentAtMs = msOf(sentAt)
    this.#expectForward(position, sentAtMs, voided?.everything === true)
    if (rules !== undefined) {
      this.#rules = new LocalRules(rules)
      this.#denials.clear()
    }
    if (voided !== undefined) this.#forget(voided)
    this.#position = position
    if (this.#rememberedFrom === undefined || position.change >= this.#rememberedFrom.change)
      this.#rememberedFrom = position
    const stream = this.#stream ?? { askedAtMs: this.#askedAtMs, firstSentAtMs: sentAtMs, sentAtMs }
    this.#stream = stream
    stream.sentAtMs = sentAtMs
    // It was sent at this time or later, and not after it has arrived.
    const sentMs = Math.min(nowMs, stream.askedAtMs + (sentAtMs - stream.firstSentAtMs))
    this.#knownUntilMs = sentMs + msOf(validFor)
    this.#timeOfDayMs = (timeOfDay?.getTime() ?? Number.NaN) - sentMs
  }

  #expectForward(position: wire.Position, sentAtMs: number, isEverything: boolean): void {
    if (this.#stream !== undefined && sentAtMs < this.#stream.sentAtMs)
      throw new WrongSidecar('its clock goes backwards')
    const known = this.#position
    if (isEverything || known === undefined) return
    if (position.basis !== known.basis && this.#stream === undefined)
      throw new WrongSidecar('it goes on from what rests on other keys')
    if (isBefore(position, known)) throw new WrongSidecar('its positions go backwards')
  }

  /** The answer from memory, or that the sidecar must be asked. */
  recall(question: LocalQuestion, nowMs: number): CheckAnswer | Ask {
    const { request, credentials = [], clientAddress = '' } = question
    if (request === undefined) return this.#recall(question, nowMs)
    const route = this.#rules?.routes?.find(request, headerPairs(credentials))
    // What it learns of the token counts, too, where it must ask for the API.
    const recalled = route && this.#recall({ ...question, ...route }, nowMs)
    if (route === undefined || recalled === undefined)
      return this.#ask('', '', this.#credentialIn(credentials, clientAddress))
    if (!(recalled instanceof Ask)) return { ...recalled, route: { ...route, refused: undefined } }
    const { kind, credential = this.#credentialIn(credentials, clientAddress) } = recalled
    return this.#ask('', kind, credential)
  }

  #credentialIn(headers: RequestHeaders, address: string): Ask['credential'] {
    const rules = this.#rules
    if (rules === undefined) return undefined
    const found = rules.credentials.find(headerPairs(headers))
    return found.ok ? { place: fieldPlace(found), value: found.value, address } : undefined
  }

  /** Each request passes here. It makes nothing but the answer where the token is known and opens the API. */
  #recall(question: LocalQuestion, nowMs: number): CheckAnswer | Ask {
    const { api = '', credentials, clientAddress: address = '' } = question
    const rules = this.#rules
    if (rules === undefined) return this.#ask(api, '')
    const isValid = nowMs < this.#knownUntilMs
    if (credentials === undefined) return this.#recallClaims(rules, question, isValid)
    const known = isValid ? this.#knownAmong(credentials, rules.credentials) : undefined
    if (known !== undefined) return this.#recallKnown(rules, question, known, nowMs)
    const found = rules.credentials.find(headerPairs(credentials))
    if (found.ok) {
      const { value } = found
      const place = fieldPlace(found)
      const same = isValid ? this.#tokens.get(value) : undefined
      if (same?.holder.place === place) return this.#recallKnown(rules, question, same, nowMs)
      return this.#ask(api, '', { place, value, address })
    }
    const verdict = isValid ? this.#verdict(rules, api, '', 0, situationOfFault(found.reason)) : undefined
    return verdict === undefined ? this.#ask(api, '') : answerOf(verdict, undefined)
  }

  #recallKnown(
    rules: LocalRules,
    { api = '', credentials = [], target, clientAddress: address = '' }: LocalQuestion,
    known: KnownToken,
    nowMs: number,
  ): CheckAnswer | Ask {
    const fault = known.faultAt(address)
    if (fault === undefined || !this.#isCurrent(known, nowMs))
      return this.#ask(api, '', this.#credentialIn(credentials, address))
    known.isUsed = true
    const { holder } = known
    const situation = fault === 'NONE' ? situationOf(holder.scope, target) : situationOfFault(fault)
    const verdict = this.#verdict(rules, api, holder.kind, holder.columnIn(rules), situation)
    if (verdict === undefined) return this.#ask(api, holder.kind, this.#credentialIn(credentials, address))
    return answerOf(verdict, known)
  }

  #recallClaims(rules: LocalRules, question: LocalQuestion, isValid: boolean): CheckAnswer | Ask {
    const { api = '', token, target } = question
    const { kind, scope } = token as TrustedToken
    if (!isValid) return this.#ask(api, kind)
    const verdict = this.#verdict(rules, api, kind, rules.column(kind), situationOf(scope, target))
    return verdict === undefined ? this.#ask(api, kind) : answerOf(verdict, undefined)
  }

  /**
   * The token that is known, if one header carries it as in most requests. A token that is known is well
   * formed, and has nothing around it.
   */
  #knownAmong(headers: RequestHeaders, credentials: CredentialFinder): KnownToken | undefined {
    const { names } = credentials
    let header: string | undefined
    let value: unknown
    if (Symbol.iterator in headers) {
      // Others may have what they give only once.
      if (!Array.isArray(headers) && !(headers instanceof Headers)) return undefined
      for (const pair of headers as Iterable<unknown>) {
        if (!Array.isArray(pair) || typeof pair[0] !== 'string') return undefined
        const found = names.find(pair[0])
        if (found === undefined) continue
        if (header !== undefined) return undefined
        header = found
        value = pair[1]
      }
    } else
      for (const name in headers) {
        const found = names.find(name)
        if (found === undefined) continue
        if (header !== undefined || !Object.hasOwn(headers, name)) return undefined
        header = found
        value = headers[name]
      }
    if (Array.isArray(value) && value.length === 1) value = value[0]
    if (header === undefined || typeof value !== 'string') return undefined
    const alone = this.#tokens.get(value)
    if (alone !== undefined) return alone.holder.place === header ? alone : undefined
    const found = credentials.hasSchemes(header) ? credentials.tokenIn(header, value) : undefined
    if (found?.ok !== true) return undefined
    const known = this.#tokens.get(found.value)
    return known?.holder.place === fieldPlace(found) ? known : undefined
  }

  /** What the rules say in a situation; `undefined`: the words for it are not known. */
  #verdict(
    rules: LocalRules,
    api: string,
    kind: string,
    column: number,
    situation: number,
  ): Verdict | undefined {
    const verdict = rules.verdict(api, column, situation)
    return typeof verdict === 'string' ? this.#denials.get(denialKey(api, kind, verdict)) : verdict
  }

  /** What the sidecar has answered to what it was asked. */
  learn({ api: asked, kind, credential, age }: Ask, response: wire.CheckResponse): void {
    const rules = this.#rules
    const reason = reasonName(response.reason)
    const { token, position, route } = response
    const api = asked === '' ? (route?.api ?? '') : asked
    if (reason !== 'ALLOWED' && api !== '' && response.rulesDigest === rules?.matrix.rulesDigest) {
      if (this.#denials.size >= DENIALS_MAX) this.#denials.clear()
      const { message, header, scheme } = response
      const verdict = rules.denied(api, reason, { message, header, scheme })
      this.#denials.set(denialKey(api, token?.kind ?? kind, reason), verdict)
    }
    // Somebody sees the denial now, and nobody may get an allow from what was known before it.
    if (credential !== undefined && EVERYWHERE.has(reason)) this.#drop(credential.value)
    const isLasting = response.verified || LASTING.has(reason)
    if (credential === undefined || token === undefined || position === undefined || !isLasting) return
    // What became void since, or is older than what was told since, may be what it rests on.
    const from = this.#rememberedFrom
    if (age !== this.#age || from === undefined || isBefore(position, from)) return
    // Of a process that has not read yet which keys are withdrawn, it would stay.
    if (position.basis !== this.#position?.basis) return
    if (this.#accounts.size > 0 && !this.#accounts.has(token.scope?.account ?? '')) return
    if (EVERYWHERE.has(reason)) this.#rememberedFrom = position
    this.#keep(credential, token, isFault(reason) ? reason : 'NONE')
  }

  #keep(
    { place, value, address }: NonNullable<Ask['credential']>,
    token: wire.VerifiedToken,
    fault: Fault,
  ): void {
    let known = this.#tokens.get(value)
    if (known?.holder.place !== place || known.tokenId !== token.tokenId) {
      this.#drop(value)
      known = new KnownToken(this.#holders.of(place, token), token)
      this.#tokens.set(value, known)
    }
    this.#size -= known.addresses
    known.setFault(address, fault)
    this.#size += known.addresses
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
      else this.#size -= known.addresses
    }
  }

  #drop(value: string): void {
    this.#size -= this.#tokens.get(value)?.addresses ?? 0
    this.#tokens.delete(value)
  }

  #forget({ everything, tokenIds, userIds, accounts, projectIds }: wire.Voided): void {
    if (everything) this.#forgetAll()
    const tokens = new Set(tokenIds)
    const users = new Set(userIds)
    const projects = new Set(projectIds)
    const ofAccounts = new Set(accounts)
    for (const [value, { holder, tokenId, derivedFrom }] of this.#tokens)
      if (
        tokens.has(tokenId) ||
        users.has(holder.subject.id) ||
        ofAccounts.has(holder.scope.account) ||
        (holder.projectId !== '' && projects.has(holder.projectId)) ||
        derivedFrom.some((id) => tokens.has(id))
      )
        this.#drop(value)
  }

  #forgetAll(): void {
    this.#tokens.clear()
    this.#holders.clear()
    this.#size = 0
    this.#rememberedFrom = undefined
    this.#age++
  }

  /** Whether the token has not expired, by the clock of the sidecar. */
  #isCurrent({ expiresAtMs }: KnownToken, nowMs: number): boolean {
    return expiresAtMs === undefined || nowMs + this.#timeOfDayMs < expiresAtMs
  }

  #ask(api: string, kind: string, credential?: Ask['credential']): Ask {
    return new Ask(api, kind, credential, this.#age)
  }
}

const _NONE: readonly never[] = Object.freeze([])

function denialKey(api: string, kind: string, reason: LocalReason): string {
  return `${api}\0${kind}\0${reason}`
}

/** Whether a position is smaller, or has the same number and another time. */
function isBefore(some: wire.Position, other: wire.Position): boolean {
  if (some.change !== other.change) return some.change < other.change
  return some.recordedAt?.getTime() !== other.recordedAt?.getTime()
}
