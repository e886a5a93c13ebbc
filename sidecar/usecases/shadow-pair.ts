/**
 * Two engines side by side: where would the shadow's answer differ? It is asked only where the answers
 * can differ.
 */
import {
  type CredentialPlace,
  credentialPlaces,
  type Decision,
  type Engine,
  type Extraction,
  type TokenKind,
} from '../../engine/index.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import { kindOfScope } from '../authority/kind-of-scope.ts'
import { isWrittenAs, withoutPrefix } from '../authority/own-form.ts'
import type { OwnToken } from './asker.ts'
import { checkClaims, checkKind, checkVerified } from './check.ts'
import type { CheckOutcome, ClaimsQuestion, CredentialsQuestion } from './questions.ts'
import type { ShadowDirection } from './shadow.ts'

/** `undefined`: the answer would be the same, as far as a caller acts on it. */
export type Difference = ShadowDirection | undefined

type Places = ReadonlyMap<string, CredentialPlace>

export class EnginePair {
  readonly #inForce: Engine
  readonly #shadow: Engine
  /** By API that one of the two has: whether a cell of it differs. Filled when it is asked about first. */
  readonly #differs = new Map<string, boolean>()
  /**
   * By decision: whether the shadow answers alike whatever was asked. Many questions get the same object, and
   * most of them cost this look-up alone.
   */
  readonly #alike = new Map<Decision, boolean>()
  readonly #places: Places
  readonly #shadowPlaces: Places
  /** Whether both find the same credential among any headers. */
  readonly #isFoundAlike: boolean
  /** Whether both have the same kinds in the same order, which travel and are verified alike. */
  readonly #areKindsAlike: boolean
  /** Kinds of the shadow that an authority may judge otherwise under it. */
  readonly #judgedOtherwise: ReadonlySet<string>
  /** The prefixes of tokens under the shadow alone. */
  readonly #newPrefixes: readonly string[]
  /** The APIs that need no token under the shadow. */
  readonly #open: ReadonlySet<string>
  /** Whether kinds are issued for scopes of a level under the shadow alone. */
  readonly #hasNewLevel: boolean

