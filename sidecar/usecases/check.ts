/** May this credential open this API? One behaviour for all protocols. */
import {
  type CredentialPlace,
  type CredentialReason,
  credentialPlaces,
  type Decision,
  type Engine,
  type Extraction,
  type Scope,
} from '../../engine/index.ts'
import type { Verification, VerifiedToken, Verifier } from '../authority/authority.ts'
import type { Asker, DecisionListener } from './asker.ts'
import type { Deciding } from './capabilities.ts'
import type { CheckOutcome, ClaimsQuestion, CredentialsQuestion } from './questions.ts'

export interface Verifying extends Deciding {
  readonly authority: Verifier
  /** The embedded authority and the upstreams that are configured to verify. */
  readonly verifier: Verifier
}

/**
 * Decides about claims: the answer is the engine's.
 *
 * @param listener as in `Asker`
 * @throws CallError where the decision must be logged and cannot be
 */
export function checkClaims(
  { engine }: Deciding,
  question: ClaimsQuestion,
  listener: DecisionListener | undefined,
): Decision {
  const { api, kind, scope, target } = question
  // `decide` answers a missing scope with INVALID_SCOPE.
  const decision = engine.decide({ api, kind, scope: scope as Scope, target })
  listener?.ofClaims(question, decision)
  return decision
}

/** The account of a token without a holder. The matrix does not look at it. */
const SOMEWHERE = 'any'

/**
 * Decides about a kind of token, for any scope of the token, and any owner of the resource:
 * only the matrix is asked.
 *
 * @param listener as in `Asker`
 * @throws CallError where the decision must be logged and cannot be
 */
export function checkKind(
  { engine }: Deciding,
  { api, kind }: Pick<ClaimsQuestion, 'api' | 'kind'>,
  listener: DecisionListener | undefined,
): Decision {
  const ofProject = engine.tokenKinds.get(kind)?.scopeLevel === 'project'
  const scope = { account: SOMEWHERE, project: ofProject ? SOMEWHERE : undefined }
  const decision = engine.decide({ api, kind, scope })
  listener?.ofKind(api, kind, decision)
  return decision
}

/** Decides about a token that an authority has verified. No listener hears of it. */
export function checkVerified(
  { engine }: Deciding,
  { kind, scope, subject }: VerifiedToken,
  { api, target }: Pick<CredentialsQuestion, 'api' | 'target'>,
): Decision {
  return engine.decide({ api, kind, scope, target, holder: subject.type })
}

/**
 * How long an answer about a token that an authority has verified may be reused, in milliseconds: never past
 * its expiry.
 */
export function reusableForMs(
  { expiresAtMs = Number.POSITIVE_INFINITY }: VerifiedToken,
  cacheForMs: number,
  nowMs: number,
): number {
  return Math.min(cacheForMs, Math.max(0, expiresAtMs - nowMs))
}

/**
 * Verifies the credential and decides. Faults are looked for in the order of the reasons' precedence,
 * and the first ends the search.
 *
 * @throws CallError where no authority verifies the credential and one of them does not answer, and where
 * the decision must be logged and cannot be
 */
export function checkCredentials(
  services: Verifying,
  question: CredentialsQuestion,
  { connection, listener: told }: Asker,
): CheckOutcome | Promise<CheckOutcome> {
  const { engine, authority, verifier } = services
  const listener = told?.forOne?.() ?? told
  const startMs = listener?.startMs() ?? 0
  let found: Extraction | undefined
  const answered = (outcome: CheckOutcome): CheckOutcome => {
    listener?.ofCredentials(question, found, outcome, startMs)
    return outcome
  }
  const denied = (reason: CredentialReason, token?: VerifiedToken): CheckOutcome =>
    answered({
      decision: engine.deny(question.api, reason, token?.kind, token?.subject.type),
      token,
      verified: false,
    })
  // An unknown API comes before every other fault; no authority needs to be asked about the credential.
  // Survives: `'CREDENTIAL_MISSING'` → `""`. Whatever the fault: a denial for an unknown API says just that.
  if (!engine.apis.has(question.api)) return denied('CREDENTIAL_MISSING')

  found = engine.extract(question.headers)
  if (!found.ok) return denied(found.reason)
  const { value } = found
  // The places where it was looked for are those of the kinds.
  const place = placesOf(engine).get(found.place) as CredentialPlace
  const obtainedBy = authority.recognize(value, engine.tokenKinds)
  // A form without information fits any place.
  if (obtainedBy !== undefined && !place.obtainedBy.has(obtainedBy)) return denied('WRONG_HEADER')

  const decided = (verification: Verification): CheckOutcome => {
    if (!verification.ok) return denied(verification.reason, verification.token)
    const { token } = verification
    const prefix = place.prefixes.get(token.kind)
    // A kind that this matrix does not know is for `decide` to say.
    // Survives: `prefix === undefined` → `false`. No token begins with the text `undefined`.
    if ((prefix === undefined || !value.startsWith(prefix)) && engine.tokenKinds.has(token.kind))
      return denied('WRONG_HEADER', token)
    return answered({ decision: checkVerified(services, token, question), token, verified: true })
  }
  // A token that only a control panel gives cannot be verified at an identity endpoint, so it is sent to
  // none.
  const asked = place.obtainedBy.has('issue') ? verifier : authority
  const from = { clientAddress: question.clientAddress, connection }
  const verification =
    listener?.verifying === undefined
      ? asked.verify(value, engine.tokenKinds, from)
      : listener.verifying(() => asked.verify(value, engine.tokenKinds, from))
  return verification instanceof Promise ? verification.then(decided) : decided(verification)
}

/** Made once for each engine. */
const PLACES = new WeakMap<Engine, ReadonlyMap<string, CredentialPlace>>()

function placesOf(engine: Engine): ReadonlyMap<string, CredentialPlace> {
  let places = PLACES.get(engine)
  // Survives: `places === undefined` → `true`. It only spares to make the same places again.
  if (places === undefined) {
    places = credentialPlaces(engine.tokenKinds.values())
    // Survives: `PLACES.set(engine, places)` → `;`. It only spares to make the same places again.
    PLACES.set(engine, places)
  }
  return places
}
