/** Reads and writes the messages between this sidecar and its hub. */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import * as wire from '../../../proto/gen/portcullis/v1/authorization.ts'
import type { Position, Touched, TrueOf } from '../../directory/feed/touches.ts'
import type { DescribedToken } from '../authority.ts'
import type { KeptMatrix } from '../promoted-matrices.ts'
import type { VerifiedToken } from '../verified-token.ts'
import type { HubResponse } from './hub-changes.ts'

const SERVICE = '/portcullis.v1.AuthorizationService'
export const WATCH_CHANGES = `${SERVICE}/WatchChanges`
export const DESCRIBE_TOKENS = `${SERVICE}/DescribeTokens`
export const GET_PROMOTED_MATRIX = `${SERVICE}/GetPromotedMatrix`

/** Asks for what came after what this sidecar knows of an earlier stream. */
export function watchChangesRequest(after: Position | undefined, basis: string): Buffer {
  return encoded(
    wire.WatchChangesRequest.encode({
      accounts: [],
      after: after && { change: after.sequence, recordedAt: new Date(after.atMs), basis },
    }),
  )
}

export function describeTokensRequest(tokens: readonly string[]): Buffer {
  return encoded(wire.DescribeTokensRequest.encode({ tokens: [...tokens] }))
}

/** @returns undefined: none was promoted @throws Error if these bytes are no such response */
export function readPromotedMatrix(bytes: Buffer): KeptMatrix | undefined {
  const { digest, content } = wire.GetPromotedMatrixResponse.decode(new BinaryReader(bytes))
  return digest === '' ? undefined : { digest, content: Buffer.from(content) }
}

/** What was answered, and what that is true of. */
export interface Described {
  readonly tokens: readonly (DescribedToken | undefined)[]
  readonly of: TrueOf
}

/** @throws Error if these bytes are no such response */
export function readDescribed(bytes: Buffer): Described {
  const { tokens, position } = wire.DescribeTokensResponse.decode(new BinaryReader(bytes))
  return {
    of: { position: position && positionOf(position), basis: position?.basis ?? '' },
    tokens: tokens.map(({ token, active, addresses }) =>
      token === undefined ? undefined : { token: tokenOf(token), status: { active, addresses } },
    ),
  }
}

/** @throws Error if these bytes are no such response */
export function readHubResponse(bytes: Buffer): HubResponse & { readonly rulesDigest: string | undefined } {
  const { position, rules, voided, validFor, sentAt } = wire.WatchChangesResponse.decode(
    new BinaryReader(bytes),
  )
  if (position === undefined) throw new Error('expected a position')
  return {
    position: positionOf(position),
    touched: voided === undefined ? [] : touchedOf(voided),
    validForMs: msOf(validFor),
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
    ...{ kind, subject, tokenId, issuedAtMs: issuedAt.getTime(), expiresAtMs: expiresAt?.getTime() },
    scope: { account: scope.account, ...(scope.project !== '' && { project: scope.project }) },
    ...(projectId !== '' && { projectId }),
    ...(derivedFrom.length > 0 && { derivedFrom }),
  }
}

function positionOf({ change, recordedAt }: wire.Position): Position {
  return { sequence: change, atMs: recordedAt?.getTime() ?? 0 }
}

function msOf(duration: { readonly seconds: number; readonly nanos: number } | undefined): number {
  return duration === undefined ? 0 : duration.seconds * 1_000 + duration.nanos / 1e6
}

function encoded(writer: { finish(): Uint8Array }): Buffer {
  return Buffer.from(writer.finish())
}
