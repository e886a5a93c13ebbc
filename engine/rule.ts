/**
 * The rule, whole: the reason for the facts of a question. Pure and total. Nothing else in the product
 * decides; `compile` asks this function about every combination of facts that a matrix can have, and an
 * engine only looks the answer up.
 */
import type { ScopeLevel } from './matrix.ts'
import type { CredentialReason, Reason } from './reasons.ts'

/**
 * Everything that the rule looks at. The type of the token's holder is not among it: that only brings advice.
 */
export interface Facts {
  /** Whether the API is in the matrix. `public`: it is, and needs no token. */
  readonly api: 'known' | 'public' | 'unknown'
  /** The fault of the credential. `verified`: nothing, or its claims are taken as given. */
  readonly credential: CredentialReason | 'verified'
  /** The scope that tokens of the kind are bound to. `unknown`: the kind is not in the matrix. */
  readonly kind: ScopeLevel | 'unknown'
  /** The level of the token's scope. `invalid`: no account, or an empty name. */
  readonly scope: ScopeLevel | 'invalid'
  /** Whether the API's row lists the kind. */
  readonly table: 'accepts' | 'rejects'
  /** The side that rules where a conflict contests the cell. */
  readonly conflict: 'none' | 'table' | 'prose'
  /** Whether contested cells are denied. */
  readonly strict: boolean
  /** Where the resource is, seen from the token's scope. A target in no project is in another project. */
  readonly target: 'not_given' | 'same' | 'other_project' | 'other_account'
}

/** The first fault, in descending precedence; `ALLOWED` where there is none. */
export function reasonOf(facts: Facts): Reason {
  if (facts.api === 'unknown') return 'UNKNOWN_API'
  if (facts.api === 'public' && facts.credential === 'CREDENTIAL_MISSING') return 'ALLOWED'
  if (facts.credential !== 'verified') return facts.credential
  if (facts.kind === 'unknown') return 'UNKNOWN_TOKEN_KIND'
  if (facts.scope !== facts.kind) return 'INVALID_SCOPE'
  // A conflict that is resolved for the prose reverses the table.
  const accepted = (facts.table === 'accepts') !== (facts.conflict === 'prose')
  if (!accepted) return 'TOKEN_KIND_NOT_ACCEPTED'
  if (facts.strict && facts.conflict !== 'none') return 'CONTESTED'
  if (facts.target === 'other_account') return 'ACCOUNT_MISMATCH'
  // A token of a whole account acts on every project of it.
  if (facts.kind === 'project' && facts.target === 'other_project') return 'PROJECT_MISMATCH'
  return 'ALLOWED'
}
