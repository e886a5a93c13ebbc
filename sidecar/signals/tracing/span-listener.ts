/** Tells spans of decisions. */
import type { Decision, Extraction } from '../../../engine/index.ts'
import type { VerifiedToken } from '../../authority/authority.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Attributes, Span, SpanFacts, Tracer } from '../../base/tracing.ts'
import type { DecisionListener, OwnToken } from '../../usecases/asker.ts'
import type { CheckOutcome, ClaimsQuestion, CredentialsQuestion } from '../../usecases/questions.ts'
import type { ShadowDirection } from '../../usecases/shadow.ts'

type Next = DecisionListener | undefined

/** Most decisions of one call that have separate spans. A stream may ask for millions. */
const DECISION_SPANS_MAX = 100

/** Receives events, and does nothing. */
const NOBODY: DecisionListener = {
  startMs: () => 0,
  ofClaims: () => {},
  ofKind: () => {},
  ofCredentials: () => {},
  ofOwnToken: () => {},
}

const VERIFY: SpanFacts = { name: 'verify', kind: 'internal', attributes: {} }

/** Of a call that asks for one decision, which the span itself records. */
export class OneDecision implements DecisionListener {
  protected readonly tracer: Tracer
  protected readonly span: Span
  protected readonly next: Next

  constructor(tracer: Tracer, span: Span, next: Next) {
    this.tracer = tracer
    this.span = span
    this.next = next
  }

  startMs(): number {
    return this.next?.startMs() ?? 0
  }

  verifying<T>(verify: () => MaybePromise<T>): MaybePromise<T> {
    return this.tracer.within(() => VERIFY, verify)
  }

  ofClaims(question: ClaimsQuestion, decision: Decision, difference?: ShadowDirection): void {
    this.next?.ofClaims(question, decision, difference)
    this.tell(question.api, question.kind, decision)
  }

  ofKind(api: string, kind: string, decision: Decision, difference?: ShadowDirection): void {
    this.next?.ofKind(api, kind, decision, difference)
    this.tell(api, kind, decision)
  }

  ofCredentials(
    question: CredentialsQuestion,
    found: Extraction | undefined,
    outcome: CheckOutcome,
    startMs: number,
    difference?: ShadowDirection,
  ): void {
    this.next?.ofCredentials(question, found, outcome, startMs, difference)
    const { decision, token } = outcome
    this.tell(question.api, token?.kind, decision, token)
  }

  /** The sidecar's own credential is one more decision of the call. */
  ofOwnToken(
    api: string,
    token: OwnToken | undefined,
    decision: Decision,
    difference?: ShadowDirection,
  ): void {
    this.next?.ofOwnToken(api, token, decision, difference)
    this.span.child(checkOf(attributesOf(api, token?.kind, decision))).end()
  }

  protected tell(
    api: string,
    kind: string | undefined,
    decision: Decision,
    token?: VerifiedToken | undefined,
  ): void {
    this.span.set(attributesOf(api, kind, decision, token))
  }
}

/** Of a call that asks for any number of decisions: each has a separate span, up to a bound. */
export class SeveralDecisions extends OneDecision {
  #decisions = 0

  forOne(): DecisionListener {
    if (this.#count() > DECISION_SPANS_MAX) return this.next ?? NOBODY
    return new Check(this.tracer, this.span.child(checkOf({})), this.next)
  }

  override ofOwnToken(
    api: string,
    token: OwnToken | undefined,
    decision: Decision,
    difference?: ShadowDirection,
  ): void {
    this.next?.ofOwnToken(api, token, decision, difference)
    this.tell(api, token?.kind, decision)
  }

  protected override tell(api: string, kind: string | undefined, decision: Decision): void {
    if (this.#count() <= DECISION_SPANS_MAX) this.span.child(checkOf(attributesOf(api, kind, decision))).end()
  }

  #count(): number {
    this.#decisions++
    this.span.set({ 'portcullis.decisions': this.#decisions })
    return this.#decisions
  }
}

/**
 * Of one question about credentials among several. The span ends with its decision, or with an error in its
 * place.
 */
class Check extends OneDecision {
  override verifying<T>(verify: () => MaybePromise<T>): MaybePromise<T> {
    const failed = (error: unknown): never => {
      this.span.erred(error)
      this.span.end()
      throw error
    }
    try {
      const verified = this.span.run(() => super.verifying(verify))
      return verified instanceof Promise ? verified.catch(failed) : verified
    } catch (error) {
      return failed(error)
    }
  }

  override ofCredentials(...told: Parameters<DecisionListener['ofCredentials']>): void {
    try {
      super.ofCredentials(...told)
    } catch (error) {
      // The decision is not an answer where it must be logged and cannot be.
      this.span.erred(error)
      throw error
    } finally {
      this.span.end()
    }
  }
}

function checkOf(attributes: Attributes): SpanFacts {
  return { name: 'check', kind: 'internal', attributes }
}

function attributesOf(
  api: string,
  kind: string | undefined,
  { allowed, reason, digest, conflicts }: Decision,
  token?: VerifiedToken | undefined,
): Attributes {
  return {
    'portcullis.api': api,
    'portcullis.kind': kind,
    'portcullis.allowed': allowed,
    'portcullis.reason': reason,
    'portcullis.matrix.digest': digest,
    'portcullis.contested': conflicts.length > 0 || undefined,
    'portcullis.subject.id': token?.subject.id,
    'portcullis.subject.type': token?.subject.type,
  }
}
