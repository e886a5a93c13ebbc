/**
 * `@portcullis/engine`: which credential opens which API. Pure, synchronous, without dependencies. It runs in
 * Node, a browser, a worker or an edge runtime.
 *
 * @module
 */
export { type CompileOptions, compile, compileInSteps, type Engine } from './compile.ts'
export { completeMatrix, type MatrixProblem, matrixProblems } from './consistency.ts'
export {
  type CredentialHeaders,
  type CredentialPlace,
  carries,
  credentialPlaces,
  type Extraction,
  fieldValue,
} from './credentials.ts'
export type { CellHandle } from './decide.ts'
export type {
  AcceptedKind,
  CompiledApi,
  CompiledKind,
  Decision,
  NamedConflict,
  Question,
  Scope,
} from './decision.ts'
export { DENIAL_STATUSES, type Denial, type Denied, denialOf } from './denial.ts'
export {
  buildIssuanceBody,
  type FieldFault,
  type Issuance,
  type IssuanceBody,
  type IssuanceReading,
  readIssuanceBody,
} from './issuance.ts'
export { finish, type Steps } from './large.ts'
export type {
  Api,
  Cell,
  Claim,
  Conflict,
  ConflictType,
  Matrix,
  MatrixInput,
  MatrixSource,
  Place,
  ScopeLevel,
  Statement,
  TokenKind,
} from './matrix.ts'
export { namesMeant } from './meant.ts'
export { placesExpected, withArticle, withCarriage } from './messages.ts'
export {
  type Carried,
  carriageOf,
  credentialHeaders,
  firstPlace,
  placeFrom,
  placeName,
  placeNamed,
  placesOf,
  schemeOf,
} from './places.ts'
export { CREDENTIAL_REASONS, type CredentialReason, REASONS, type Reason } from './reasons.ts'
