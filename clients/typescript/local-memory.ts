/**
 * A program's memory of the sidecar's rules and of tokens, and its answers from them. It reads no clock
 * and no network: it receives everything, so each of its runs can be repeated (clients/conformance).
 */
import type { CredentialFinder } from '../../engine/credentials.ts'
import { JUMP_MS } from '../../engine/elapsed.ts'
import { situationOf, situationOfFault } from '../../engine/situations.ts'
import type * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import { isRefusal, subjectOf, wouldGive } from './local-answer.ts'
import { Ask, headerPairs, type LocalQuestion } from './local-question.ts'
import type { FoundRoute } from './local-routes.ts'
import {
  ComingRules,
  isFault,
  type LocalReason,
  LocalRules,
  type Verdict,
  WrongSidecar,
} from './local-rules.ts'
import { answerOf, type Fault, Holders, KnownToken } from './local-token.ts'
import { type CheckAnswer, msOf, type RequestHeaders, reasonName, type TrustedToken } from './values.ts'

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

/** Most parts of rules. A sidecar sends some ten for 100,000 APIs. */
const PARTS_MAX = 1_000

/** Most denials that are kept. */
const DENIALS_MAX = 1_000

/** The number of tokens that may keep their place because they were used, before one goes anyway. */
const CHANCES_MAX = 16

/** Faults of a token itself, as long as no change touches it. */
const LASTING: ReadonlySet<LocalReason> = new Set([
  'CREDENTIAL_EXPIRED',
  'CREDENTIAL_REVOKED',
  'ADDRESS_NOT_ALLOWED',
])

