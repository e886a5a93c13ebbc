/** Responses: values → wire. Every decision of an engine is encoded once, before the first question. */
import type { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { Decision, Engine, NamedConflict, Reason, Scope } from '../../engine/index.ts'
import type { Plan } from '../../matrix/index.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import type { Duration } from '../gen/google/protobuf/duration.ts'
import * as wire from '../gen/portcullis/v1/authorization.ts'
import {
  type Conflict,
  Reason as WireReason,
  type Scope as WireScope,
} from '../gen/portcullis/v1/decision.ts'
import type { Matrix } from '../gen/portcullis/v1/matrix.ts'
import type { CheckOutcome } from '../usecases/check.ts'
import type { Issued } from '../usecases/issue.ts'
import type { Revoked } from '../usecases/revoke.ts'

/** The encoded answers of one engine. */
export class EncodedAnswers {
  readonly #claims = new Map<Decision, Buffer>()
  readonly #bare = new Map<Decision, Buffer>()
  readonly #verifiedParts = new WeakMap<VerifiedToken, Buffer>()
  readonly #cacheForMs: number

  constructor(engine: Engine, cacheForMs: number) {
    this.#cacheForMs = cacheForMs
    for (const decision of engine.decisions()) {
      const bare = encodeDecision(decision)
      this.#bare.set(decision, bare)
      this.#claims.set(decision, Buffer.concat([bare, encodeCacheFor(cacheForMs)]))
    }
  }

  /** The answer to claims: it changes only with the matrix. */
  forClaims(decision: Decision): Buffer {
    return this.#claims.get(decision) as Buffer
  }

  /**
   * The answer to credentials. A fault of the credential itself may not be reused: the next try may succeed;
   * nothing is reused beyond the token's expiry.
   */
  forCredentials({ decision, token, verified }: CheckOutcome, nowMs: number): Buffer {
    const bare = this.#bare.get(decision) as Buffer
    if (token === undefined) return bare
    const leftMs = (token.expiresAtMs ?? Number.POSITIVE_INFINITY) - nowMs
    if (verified && leftMs >= this.#cacheForMs) return Buffer.concat([bare, this.#verifiedPart(token)])
    const cacheForMs = verified ? Math.max(0, leftMs) : undefined
    return Buffer.concat([bare, encodeTokenPart(token, verified, cacheForMs)])
  }

  /** What the answers on a token have in common; the authority hands out one object for a token that it remembers. */
  #verifiedPart(token: VerifiedToken): Buffer {
    let part = this.#verifiedParts.get(token)
    if (part === undefined) {
      part = encodeTokenPart(token, true, this.#cacheForMs)
      this.#verifiedParts.set(token, part)
    }
    return part
  }
}

function encodeTokenPart(token: VerifiedToken, verified: boolean, cacheForMs: number | undefined): Buffer {
  return encode(wire.CheckResponse, {
    ...NOTHING,
    verified,
    token: tokenMessage(token),
    cacheFor: cacheForMs === undefined ? undefined : durationOf(cacheForMs),
  })
}

/** A message without a field set; concatenated encodings of one message are one message. */
const NOTHING: wire.CheckResponse = {
  allowed: false,
  reason: WireReason.REASON_UNSPECIFIED,
  message: '',
  header: '',
  accepted: [],
  conflicts: [],
  advice: [],
  digest: '',
  verified: false,
  token: undefined,
  cacheFor: undefined,
}

/** Written in one go, because joining a part for each prefix costs more than the answers do. */
export function checkBatchResponse(results: readonly Buffer[]): Buffer {
  let length = 0
  for (const result of results) length += fieldLength(result)
  const response = Buffer.allocUnsafe(length)
  let position = 0
  for (const result of results) position = writeField(response, position, 1, result)
  return response
}

export function checkStreamResponse(id: string, result: Buffer): Buffer {
  const named = Buffer.from(id)
  const idLength = id === '' ? 0 : fieldLength(named)
  const response = Buffer.allocUnsafe(idLength + fieldLength(result))
  if (id !== '') writeField(response, 0, 1, named)
  writeField(response, idLength, 2, result)
  return response
}

/** Bytes that a field of a message takes, with its tag and its length. */
function fieldLength(value: Buffer): number {
  let length = 2 + value.length
  for (let rest = value.length >>> 7; rest > 0; rest >>>= 7) length++
  return length
}

/** Writes a length-delimited field of a number below 16. @returns where it ends */
function writeField(bytes: Buffer, start: number, number: number, value: Buffer): number {
  let position = start
  bytes[position++] = (number << 3) | 2
  let rest = value.length
  for (; rest >= 0x80; rest >>>= 7) bytes[position++] = (rest & 0x7f) | 0x80
  bytes[position++] = rest
  bytes.set(value, position)
  return position + value.length
}

export function issueResponse(issued: Issued): Buffer {
  return encode(wire.IssueResponse, {
    header: issued.header,
    value: issued.value.reveal(),
    kind: issued.kind,
    scope: scopeMessage(issued.scope),
    issuedAt: dateOf(issued.issuedAtMs),
    expiresAt: dateOf(issued.expiresAtMs),
    conflicts: issued.conflicts.map(conflictMessage),
    tokenId: issued.tokenId,
  })
}

export function revokeResponse({ tokenId, revokedAtMs }: Revoked): Buffer {
  return encode(wire.RevokeResponse, { tokenId, revokedAt: dateOf(revokedAtMs) })
}

export function planResponse(engine: Engine, plan: Plan): Buffer {
  return encode(wire.PlanResponse, {
    tokens: plan.tokens.map(({ kind, apis }) => ({
      kind: kind.id,
      scopeLevel: kind.scopeLevel,
      header: kind.header,
      issuable: kind.obtained.by === 'issue',
      permissionScopes: [...kind.permissionScopes],
      steps: [...(kind.obtained.steps ?? [])],
      apis: [...apis],
      conflicts: [...new Set(apis.flatMap((api) => engine.apis.get(api)?.conflicts.get(kind.id) ?? []))].map(
        conflictMessage,
      ),
    })),
    unopened: [...plan.unopened],
    digest: engine.digest,
  })
}

/** `GetMatrixResponse` and `WatchMatrixResponse` are the same on the wire. */
export function matrixResponse(engine: Engine): Buffer {
  return encode(wire.GetMatrixResponse, { matrix: matrixMessage(engine) })
}

function matrixMessage(engine: Engine): Matrix {
  return {
    digest: engine.digest,
    strict: engine.strict,
    tokenKinds: [...engine.tokenKinds.values()].map((kind) => ({
      id: kind.id,
      title: kind.title,
      family: kind.family,
      scopeLevel: kind.scopeLevel,
      header: kind.header,
      issuedTo: kind.issuedTo,
      issuable: kind.obtained.by === 'issue',
      permissionScopes: [...kind.permissionScopes],
      lifetime: kind.lifetimeSeconds === null ? undefined : durationOf(kind.lifetimeSeconds * 1000),
      steps: [...(kind.obtained.steps ?? [])],
      section: kind.section,
    })),
    apis: [...engine.apis.values()].map((api) => ({
      id: api.id,
      title: api.title,
      accepted: api.accepted.map(({ kind }) => kind),
      contested: [...api.contested],
      section: api.section,
    })),
    conflicts: engine.conflicts.map(conflictMessage),
  }
}

function encodeDecision(decision: Decision): Buffer {
  const { allowed, reason, message, header, accepted, conflicts, advice, digest } = decision
  return encode(wire.CheckResponse, {
    ...NOTHING,
    allowed,
    reason: reasonMessage(reason),
    message,
    header,
    accepted: accepted.map((kind) => ({ ...kind })),
    conflicts: conflicts.map(conflictMessage),
    advice: [...advice],
    digest,
  })
}

function encodeCacheFor(cacheForMs: number): Buffer {
  return encode(wire.CheckResponse, { ...NOTHING, cacheFor: durationOf(cacheForMs) })
}

function reasonMessage(reason: Reason): WireReason {
  return WireReason[`REASON_${reason}`]
}

function conflictMessage(conflict: NamedConflict): Conflict {
  const { cells, apis, kinds, sections, ...rest } = conflict
  return {
    ...rest,
    cells: cells.map((cell) => ({ ...cell })),
    apis: [...apis],
    kinds: [...kinds],
    sections: [...sections],
  }
}

function tokenMessage({
  kind,
  scope,
  subject,
  tokenId,
  issuedAtMs,
  expiresAtMs,
}: VerifiedToken): wire.VerifiedToken {
  return {
    kind,
    scope: scopeMessage(scope),
    subject,
    tokenId,
    issuedAt: dateOf(issuedAtMs),
    expiresAt: dateOf(expiresAtMs),
  }
}

function scopeMessage({ account, project }: Scope): WireScope {
  return { account, project: project ?? '' }
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms)
}

function durationOf(ms: number): Duration {
  const seconds = Math.floor(ms / 1000)
  return { seconds, nanos: Math.round((ms - seconds * 1000) * 1e6) }
}

function encode<T>(message: { encode(value: T): BinaryWriter }, value: T): Buffer {
  return Buffer.from(message.encode(value).finish())
}
