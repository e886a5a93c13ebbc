/** Reads and writes the messages between this sidecar and its hub. */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { ErrorInfo } from '../../../proto/gen/google/rpc/error_details.ts'
import { Status } from '../../../proto/gen/google/rpc/status.ts'
import * as wire from '../../../proto/gen/portcullis/v1/authorization.ts'
import { GetAccountRequest } from '../../../proto/gen/portcullis/v1/directory.ts'
import { CALL_ERRORS, CallError, type CallErrorReason, callError } from '../../base/call-error.ts'
import { isTimeMs, TIME_RANGE } from '../../base/written-time.ts'
import type { Position, Touched, TrueOf } from '../../directory/feed/touches.ts'
import type { DescribedToken } from '../authority.ts'
import type { KeptMatrix } from '../promoted-matrices.ts'
import type { VerifiedToken } from '../verified-token.ts'
import type { HubResponse } from './hub-changes.ts'

const SERVICE = '/portcullis.v1.AuthorizationService'
export const WATCH_CHANGES = `${SERVICE}/WatchChanges`
export const DESCRIBE_TOKENS = `${SERVICE}/DescribeTokens`
export const GET_PROMOTED_MATRIX = `${SERVICE}/GetPromotedMatrix`

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo'

/** The error that the hub sends. @param details an encoded `google.rpc.Status` */
export function callErrorOf(details: Buffer, message: string): CallError {
  for (const { typeUrl, value } of Status.decode(new BinaryReader(details)).details) {
    if (typeUrl !== ERROR_INFO) continue
    const { reason, metadata } = ErrorInfo.decode(new BinaryReader(value))
    if (Object.hasOwn(CALL_ERRORS, reason))
      return new CallError(reason as CallErrorReason, message, { metadata })
  }
  return callError('DIRECTORY_UNAVAILABLE', {})
}

/**
 * Reads an answer of the hub.
 *
 * @param read throws an Error if these bytes are not such an answer
 * @throws CallError `DIRECTORY_UNAVAILABLE` then
 */
export function readAnswer<T>(bytes: Buffer, read: (bytes: Buffer) => T): T {
  try {
    return read(bytes)
  } catch (error) {
    throw callError('DIRECTORY_UNAVAILABLE', {}, { cause: error })
  }
}

/**
 * Asks for the changes after those that this sidecar received.
 *
 * @param basis of what it remembers; empty: it remembers nothing, so that everything is void
 */
export function watchChangesRequest(after: Position, basis: string): Buffer {
  return encoded(wire.WatchChangesRequest.encode({ accounts: [], after: toldMessage(after, basis) }))
}

/** @param after the last change of this sidecar: a hub without it must not answer */
export function describeTokensRequest(tokens: readonly string[], after: Position): Buffer {
  return encoded(wire.DescribeTokensRequest.encode({ tokens: [...tokens], after: toldMessage(after, '') }))
}

function toldMessage({ sequence, atMs }: Position, basis: string): wire.Position | undefined {
  return sequence === 0 && basis === '' ? undefined : { change: sequence, recordedAt: new Date(atMs), basis }
}

/** @returns undefined: none was promoted @throws Error if these bytes are not such a response */
export function readPromotedMatrix(bytes: Buffer): KeptMatrix | undefined {
  const { digest, content } = wire.GetPromotedMatrixResponse.decode(new BinaryReader(bytes))
  return digest === '' ? undefined : { digest, content: Buffer.from(content) }
}

/** The answer, and the position for which it holds. */
export interface Described {
  readonly tokens: readonly (DescribedToken | undefined)[]
  readonly of: TrueOf
}

/** @throws Error if these bytes are not such a response */
export function readDescribed(bytes: Buffer): Described {
  const { tokens, position } = wire.DescribeTokensResponse.decode(new BinaryReader(bytes))
  return {
    of: { position: position && positionOf(position), basis: position?.basis ?? '' },
    tokens: tokens.map(({ token, active, addresses }) =>
      token === undefined ? undefined : { token: tokenOf(token), status: { active, addresses } },
    ),
  }
}