/** Faults of a token at every address. */
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
  /** Parts of rules that are on their way. */
  #coming = new ComingRules()
  #position: wire.Position | undefined
  /**
   * The largest one that was received, or on which a denial of a token rests. Answers before it are not
   * remembered.
   */
  #rememberedFrom: wire.Position | undefined
  #age = 0
  /** Since when it has these rules. */
  #rulesAge = 0
  #stream: Stream | undefined
  #askedAtMs = 0
  /** By how much the wall clock had jumped then. */
  #jumpedMs = 0
  #knownUntilMs = Number.NEGATIVE_INFINITY
  /** The lead of the sidecar's time of day over the clock of the client. */
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
   * A stream is asked for now; known facts count for as long as before.
   *
   * @param nowMs on the clock of `Elapsed`, as everywhere in this class
   * @param jumpedMs by how much the wall clock has jumped
   */
  begin(nowMs: number, jumpedMs: number): wire.WatchChangesRequest {
    this.#stream = undefined
    this.#coming = new ComingRules()
    this.#askedAtMs = nowMs
    this.#jumpedMs = jumpedMs
    return { accounts: [...this.#accounts], after: this.#position }
  }

  /**
   * @returns whether the stream can go on. Otherwise the client begins another one, because its clocks have
   *   parted.
   * @throws WrongSidecar if the response cannot be followed. Everything is void then.
   */
  hear(response: wire.WatchChangesResponse, nowMs: number, jumpedMs: number): boolean {
    try {
      this.#hear(response, nowMs)
      return jumpedMs - this.#jumpedMs <= JUMP_MS
    } catch (error) {
      this.#forgetAll()
      this.#rules = undefined
      this.#position = undefined
      this.#knownUntilMs = Number.NEGATIVE_INFINITY
      throw error
    }
  }

  #hear(response: wire.WatchChangesResponse, nowMs: number): void {
    const { position, rules, rulesPart, voided, validFor, sentAt, timeOfDay } = response
    if (rulesPart !== undefined) {
      this.#coming.add(rulesPart)
      if (this.#coming.parts > PARTS_MAX) throw new WrongSidecar('its rules have too many parts')
      return
    }
    if (position === undefined || sentAt === undefined)
      throw new WrongSidecar('it says no position or no time')
    const sentAtMs = msOf(sentAt)
    this.#expectForward(position, sentAtMs, voided?.everything === true)
    if (rules !== undefined) {
      this.#follow(new LocalRules(rules, this.#coming))
      this.#coming = new ComingRules()
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
    if (validFor !== undefined) this.#knownUntilMs = sentMs + msOf(validFor)
    this.#timeOfDayMs = (timeOfDay?.getTime() ?? Number.NaN) - sentMs
  }

  #follow(rules: LocalRules): void {
    if (rules.matrix.rulesDigest !== this.#rules?.matrix.rulesDigest) this.#rulesAge = ++this.#age
    this.#rules = rules
    this.#denials.clear()
    for (const [value, { holder }] of this.#tokens)
      if (!rules.carries(holder.kind, holder.place, value)) this.#drop(value)
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
    // The recalled token counts, too, where it must ask for the API.
    const recalled = route && this.#recall({ ...question, ...route }, nowMs)
    if (route === undefined || recalled === undefined)
      return this.#ask('', this.#credentialIn(credentials, clientAddress))
    if (!(recalled instanceof Ask)) return { ...recalled, route: { ...route, refused: undefined } }
    return this.#ask(recalled.kind, recalled.credential, route)
  }

  #credentialIn(headers: RequestHeaders, address: string): Ask['credential'] {
    const rules = this.#rules
    if (rules === undefined) return undefined
    const found = rules.credentials.find(headerPairs(headers))
    return found.ok ? { place: found.place, value: found.value, address } : undefined
  }

  /** Each request passes here. It makes nothing but the answer where the token is known and opens the API. */
  #recall(question: LocalQuestion, nowMs: number): CheckAnswer | Ask {
    const { api = '', credentials, clientAddress: address = '' } = question
    const rules = this.#rules
    if (rules === undefined) return this.#ask('')
    const isValid = nowMs < this.#knownUntilMs
    if (credentials === undefined) return this.#recallClaims(rules, question, isValid)
    const known = isValid ? this.#knownAmong(credentials, rules.credentials) : undefined
    if (known !== undefined) return this.#recallKnown(rules, question, known, nowMs)
    const found = rules.credentials.find(headerPairs(credentials))
    if (found.ok) {
      const { place, value } = found
      const same = isValid ? this.#tokens.get(value) : undefined
      if (same?.holder.place === place) return this.#recallKnown(rules, question, same, nowMs)
      return this.#ask('', { place, value, address })
    }
    const verdict = isValid ? this.#verdict(rules, api, '', 0, situationOfFault(found.reason)) : undefined
    return verdict === undefined ? this.#ask('') : answerOf(verdict, undefined)
  }

  #recallKnown(
    rules: LocalRules,
    { api = '', credentials = [], target, clientAddress: address = '' }: LocalQuestion,
    known: KnownToken,
    nowMs: number,
  ): CheckAnswer | Ask {
    const fault = known.faultAt(address)
    if (fault === undefined || !this.#isCurrent(known, nowMs))
      return this.#ask('', this.#credentialIn(credentials, address))
    known.isUsed = true
    const { holder } = known
    const situation = fault === 'NONE' ? situationOf(holder.scope, target) : situationOfFault(fault)
    const verdict = this.#verdict(rules, api, holder.kind, holder.columnIn(rules), situation)
    if (verdict === undefined) return this.#ask(holder.kind, this.#credentialIn(credentials, address))
    return answerOf(verdict, known)
  }

  #recallClaims(rules: LocalRules, question: LocalQuestion, isValid: boolean): CheckAnswer | Ask {
    const { api = '', token, target } = question
    const { kind, scope } = token as TrustedToken
    if (!isValid) return this.#ask(kind)
    const verdict = this.#verdict(rules, api, kind, rules.column(kind), situationOf(scope, target))
    return verdict === undefined ? this.#ask(kind) : answerOf(verdict, undefined)
  }

  /**
   * The token that is known, if one header carries it as in most requests. A token that is known is well
   * formed, and has nothing around it.
   */
  #knownAmong(headers: RequestHeaders, credentials: CredentialFinder): KnownToken | undefined {
    if (!credentials.isInOneHeader) return undefined
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
    return known?.holder.place === found.place ? known : undefined
  }

  /** The answer of the rules in a situation; `undefined`: the words for it are not known. */
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

  /** The sidecar's answer to a question that it was asked. */
  learn(question: LocalQuestion, ask: Ask, response: wire.CheckResponse): void {
    const rules = this.#rules
    if (rules === undefined) return
    const asked = ask.age < this.#rulesAge ? this.#foundNow(question, ask) : ask
    const { credential } = asked
    const reason = reasonName(response.reason)
    const isFit = wouldGive(rules, question, asked, response)
    if (isFit && reason !== 'ALLOWED')
      this.#keepWords(rules, subjectOf(question, response).api, asked, response)
    if (credential === undefined) return
    const remembered = isFit ? this.#rememberable(asked.age, response) : undefined
    // Once one caller has seen the denial, no caller may get an older allow.
    const isVoid = isFit
      ? this.#isAgainst(reason, credential, remembered !== undefined)
      : !isRefusal(question, asked, response)
    if (isVoid) this.#drop(credential.value)
    // An answer that is on its way may be older.
    if (isVoid && !isFit) this.#age++
    if (remembered === undefined) return
    if (EVERYWHERE.has(reason)) this.#rememberedFrom = response.position
    this.#keep(credential, remembered, isFault(reason) ? reason : 'NONE')
  }

  /** A question that it has asked by other rules, or by none: they may have found another token. */
  #foundNow({ request, credentials, clientAddress = '' }: LocalQuestion, { kind, age }: Ask): Ask {
    if (credentials === undefined) return new Ask(kind, undefined, undefined, age)
    const route = request && this.#rules?.routes?.find(request, headerPairs(credentials))
    return new Ask(kind, this.#credentialIn(credentials, clientAddress), route, age)
  }

  /** Whether what is known of the token is void by that. */
  #isAgainst(reason: LocalReason, { place, value }: NonNullable<Ask['credential']>, isRemembered: boolean) {
    if (reason === 'ADDRESS_NOT_ALLOWED') return !isRemembered
    if (reason === 'WRONG_HEADER') return this.#tokens.get(value)?.holder.place === place
    return isFault(reason)
  }

  #keepWords(rules: LocalRules, api: string, { kind }: Ask, response: wire.CheckResponse): void {
    const { message, header, scheme, token } = response
    const reason = reasonName(response.reason)
    if (this.#denials.size >= DENIALS_MAX) this.#denials.clear()
    this.#denials.set(
      denialKey(api, token?.kind ?? kind, reason),
      rules.denied(api, reason, { message, header, scheme }),
    )
  }

  /** The token of an answer that the rules would have given, if it may be remembered. */
  #rememberable(age: number, response: wire.CheckResponse): wire.VerifiedToken | undefined {
    const { verified, token, position } = response
    if (!verified && !LASTING.has(reasonName(response.reason))) return undefined
    if (token === undefined || position === undefined) return undefined
    // It may rest on a fact that became void since, or that is older than the last notification.
    const from = this.#rememberedFrom
    if (age !== this.#age || from === undefined || isBefore(position, from)) return undefined
    // Of a process that has not read yet which keys are withdrawn, it would stay.
    if (position.basis !== this.#position?.basis) return undefined
    const isOfOthers = this.#accounts.size > 0 && !this.#accounts.has(token.scope?.account ?? '')
    return isOfOthers ? undefined : token
  }

  #keep(
    { place, value, address }: NonNullable<Ask['credential']>,
    token: wire.VerifiedToken,
    fault: Fault,
  ): void {
    const said = new KnownToken(this.#holders.of(place, token), token)
    let known = this.#tokens.get(value)
    if (known === undefined || !known.isSameAs(said)) {
      this.#drop(value)
      known = said
      this.#tokens.set(value, known)
    }
    this.#size -= known.addresses
    known.setFault(address, fault)
    this.#size += known.addresses
    this.#makeRoom()
  }

  /** The oldest go first, unless they were used since the last search. */
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
        (holder.projectId !== undefined && projects.has(holder.projectId)) ||
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

  #ask(kind: string, credential?: Ask['credential'], route?: FoundRoute): Ask {
    return new Ask(kind, credential, route, this.#age)
  }
}

function denialKey(api: string, kind: string, reason: LocalReason): string {
  return `${api}\0${kind}\0${reason}`
}

/** Whether a position is smaller, or has the same number and another time. */
function isBefore(some: wire.Position, other: wire.Position): boolean {
  if (some.change !== other.change) return some.change < other.change
  return some.recordedAt?.getTime() !== other.recordedAt?.getTime()
}
