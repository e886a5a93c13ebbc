/**
 * Writes what Envoy is answered. Whatever depends on the decision alone is encoded once for each decision.
 * Every answer has its status: an answer without one would let the request pass.
 */
import type { Decision } from '../../../engine/index.ts'
import { Struct } from '../../../proto/gen/google/protobuf/struct.ts'
import type { VerifiedToken } from '../../authority/authority.ts'
import type { HeaderChanges } from '../../proxies/decide.ts'
import type { DenialAnswer, Headers } from '../../proxies/denial-answer.ts'
import { FACTS, identityHeaders, removedHeaders } from '../../proxies/identity-headers.ts'
import type { CheckOutcome } from '../../usecases/questions.ts'
import { STATUS as CODES } from '../call.ts'
import { FieldWriter } from '../field-writer.ts'
import {
  CHECK_RESPONSE,
  DENIED_HTTP_RESPONSE,
  HEADER_VALUE,
  HEADER_VALUE_OPTION,
  HTTP_STATUS,
  OK_HTTP_RESPONSE,
  STATUS,
} from './envoy-field-numbers.ts'

/** `OVERWRITE_IF_EXISTS_OR_ADD` of `HeaderValueOption.HeaderAppendAction`. */
const OVERWRITE = 2

const NO_BYTES = Buffer.alloc(0)

/** Shared by all responses. Nothing is written between its start and its finish. */
const WRITER = new FieldWriter()

/**
 * The request may pass.
 *
 * @param changes `undefined`: the usual ones for its token
 */
export function allowedResponse(
  outcome: CheckOutcome,
  token: VerifiedToken | undefined,
  api: string,
  changes: HeaderChanges | undefined,
): Buffer {
  if (token === undefined) {
    const set = identityHeaders(undefined, outcome.decision)
    const ok = encodedOk(changes ?? { set, removed: removedHeaders([], set) })
    return withMetadata(ok, outcome, api, NO_BYTES)
  }
  const { usual, facts } = knownToken(token, outcome.decision)
  return withMetadata(changes === undefined ? usual : encodedOk(changes), outcome, api, facts)
}

function encodedOk({ set, removed }: HeaderChanges): Buffer {
  WRITER.start(NO_BYTES)
  WRITER.end(WRITER.begin(CHECK_RESPONSE.status))
  const ok = WRITER.begin(CHECK_RESPONSE.okResponse)
  for (const header of set) writeHeader(OK_HTTP_RESPONSE.headers, header)
  for (const name of removed) WRITER.text(OK_HTTP_RESPONSE.headersToRemove, name)
  WRITER.end(ok)
  return WRITER.finish()
}

/** The facts that are written about a token at each request. */
interface KnownToken {
  readonly rulesDigest: string
  /**
   * An answer that lets the request pass, without metadata, where the client sent no header of an identity.
   */
  readonly usual: Buffer
  /** The metadata about the token, which is verified. */
  readonly facts: Buffer
}

/**
 * A client sends the same token with many requests. A token that is verified again is the same object as long
 * as it is in a cache.
 */
const KNOWN = new Map<VerifiedToken, KnownToken>()

/** Most tokens that are known, at about 2 KB each. */
const KNOWN_MAX = 2_000

function knownToken(token: VerifiedToken, decision: Decision): KnownToken {
  let known = KNOWN.get(token)
  if (known === undefined || known.rulesDigest !== decision.rulesDigest) {
    const set = identityHeaders(token, decision)
    const usual = encodedOk({ set, removed: removedHeaders([], set) })
    known = { rulesDigest: decision.rulesDigest, usual, facts: encodedFacts(token, true) }
    if (KNOWN.size >= KNOWN_MAX) KNOWN.clear()
    KNOWN.set(token, known)
  }
  return known
}

function encodedFacts(token: VerifiedToken, verified: boolean): Buffer {
  const facts: Record<string, unknown> = { verified }
  for (const { name, of } of FACTS) {
    const value = of(token)
    if (value !== undefined && value !== '') facts[name] = value
  }
  if (token.roles !== undefined) facts.roles = [...token.roles]
  return encodedStruct(facts)
}

/** The request must not pass, because of a decision. */
export function deniedResponse(outcome: CheckOutcome, api: string, answer: DenialAnswer): Buffer {
  const { decision, token, verified } = outcome
  let encoded = DENIALS.get(answer)
  if (encoded === undefined) {
    encoded = encodedDenial(answer, decision.reason)
    DENIALS.set(answer, encoded)
  }
  if (token === undefined) return withMetadata(encoded, outcome, api, NO_BYTES)
  const facts = verified ? knownToken(token, decision).facts : encodedFacts(token, false)
  return withMetadata(encoded, outcome, api, facts)
}