  constructor(inForce: Engine, shadow: Engine) {
    this.#inForce = inForce
    this.#open = new Set([...shadow.apis.values()].filter((api) => api.public).map(({ id }) => id))
    this.#shadow = shadow
    this.#places = credentialPlaces(inForce.tokenKinds.values())
    this.#shadowPlaces = credentialPlaces(shadow.tokenKinds.values())
    this.#isFoundAlike = textOf([...this.#places.keys()]) === textOf([...this.#shadowPlaces.keys()])
    this.#areKindsAlike = kindsOf(inForce) === kindsOf(shadow)
    this.#judgedOtherwise = new Set(
      [...shadow.tokenKinds.values()]
        .filter((kind) => judgedBy(kind) !== judgedBy(inForce.tokenKinds.get(kind.id)))
        .map(({ id }) => id),
    )
    const known = new Set(['', ...prefixesOf(inForce)])
    this.#newPrefixes = prefixesOf(shadow).filter((prefix) => !known.has(prefix))
    const levels = new Set(levelsOf(inForce))
    this.#hasNewLevel = levelsOf(shadow).some((level) => !levels.has(level))
  }

  ofClaims(question: ClaimsQuestion, decision: Decision): Difference {
    if (this.#alike.get(decision) ?? this.#isAlike(question.api, question.kind, decision)) return undefined
    return directionOf(decision.allowed, checkClaims({ engine: this.#shadow }, question, undefined).allowed)
  }

  ofKind(api: string, kind: string, decision: Decision): Difference {
    if (this.#alike.get(decision) ?? this.#isAlike(api, kind, decision)) return undefined
    return directionOf(
      decision.allowed,
      checkKind({ engine: this.#shadow }, { api, kind }, undefined).allowed,
    )
  }

  ofCredentials(
    question: CredentialsQuestion,
    found: Extraction | undefined,
    outcome: CheckOutcome,
  ): Difference {
    const { decision, token, verified } = outcome
    if (this.#areKindsAlike && found !== undefined) {
      // Both find the same fault.
      if (!found.ok) return directionOf(decision.allowed, this.#isOpen(question.api, found))
      // Survives: `token === undefined` → `false`. A token that is verified is there.
      if (!verified || token === undefined) return undefined
      if (this.#alike.get(decision) ?? this.#isAlike(question.api, token.kind, decision)) return undefined
    }
    const shadow = this.#shadow
    const { allowed } = decision
    if (!shadow.apis.has(question.api)) return directionOf(allowed, false)
    const seen = found !== undefined && this.#isFoundAlike ? found : shadow.extract(question.headers)
    if (!seen.ok) return directionOf(allowed, this.#isOpen(question.api, seen))
    // This credential was not looked at, or is not the one that was.
    if (found?.ok !== true || found.value !== seen.value) return 'unknown'
    const allows = this.#allows(question, seen, found, outcome)
    return allows === undefined ? 'unknown' : directionOf(allowed, allows)
  }

  /** Whether the shadow allows a request with this fault: one without a token. */
  #isOpen(api: string, fault: Extract<Extraction, { ok: false }>): boolean {
    return fault.reason === 'CREDENTIAL_MISSING' && this.#open.has(api)
  }

  /** @param token `undefined`: none was sent */
  ofOwnToken(api: string, token: OwnToken | undefined, { allowed }: Decision): Difference {
    if (!this.#differsFor(api)) return undefined
    const shadow = this.#shadow
    // Survives: `token !== undefined` → `true`. Without a token, no kind is asked about, and none is allowed.
    if (token !== undefined && shadow.decide({ api, ...token }).allowed) return directionOf(allowed, true)
    // Under the shadow, the sidecar would choose a token of another kind, which it may or may not get.
    if ((shadow.apis.get(api)?.accepted.length ?? 0) > 0) return 'unknown'
    return directionOf(allowed, false)
  }

  /** Whether the shadow allows it; `undefined`: that cannot be said without asking an authority again. */
  #allows(
    question: CredentialsQuestion,
    seen: Extract<Extraction, { ok: true }>,
    found: Extract<Extraction, { ok: true }>,
    { decision, token, verified }: CheckOutcome,
  ): boolean | undefined {
    const { value } = seen
    // The places where it was looked for are those of the kinds.
    const place = this.#shadowPlaces.get(seen.place) as CredentialPlace
    if (token === undefined) return this.#mayBeKnown(value, place, found) ? undefined : false
    const kind = this.#kindOf(token)
    const isJudgedOtherwise = token.authority === undefined && this.#judgedOtherwise.has(kind)
    const isGenuine =
      verified ||
      // It is found after the authority has verified a token.
      decision.reason === 'WRONG_HEADER' ||
      // A holder who lacks the permission that the kind needs now may have the one that it needs then.
      (isJudgedOtherwise && decision.reason === 'CREDENTIAL_REVOKED')
    // Other facts about the token do not depend on the place.
    if (!isGenuine) return false
    const prefix = place.prefixes.get(kind)
    // Survives: `prefix === undefined` → `false`. No token begins with the text `undefined`.
    if (prefix === undefined || !value.startsWith(prefix)) return false
    const { allowed } = checkVerified({ engine: this.#shadow }, { ...token, kind }, question)
    if (allowed && isJudgedOtherwise) return undefined
    const { tokenKinds } = this.#shadow
    return (
      allowed &&
      (token.authority !== undefined ||
        isWrittenAs(tokenKinds.get(kind), value, withoutPrefix(value, tokenKinds)))
    )
  }

  /** Whether an authority may verify, under the shadow, a token that is unknown now. */
  #mayBeKnown(
    value: string,
    { obtainedBy }: CredentialPlace,
    found: Extract<Extraction, { ok: true }>,
  ): boolean {
    const asked = this.#places.get(found.place) as CredentialPlace
    return (
      [...obtainedBy].some((by) => !asked.obtainedBy.has(by)) ||
      // An upstream verifies tokens of a scope that a kind is issued for.
      (this.#hasNewLevel && obtainedBy.has('issue')) ||
      this.#newPrefixes.some((prefix) => value.startsWith(prefix))
    )
  }

  /** Of which kind a token is under the shadow. An upstream says only what it is bound to. */
  #kindOf({ kind, scope, authority }: VerifiedToken): string {
    // Without a kind, there is no place for the token.
    return authority === undefined
      ? kind
      : (kindOfScope(scope, this.#shadow.tokenKinds.values())?.id as string)
  }

  /** Whether the shadow answers alike whatever gets this decision. */
  #isAlike(api: string, kind: string, decision: Decision): boolean {
    // A decision that names the header of the kind is about one cell, and others are about the whole row.
    const isAlike =
      !this.#differsFor(api) ||
      (decision.header !== '' &&
        allowAlike(this.#inForce.reasons(api, kind), this.#shadow.reasons(api, kind)))
    // All unknown APIs have the same decision.
    if (decision.reason !== 'UNKNOWN_API') this.#alike.set(decision, isAlike)
    return isAlike
  }

  /** An API that neither has is denied by both, and not remembered: clients may name any number of them. */
  #differsFor(api: string): boolean {
    return this.#differs.get(api) ?? this.#compare(api)
  }

  #compare(api: string): boolean {
    const [inForce, shadow] = [this.#inForce, this.#shadow]
    if (!inForce.apis.has(api) && !shadow.apis.has(api)) return false
    const kinds = [...inForce.tokenKinds.keys(), ...shadow.tokenKinds.keys()]
    const differs = kinds.some((kind) => !allowAlike(inForce.reasons(api, kind), shadow.reasons(api, kind)))
    this.#differs.set(api, differs)
    return differs
  }
}

function directionOf(allowed: boolean, shadowAllows: boolean): Difference {
  if (allowed === shadowAllows) return undefined
  return shadowAllows ? 'opened' : 'closed'
}

function allowAlike(one: readonly string[], other: readonly string[]): boolean {
  return one.every((reason, situation) => (reason === 'ALLOWED') === (other[situation] === 'ALLOWED'))
}

function kindsOf({ tokenKinds }: Engine): string {
  return textOf(
    Array.from(tokenKinds.values(), (kind) => [kind.id, kind.places, kind.scopeLevel, judgedBy(kind)]),
  )
}

/** The fields of a kind by which an authority judges its tokens. */
function judgedBy(kind: TokenKind | undefined): string | undefined {
  return kind && textOf([kind.obtained.by, kind.prefix, kind.permissionScopes])
}

function prefixesOf({ tokenKinds }: Engine): string[] {
  // Survives: `''` → `"Stryker was here!"`. No token has a space in it.
  return [...tokenKinds.values()].flatMap(({ places }) => places.map(({ prefix = '' }) => prefix))
}

/** Of the kinds that are issued. */
function levelsOf({ tokenKinds }: Engine): string[] {
  return [...tokenKinds.values()]
    .filter(({ obtained }) => obtained.by === 'issue')
    .map(({ scopeLevel }) => scopeLevel)
}

function textOf(value: unknown): string {
  return JSON.stringify(value)
}