/**
 * Whether these bytes are a part of rules, and no more. A sidecar has its own rules, so it does not read it.
 *
 * @throws Error if these bytes are not a message
 */
export function isRulesPart(bytes: Buffer): boolean {
  return bytes.length > 0 && new BinaryReader(bytes).tag()[0] === RULES_PART
}

/** The number of the field in `WatchChangesResponse`. */
const RULES_PART = 7

/** @throws Error if these bytes are not such a response */
export function readHubResponse(bytes: Buffer): HubResponse & { readonly rulesDigest: string | undefined } {
  const { position, rules, voided, validFor, sentAt } = wire.WatchChangesResponse.decode(
    new BinaryReader(bytes),
  )
  if (position === undefined) throw new Error('expected a position')
  return {
    position: positionOf(position),
    touched: voided === undefined ? [] : touchedOf(voided),
    validForMs: validFor && msOf(validFor),
    sentAtMs: msOf(sentAt),
    basis: position.basis,
    rulesDigest: rules?.matrix?.rulesDigest,
  }
}

function touchedOf(voided: wire.Voided): Touched[] {
  if (voided.everything) return [undefined]
  return [
    ...voided.tokenIds.map((id) => ({ thing: 'token', id }) as const),
    ...voided.userIds.map((id) => ({ thing: 'user', id }) as const),
    ...voided.accounts.map((id) => ({ thing: 'account', id }) as const),
    ...voided.projectIds.map((id) => ({ thing: 'project', id }) as const),
  ]
}

function tokenOf(token: wire.VerifiedToken): VerifiedToken {
  const { kind, scope, subject, tokenId, issuedAt, expiresAt, projectId, derivedFrom } = token
  if (scope === undefined || subject === undefined || issuedAt === undefined)
    throw new Error('expected a token with its scope, its holder and its time')
  return {
    ...{ kind, subject, tokenId, issuedAtMs: timeOf(issuedAt), expiresAtMs: expiresAt && timeOf(expiresAt) },
    scope: { account: scope.account, ...(scope.project !== '' && { project: scope.project }) },
    ...(projectId !== '' && { projectId }),
    ...(derivedFrom.length > 0 && { derivedFrom }),
  }
}

function positionOf({ change, recordedAt }: wire.Position): Position {
  if (change < 0) throw new Error('expected a number of a change of 0 or more')
  return { sequence: change, atMs: recordedAt === undefined ? 0 : timeOf(recordedAt) }
}

/** @throws Error if no such time is written */
export function timeOf(time: Date): number {
  const ms = time.getTime()
  if (!isTimeMs(ms)) throw new Error(`expected a time ${TIME_RANGE}`)
  return ms
}

function msOf(duration: { readonly seconds: number; readonly nanos: number } | undefined): number {
  const ms = duration === undefined ? 0 : duration.seconds * 1_000 + duration.nanos / 1e6
  if (!isTimeMs(ms)) throw new Error('expected a duration of 0 or more')
  return ms
}

function encoded(writer: { finish(): Uint8Array }): Buffer {
  return Buffer.from(writer.finish())
}

const REVOKE = `${SERVICE}/Revoke`
const READS = /\/(Get|List|Preview)[^/]*$/

/**
 * The facts that a change forwarded to the hub touches here, before the stream of the hub says so.
 *
 * @param answer of the hub, which has made the change
 * @returns as of a record of the feed; `undefined`: nothing
 */
export function touchesOf(path: string, request: Buffer, answer: Buffer): string | undefined {
  if (READS.test(path)) return undefined
  if (path === REVOKE) return `token:${wire.RevokeResponse.decode(new BinaryReader(answer)).tokenId}`
  // The first field of each of these requests is the account, unless the change is one of the matrix.
  return `account:${GetAccountRequest.decode(new BinaryReader(request)).account}`
}
