/**
 * `portcullis`: which credential opens which API. Pure, synchronous, without dependencies; runs in
 * Node, a browser, a worker or an edge runtime.
 *
 * @module
 */
export { type CompileOptions, compile, type Engine } from './compile.ts'
export { CREDENTIAL_LENGTH_MAX, type CredentialHeaders, type Extraction } from './credentials.ts'
export type { AcceptedKind, CompiledApi, Decision, NamedConflict, Question, Scope } from './decision.ts'
export {
  buildIssuanceBody,
  type FieldFault,
  type Issuance,
  type IssuanceBody,
  type IssuanceReading,
  readIssuanceBody,
} from './issuance.ts'
export type {
  Api,
  Cell,
  Claim,
  Conflict,
  ConflictType,
  Matrix,
  ScopeLevel,
  Statement,
  TokenKind,
} from './matrix.ts'
export { CREDENTIAL_REASONS, type CredentialReason, REASONS, type Reason } from './reasons.ts'
