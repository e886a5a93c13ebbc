/**
 * Encodes responses. Every decision of an engine is encoded once: before the first check, where it is built
 * by then.
 */
import type { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { Decision, Engine, NamedConflict, Reason, Scope, Steps } from '../../engine/index.ts'
import type { Plan } from '../../matrix/index.ts'
import type { Duration } from '../../proto/gen/google/protobuf/duration.ts'
import * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import {
  type Conflict,
  Reason as WireReason,
  type Scope as WireScope,
} from '../../proto/gen/portcullis/v1/decision.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import type { Position, TrueOf } from '../authority/directory-changes.ts'
import { reusableForMs } from '../usecases/check.ts'
import type { Issued } from '../usecases/issue.ts'
import type { CheckOutcome } from '../usecases/questions.ts'
import type { Revoked } from '../usecases/revoke.ts'
import {
  CHECK_BATCH_RESPONSE,
  CHECK_RESPONSE,
  CHECK_STREAM_RESPONSE,
  POSITION,
  SCOPE,
  SUBJECT,
  TIME,
  VERIFIED_TOKEN,
} from './field-numbers.ts'
import { FieldWriter } from './field-writer.ts'

/** The encoded answers of one engine. */
export class EncodedAnswers {
  readonly #claims = new Map<Decision, Buffer>()
  /** The encoded decisions, without the fields about a token and without `cache_for`. */
  readonly #decisions = new Map<Decision, Buffer>()
  readonly #writer = new FieldWriter()
  readonly #cacheForMs: number

  readonly #cacheFor: Buffer

  private constructor(cacheForMs: number) {
    this.#cacheForMs = cacheForMs
    this.#cacheFor = encodeCacheFor(cacheForMs)
  }

  /** Encodes the answers that are built. The others are encoded when they are given first. */
  static *of({ prebuilt, decisions }: Engine, cacheForMs: number): Steps<EncodedAnswers> {
    const answers = new EncodedAnswers(cacheForMs)
    if (!prebuilt) return answers
    for (const decision of decisions()) {
      answers.#encode(decision)
      yield
    }
    return answers
  }

  /** The answer to claims, which only depends on the matrix. */
  forClaims(decision: Decision): Buffer {
    const known = this.#claims.get(decision)
    if (known !== undefined) return known
    this.#encode(decision)
    return this.#claims.get(decision) as Buffer
  }

  /**
   * The answer to credentials. If the credential itself is at fault, the client may not reuse the answer,
   * because the next check may succeed. No answer may be reused after the token's expiry.
   *
   * @param position of the directory before the question: a change that it does not have voids the answer
   * @param basis the name of what the answer rests on besides the directory
   */
  forCredentials(
    { decision, token, verified }: CheckOutcome,
    position: Position | undefined,
    basis: string,
    nowMs: number,
  ): Buffer {
    const encoded = this.#decisions.get(decision) ?? this.#encode(decision)
    if (token === undefined) return encoded
    const writer = this.#writer
    writer.start(encoded)
    writer.flag(CHECK_RESPONSE.verified, verified)
    writeToken(writer, CHECK_RESPONSE.token, token)
    if (verified) writeTime(writer, CHECK_RESPONSE.cacheFor, reusableForMs(token, this.#cacheForMs, nowMs))
    // The directory has no record of a token that an upstream verifies.
    if (position !== undefined && token.authority === undefined && token.countsOnce !== true)
      writer.bytes(CHECK_RESPONSE.position, encodedPosition(position, basis))
    return writer.finish()
  }

  /** @returns the encoded decision */
  #encode(decision: Decision): Buffer {
    const encoded = encodeDecision(decision)
    const answer = Buffer.concat([encoded, this.#cacheFor])
    this.#claims.set(decision, answer)
    // An answer to claims begins with the encoded decision: the bytes are in memory once.
    const shared = answer.subarray(0, encoded.length)
    this.#decisions.set(decision, shared)
    return shared
  }
}

/**
 * Writes a `VerifiedToken`. It is not cached, because a cache for many tokens costs more than writing the
 * fields.
 */
export function writeToken(writer: FieldWriter, field: number, token: VerifiedToken): void {
  const { kind, scope, subject, tokenId, issuedAtMs, expiresAtMs, roles, authority } = token
  const { projectId, derivedFrom } = token
  const message = writer.begin(field)
  writer.text(VERIFIED_TOKEN.kind, kind)
  const scopeMessage = writer.begin(VERIFIED_TOKEN.scope)
  writer.text(SCOPE.account, scope.account)
  writer.text(SCOPE.project, scope.project ?? '')
  writer.end(scopeMessage)
  const subjectMessage = writer.begin(VERIFIED_TOKEN.subject)
  writer.text(SUBJECT.id, subject.id)
  writer.text(SUBJECT.name, subject.name)
  writer.text(SUBJECT.type, subject.type)
  writer.end(subjectMessage)
  writer.text(VERIFIED_TOKEN.tokenId, tokenId)
  writeTime(writer, VERIFIED_TOKEN.issuedAt, issuedAtMs)
  if (expiresAtMs !== undefined) writeTime(writer, VERIFIED_TOKEN.expiresAt, expiresAtMs)
  if (roles !== undefined) for (const role of roles) writer.text(VERIFIED_TOKEN.roles, role)
  if (authority !== undefined) writer.text(VERIFIED_TOKEN.authority, authority)
  if (projectId !== undefined) writer.text(VERIFIED_TOKEN.projectId, projectId)
  if (derivedFrom !== undefined) for (const id of derivedFrom) writer.text(VERIFIED_TOKEN.derivedFrom, id)
  writer.end(message)
}

let lastPosition: Position | undefined
let lastBasis = ''
let lastEncoded: Buffer = Buffer.alloc(0)

/** Most answers have the position of the one before. */
function encodedPosition(position: Position, basis: string): Buffer {
  if (position !== lastPosition || basis !== lastBasis) {
    POSITION_WRITER.start(NO_BYTES)
    POSITION_WRITER.number(POSITION.change, position.sequence)
    writeTime(POSITION_WRITER, POSITION.recordedAt, position.atMs)
    POSITION_WRITER.text(POSITION.basis, basis)
    lastEncoded = POSITION_WRITER.finish()
    lastPosition = position
    lastBasis = basis
  }
  return lastEncoded
}

export function writePosition(writer: FieldWriter, field: number, position: Position, basis: string): void {
  writer.bytes(field, encodedPosition(position, basis))
}

/** Writes a `Timestamp` or a `Duration`, which have the same fields. */
export function writeTime(writer: FieldWriter, field: number, ms: number): void {
  const message = writer.begin(field)
  const seconds = Math.floor(ms / 1000)
  writer.number(TIME.seconds, seconds)
  writer.number(TIME.nanos, Math.round((ms - seconds * 1000) * 1e6))
  writer.end(message)
}

/**
 * A message with no field set, so that parts can be encoded separately: concatenated encodings are one
 * message.
 */
export const EMPTY_RESPONSE: wire.CheckResponse = {
  allowed: false,
  reason: WireReason.REASON_UNSPECIFIED,
  message: '',
  header: '',
  accepted: [],
  conflicts: [],
  advice: [],
  digest: '',
  strict: false,
  rulesDigest: '',
  verified: false,
  token: undefined,
  cacheFor: undefined,
  position: undefined,
  route: undefined,
  scheme: '',
}

export function checkBatchResponse(results: readonly Buffer[]): Buffer {
  RESULTS_WRITER.start(NO_BYTES)
  for (const result of results) RESULTS_WRITER.bytes(CHECK_BATCH_RESPONSE.results, result)
  return RESULTS_WRITER.finish()
}

export function checkStreamResponse(id: string, result: Buffer): Buffer {
  RESULTS_WRITER.start(NO_BYTES)
  RESULTS_WRITER.text(CHECK_STREAM_RESPONSE.id, id)
  RESULTS_WRITER.bytes(CHECK_STREAM_RESPONSE.result, result)
  return RESULTS_WRITER.finish()
}

/**
 * Shared by all responses, because allocating and joining a buffer for each prefix would cost more than the
 * answers.
 */
const RESULTS_WRITER = new FieldWriter()
const POSITION_WRITER = new FieldWriter()
const NO_BYTES = Buffer.alloc(0)

/** The encoded answers that are given again. A token of the cache is always the same object. */
const ISSUE_RESPONSES = new WeakMap<Issued, Buffer>()

/** @param of as before the token was issued, where the directory has its holder */
export function issueResponse(issued: Issued, of?: TrueOf): Buffer {
  if (of?.position !== undefined) return encodeIssued(issued, of.position, of.basis)
  let response = ISSUE_RESPONSES.get(issued)
  if (response === undefined) {
    response = encodeIssued(issued)
    ISSUE_RESPONSES.set(issued, response)
  }
  return response
}

function encodeIssued(issued: Issued, position?: Position, basis = ''): Buffer {
  return encode(wire.IssueResponse, {
    header: issued.header,
    scheme: issued.scheme,
    basic: issued.basic ?? '',
    value: issued.value.reveal(),
    kind: issued.kind,
    scope: scopeMessage(issued.scope),
    issuedAt: dateOf(issued.issuedAtMs),
    expiresAt: dateOf(issued.expiresAtMs),
    conflicts: issued.conflicts.map(conflictMessage),
    tokenId: issued.tokenId,
    position: position && { change: position.sequence, recordedAt: dateOf(position.atMs), basis },
  })
}

export function revokeResponse({ tokenId, revokedAtMs }: Revoked): Buffer {
  return encode(wire.RevokeResponse, { tokenId, revokedAt: dateOf(revokedAtMs) })
}

export function planResponse(engine: Engine, plan: Plan): Buffer {
  return encode(wire.PlanResponse, {
    public: [...plan.public],
    tokens: plan.tokens.map(({ kind, apis }) => ({
      kind: kind.id,
      scopeLevel: kind.scopeLevel,
      header: kind.header,
      scheme: kind.scheme ?? '',
      issuable: kind.obtained.by === 'issue',
      obtained: kind.obtained.by,
      link: kind.obtained.link ?? '',
      permissionScopes: [...kind.permissionScopes],
      steps: [...(kind.obtained.steps ?? [])],
      apis: [...apis],
      conflicts: [...new Set(apis.flatMap((api) => engine.apis.get(api)?.conflicts.get(kind.id) ?? []))].map(
        conflictMessage,
      ),
    })),
    unopened: [...plan.unopened],
    digest: engine.digest,
    strict: engine.strict,
    rulesDigest: engine.rulesDigest,
  })
}

function encodeDecision(decision: Decision): Buffer {
  const { allowed, reason, message, header, scheme, accepted, conflicts, advice } = decision
  const { digest, strict, rulesDigest } = decision
  return encode(wire.CheckResponse, {
    ...EMPTY_RESPONSE,
    allowed,
    reason: reasonMessage(reason),
    message,
    header,
    scheme,
    accepted: accepted.map((kind) => ({ ...kind, scheme: kind.scheme ?? '', link: kind.link ?? '' })),
    conflicts: conflicts.map(conflictMessage),
    advice: [...advice],
    digest,
    strict,
    rulesDigest,
  })
}

function encodeCacheFor(cacheForMs: number): Buffer {
  return encode(wire.CheckResponse, { ...EMPTY_RESPONSE, cacheFor: durationOf(cacheForMs) })
}

export function reasonMessage(reason: Reason): WireReason {
  return WireReason[`REASON_${reason}`]
}

export function conflictMessage(conflict: NamedConflict): Conflict {
  const { cells, apis, kinds, sections, ...rest } = conflict
  return {
    ...rest,
    cells: cells.map((cell) => ({ ...cell })),
    apis: [...apis],
    kinds: [...kinds],
    sections: [...sections],
  }
}

function scopeMessage({ account, project }: Scope): WireScope {
  return { account, project: project ?? '' }
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms)
}

export function durationOf(ms: number): Duration {
  const seconds = Math.floor(ms / 1000)
  return { seconds, nanos: Math.round((ms - seconds * 1000) * 1e6) }
}

export function encode<T>(message: { encode(value: T): BinaryWriter }, value: T): Buffer {
  return Buffer.from(message.encode(value).finish())
}
