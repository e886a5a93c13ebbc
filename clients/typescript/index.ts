/**
 * `@portcullis/client`: the client for a running sidecar.
 *
 * @module
 */

export { Client, type ClientOptions, connect } from './client.ts'
export { DEFAULT_ADDRESS } from './default-address.ts'
export type { DirectoryClient } from './directory-client.ts'
export { PortcullisError } from './error.ts'
export type { LocalOptions } from './local-mode.ts'
export type { HttpRequest } from './local-routes.ts'
export type {
  Check,
  CheckAnswer,
  IssuedToken,
  IssueQuestion,
  MatrixAnswer,
  PlanAnswer,
  RequestCheck,
  RequestHeaders,
  RevokedToken,
  VerifiedToken,
} from './values.ts'
