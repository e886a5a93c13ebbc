/**
 * `@portcullis/client`: the client for a running sidecar.
 *
 * @module
 */

export { DEFAULT_ADDRESS } from './address.ts'
export { Client, type ClientOptions, connect } from './client.ts'
export type { DirectoryClient } from './directory.ts'
export { PortcullisError } from './error.ts'
export type {
  Check,
  CheckAnswer,
  IssuedToken,
  IssueQuestion,
  MatrixAnswer,
  PlanAnswer,
  RequestHeaders,
  RevokedToken,
  VerifiedToken,
} from './values.ts'
