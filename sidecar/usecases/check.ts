/** May this credential open this API? One behaviour for all protocols. */
import type { CredentialHeaders, CredentialReason, Decision, Engine, Scope } from '../../engine/index.ts'
import type { Authority, Verification, VerifiedToken } from '../authority/authority.ts'

/** Claims that the caller already trusts: only the matrix is asked. */
export interface ClaimsQuestion {
  readonly api: string
  readonly kind: string
  readonly scope: Scope | undefined
  readonly target: Scope | undefined
}

/** Headers as they arrived: the credential among them is verified. */
export interface CredentialsQuestion {
  readonly api: string
  readonly headers: CredentialHeaders
  readonly target: Scope | undefined
  /** Where the request came from, for accounts that restrict addresses (§1). */
  readonly clientAddress: string | undefined
}

/** What a check of credentials came to. */
export interface CheckOutcome {
  readonly decision: Decision
  /** The credential as the authority knows it, on denials too. */
  readonly token: VerifiedToken | undefined
  /** Whether an authority vouches for it now. */
  readonly verified: boolean
}

export function checkClaims(engine: Engine, { api, kind, scope, target }: ClaimsQuestion): Decision {
  // `decide` answers a missing scope with INVALID_SCOPE.
  return engine.decide({ api, kind, scope: scope as Scope, target })
}

/**
 * Verifies the credential and decides. Faults are looked for in the order of the reasons' precedence,
 * and the first ends the search.
 *
 * @throws NoAnswer where the authority does not answer
 */
export function checkCredentials(
  engine: Engine,
  authority: Authority,
  question: CredentialsQuestion,
): CheckOutcome | Promise<CheckOutcome> {
  const denied = (reason: CredentialReason, token?: VerifiedToken): CheckOutcome => ({
    decision: engine.deny(question.api, reason),
    token,
    verified: false,
  })
  // An unknown API comes before every other fault; nobody has to be asked about the credential.
  if (!engine.apis.has(question.api)) return denied('CREDENTIAL_MISSING')

  const found = engine.extract(question.headers)
  if (!found.ok) return denied(found.reason)
  if (!headerFits(engine, found.header, authority.formOf(found.value))) return denied('WRONG_HEADER')

  const decided = (verification: Verification): CheckOutcome => {
    if (!verification.ok) return denied(verification.reason, verification.token)
    const { token } = verification
    const kind = engine.tokenKinds.get(token.kind)
    if (kind !== undefined && kind.header.toLowerCase() !== found.header) return denied('WRONG_HEADER', token)
    const { scope, subject } = token
    const decision = engine.decide({
      api: question.api,
      kind: token.kind,
      scope,
      target: question.target,
      holder: subject.type,
    })
    return { decision, token, verified: true }
  }
  const verification = authority.verify(found.value, engine.tokenKinds, question.clientAddress)
  return verification instanceof Promise ? verification.then(decided) : decided(verification)
}

/** Whether some kind that is obtained in this way travels in this header. A form that tells nothing fits any. */
function headerFits(engine: Engine, header: string, obtainedBy: ReturnType<Authority['formOf']>): boolean {
  if (obtainedBy === undefined) return true
  let fitting = FITTING_HEADERS.get(engine)
  if (fitting === undefined) {
    fitting = new Set(
      Array.from(engine.tokenKinds.values(), (kind) => `${kind.obtained.by} ${kind.header.toLowerCase()}`),
    )
    FITTING_HEADERS.set(engine, fitting)
  }
  return fitting.has(`${obtainedBy} ${header}`)
}

/** How tokens are obtained, and in which headers those travel; made once for each engine. */
const FITTING_HEADERS = new WeakMap<Engine, Set<string>>()
