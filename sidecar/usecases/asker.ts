/** The asker of decisions, and the listener to the answers. */
import type { Decision, Extraction, Scope } from '../../engine/index.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { CheckOutcome, ClaimsQuestion, CredentialsQuestion } from './questions.ts'
import type { Shadow, ShadowDirection } from './shadow.ts'

/** The asker. Each protocol must say both. */
export interface Asker {
  /**
   * The same object for all questions of a connection: connections take turns where a credential is costly.
   * `undefined`: there is none.
   */
  readonly connection: object | undefined
  /** `undefined`: no listener. */
  readonly listener: DecisionListener | undefined
}

/**
 * Receives every decision before the asker gets it.
 *
 * Each method whose name begins with `of` throws a CallError where the decision must be logged and cannot be:
 * then there is no answer. Its `difference` is that of the shadow's answer; `undefined`:
 * the same, or there is no shadow.
 */
export interface DecisionListener {
  /** A clock for `ofCredentials`, in milliseconds. */
  startMs(): number
  ofClaims(question: ClaimsQuestion, decision: Decision, difference?: ShadowDirection): void
  /** Whatever the token is bound to. */
  ofKind(api: string, kind: string, decision: Decision, difference?: ShadowDirection): void
  /** @param found the credential; `undefined`: none was looked for */
  ofCredentials(
    question: CredentialsQuestion,
    found: Extraction | undefined,
    outcome: CheckOutcome,
    startMs: number,
    difference?: ShadowDirection,
  ): void
  /** Of a token that the sidecar itself sends. @param token `undefined`: no token opens the API */
  ofOwnToken(api: string, token: OwnToken | undefined, decision: Decision, difference?: ShadowDirection): void
  /** Listens to one question about credentials, in place of this one. `undefined`: this one listens. */
  forOne?(): DecisionListener
  /** Verifies the credential. `undefined`: it is not traced. */
  verifying?<T>(verify: () => MaybePromise<T>): MaybePromise<T>
}

/** Hears first of every decision, and says to the next listener what the shadow would have answered. */
export interface ListeningShadow extends Shadow {
  listener(next: DecisionListener | undefined): DecisionListener
  /** Listeners for the contexts of calls. Calls whose next listeners are the same may have the same one. */
  listeners<Context>(
    nextOf: ((context: Context) => DecisionListener | undefined) | undefined,
  ): (context: Context) => DecisionListener
}

export interface OwnToken {
  readonly kind: string
  readonly scope: Scope
}