/** The request must not pass, because there is no decision. */
export function undecidedResponse(answer: DenialAnswer, reason: string): Buffer {
  const encoded = encodedDenial(answer, reason)
  WRITER.start(encoded)
  WRITER.bytes(CHECK_RESPONSE.dynamicMetadata, encodedStruct({ allowed: false, reason }))
  return WRITER.finish()
}

/** The value in place of facts about a token: in observe mode nothing is said of a request's sender. */
const OBSERVED = encodedStruct({ observed: true })

/**
 * The request passes in observe mode, and would be denied.
 *
 * @param decided `undefined`: nothing is decided
 */
export function observedResponse(
  changes: HeaderChanges,
  reason: string,
  decided: { readonly outcome: CheckOutcome; readonly api: string } | undefined,
): Buffer {
  const ok = encodedOk(changes)
  if (decided !== undefined) return withMetadata(ok, decided.outcome, decided.api, OBSERVED)
  WRITER.start(ok)
  WRITER.parts(CHECK_RESPONSE.dynamicMetadata, encodedStruct({ allowed: false, reason }), OBSERVED)
  return WRITER.finish()
}

/** The answer for a decision is always the same object. */
const DENIALS = new WeakMap<DenialAnswer, Buffer>()

function encodedDenial({ status, headers, body }: DenialAnswer, reason: string): Buffer {
  WRITER.start(NO_BYTES)
  const statusMessage = WRITER.begin(CHECK_RESPONSE.status)
  WRITER.number(STATUS.code, codeOf(status))
  WRITER.text(STATUS.message, reason)
  WRITER.end(statusMessage)
  const denied = WRITER.begin(CHECK_RESPONSE.deniedResponse)
  const httpStatus = WRITER.begin(DENIED_HTTP_RESPONSE.status)
  WRITER.number(HTTP_STATUS.code, status)
  WRITER.end(httpStatus)
  for (const header of headers) writeHeader(DENIED_HTTP_RESPONSE.headers, header)
  WRITER.text(DENIED_HTTP_RESPONSE.body, body)
  WRITER.end(denied)
  return WRITER.finish()
}

/** Any code but 0 denies. */
function codeOf(status: DenialAnswer['status']): number {
  switch (status) {
    case 401:
      return CODES.UNAUTHENTICATED
    case 403:
      return CODES.PERMISSION_DENIED
    case 500:
      return CODES.INTERNAL
    case 503:
      return CODES.UNAVAILABLE
  }
}

/**
 * Envoys of different versions take an absent `append` and an absent `append_action` differently, so both are
 * there.
 */
function writeHeader(field: number, [name, value]: Headers[number]): void {
  const option = WRITER.begin(field)
  const header = WRITER.begin(HEADER_VALUE_OPTION.header)
  WRITER.text(HEADER_VALUE.key, name)
  WRITER.text(HEADER_VALUE.value, value)
  WRITER.end(header)
  WRITER.end(WRITER.begin(HEADER_VALUE_OPTION.append))
  WRITER.number(HEADER_VALUE_OPTION.appendAction, OVERWRITE)
  WRITER.end(option)
}

/** The fields of each decision, encoded. A decision is about one API, unless that one is unknown. */
const DECISIONS = new WeakMap<Decision, { readonly api: string; readonly encoded: Buffer }>()

/**
 * Adds what the proxy's log and its other filters may know.
 *
 * @param facts encoded fields about the token
 */
function withMetadata(answer: Buffer, { decision }: CheckOutcome, api: string, facts: Buffer): Buffer {
  let known = DECISIONS.get(decision)
  if (known?.api !== api) {
    known = { api, encoded: encodedDecision(decision, api) }
    DECISIONS.set(decision, known)
  }
  WRITER.start(answer)
  WRITER.parts(CHECK_RESPONSE.dynamicMetadata, known.encoded, facts)
  return WRITER.finish()
}

function encodedDecision(
  { allowed, reason, rulesDigest, strict, conflicts, advice }: Decision,
  api: string,
): Buffer {
  return encodedStruct({
    ...{ allowed, reason, api, rules_digest: rulesDigest, strict },
    conflicts: conflicts.map(({ id }) => id),
    advice: [...advice],
  })
}

function encodedStruct(value: { readonly [name: string]: unknown }): Buffer {
  return Buffer.from(Struct.encode(Struct.wrap(value)).finish())
}
