/** The record of a token that the sidecar has verified. There are many, so each field counts. */
import type { Scope } from '../../engine/index.ts'
import type { CredentialReason } from '../../engine/reasons.ts'
import type * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import { isFault, type LocalRules, type Verdict } from './local-rules.ts'
import { type CheckAnswer, type VerifiedToken, verifiedToken } from './values.ts'

/** The fault of a token at an address. */
export type Fault = CredentialReason | 'NONE'

/** Most addresses of one token: no token takes the place of all others. */
const ADDRESSES_MAX = 100

/** Most holders whose tokens share what they have in common. */
const HOLDERS_MAX = 1_000

const NONE: readonly never[] = Object.freeze([])

/** The common fields of one holder's tokens that have one kind, scope and place among the headers. */
class Holder {
  /** All of it as one text. */
  readonly key: string
  /** Where it was: the header and the scheme, in lower case. */
  readonly place: string
  readonly kind: string
  readonly scope: Scope
  readonly subject: VerifiedToken['subject']
  readonly roles: readonly string[]
  readonly authority: string | undefined
  readonly projectId: string | undefined
  #rules: LocalRules | undefined
  #column = 0

  constructor(key: string, place: string, token: wire.VerifiedToken) {
    const { kind, scope, subject, roles, authority, projectId } = verifiedToken(token)
    this.key = key
    this.place = place
    this.kind = kind
    // Answers share them, and a program could change them.
    this.scope = Object.freeze(scope)
    this.subject = Object.freeze({ ...subject })
    this.roles = Object.freeze([...roles])
    this.authority = authority
    this.projectId = projectId
  }

  /** The column of its kind. */
  columnIn(rules: LocalRules): number {
    if (this.#rules !== rules) {
      this.#rules = rules
      this.#column = rules.column(this.kind)
    }
    return this.#column
  }
}

export class Holders {
  readonly #holders = new Map<string, Holder>()

  /** The one of a token. */
  of(place: string, token: wire.VerifiedToken): Holder {
    const { kind, scope, subject, roles, authority, projectId } = token
    const key = JSON.stringify([place, kind, scope, subject, roles, authority, projectId])
    const known = this.#holders.get(key)
    if (known !== undefined) return known
    if (this.#holders.size >= HOLDERS_MAX) this.#holders.clear()
    const holder = new Holder(key, place, token)
    this.#holders.set(key, holder)
    return holder
  }

  clear(): void {
    this.#holders.clear()
  }
}

export class KnownToken {
  readonly holder: Holder
  readonly tokenId: string
  /** The tokens that it rests on. */
  readonly derivedFrom: readonly string[]
  /** By the time of day of the sidecar, in milliseconds since 1970. `undefined`: never. */
  readonly expiresAtMs: number | undefined
  readonly #issuedAtMs: number | undefined
  /** The first address where nothing is wrong with it. Most tokens come from one. */
  #fineAt: string | undefined
  /** All other addresses. */
  #faults: Map<string, Fault> | undefined
  /** Since the last search for tokens that can go. */
  isUsed = false

  constructor(holder: Holder, { tokenId, derivedFrom, expiresAt, issuedAt }: wire.VerifiedToken) {
    this.holder = holder
    this.tokenId = tokenId
    this.derivedFrom = derivedFrom.length === 0 ? NONE : Object.freeze([...derivedFrom])
    this.expiresAtMs = expiresAt?.getTime()
    this.#issuedAtMs = issuedAt?.getTime()
    this.#fineAt = undefined
    this.#faults = undefined
  }

  /** Whether the sidecar said the same of it. */
  isSameAs(said: KnownToken): boolean {
    return (
      this.holder.key === said.holder.key &&
      this.tokenId === said.tokenId &&
      this.expiresAtMs === said.expiresAtMs &&
      this.#issuedAtMs === said.#issuedAtMs &&
      this.derivedFrom.join('\0') === said.derivedFrom.join('\0')
    )
  }

  /** At how many addresses it is known. */
  get addresses(): number {
    return (this.#fineAt === undefined ? 0 : 1) + (this.#faults?.size ?? 0)
  }

  /** `undefined`: it is not known. */
  faultAt(address: string): Fault | undefined {
    return this.#fineAt === address ? 'NONE' : this.#faults?.get(address)
  }

  setFault(address: string, fault: Fault): void {
    if (this.addresses >= ADDRESSES_MAX && this.faultAt(address) === undefined)
      this.#fineAt = this.#faults = undefined
    if (this.#fineAt === address) this.#fineAt = undefined
    if (this.#fineAt === undefined && fault === 'NONE') {
      this.#faults?.delete(address)
      this.#fineAt = address
    } else {
      this.#faults ??= new Map()
      this.#faults.set(address, fault)
    }
  }

  /** A new value for each answer: a program may change it. */
  toToken(): VerifiedToken {
    const { holder, expiresAtMs } = this
    const issuedAtMs = this.#issuedAtMs
    return {
      kind: holder.kind,
      scope: holder.scope,
      subject: holder.subject,
      tokenId: this.tokenId,
      issuedAt: issuedAtMs === undefined ? undefined : new Date(issuedAtMs),
      expiresAt: expiresAtMs === undefined ? undefined : new Date(expiresAtMs),
      roles: holder.roles,
      authority: holder.authority,
      projectId: holder.projectId,
      derivedFrom: this.derivedFrom,
    }
  }
}

/** The answer of a verdict for a token; `undefined`: of no token that is known. */
export function answerOf(verdict: Verdict, known: KnownToken | undefined): CheckAnswer {
  const { allowed, reason } = verdict
  // An API that is not in the matrix comes before all that is known of the token.
  const isSaid = known !== undefined && reason !== 'UNKNOWN_API'
  return {
    allowed,
    reason,
    message: verdict.message,
    header: verdict.header,
    scheme: verdict.scheme,
    accepted: verdict.accepted,
    conflicts: NONE,
    advice: verdict.advice,
    digest: verdict.digest,
    strict: verdict.strict,
    rulesDigest: verdict.rulesDigest,
    verified: isSaid && (allowed || !isFault(reason)),
    token: isSaid ? known.toToken() : undefined,
    route: undefined,
    cacheForMs: 0,
  }
}
