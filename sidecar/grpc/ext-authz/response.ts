/**
 * Writes what Envoy is answered. Whatever depends on the decision alone is encoded once for each decision. Every answer has its status:
 * an answer without one would let the request pass.
 */
import type { Decision } from '../../../engine/index.ts'
import { Struct } from '../../gen/google/protobuf/struct.ts'
import type { DenialAnswer, Headers } from '../../http-authorization/denial.ts'
import { FACTS } from '../../http-authorization/identity.ts'
import type { CheckOutcome } from '../../usecases/check.ts'
import { STATUS as CODES } from '../call.ts'
import { FieldWriter } from '../field-writer.ts'
import {
  CHECK_RESPONSE,
  DENIED_HTTP_RESPONSE,
  FIELDS_ENTRY,
  HEADER_VALUE,
  HEADER_VALUE_OPTION,
  HTTP_STATUS,
  OK_HTTP_RESPONSE,
  STATUS,
  STRUCT,
  VALUE,
} from './field-numbers.ts'

/** `OVERWRITE_IF_EXISTS_OR_ADD` of `HeaderValueOption.HeaderAppendAction`. */
const OVERWRITE = 2

const NO_BYTES = Buffer.alloc(0)

/** Shared by all responses. Nothing is written between its start and its finish. */
const WRITER = new FieldWriter()

/**
 * The request may pass.
 *
 * @param set headers to set
 * @param removed names of headers to remove. Envoy removes after it sets, so none of them may be among those to set
 */
export function allowedResponse(
  outcome: CheckOutcome,
  api: string,
  set: Headers,
  removed: readonly string[],
): Buffer {
  WRITER.start(NO_BYTES)
  WRITER.end(WRITER.begin(CHECK_RESPONSE.status))
  const ok = WRITER.begin(CHECK_RESPONSE.okResponse)
  for (const header of set) writeHeader(WRITER, OK_HTTP_RESPONSE.headers, header)
  for (const name of removed) WRITER.text(OK_HTTP_RESPONSE.headersToRemove, name)
  WRITER.end(ok)
  writeMetadata(WRITER, outcome, api)
  return WRITER.finish()
}

/** The request must not pass, because of a decision. */
export function deniedResponse(outcome: CheckOutcome, api: string, answer: DenialAnswer): Buffer {
  let encoded = DENIALS.get(answer)
  if (encoded === undefined) {
    encoded = encodedDenial(answer, outcome.decision.reason)
    DENIALS.set(answer, encoded)
  }
  WRITER.start(encoded)
  writeMetadata(WRITER, outcome, api)
  return WRITER.finish()
}

/** The request must not pass, because there is no decision. */
export function undecidedResponse(answer: DenialAnswer, reason: string): Buffer {
  const encoded = encodedDenial(answer, reason)
  WRITER.start(encoded)
  WRITER.bytes(CHECK_RESPONSE.dynamicMetadata, encodedStruct({ allowed: false, reason }))
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
  for (const header of headers) writeHeader(WRITER, DENIED_HTTP_RESPONSE.headers, header)
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

/** Envoys of different versions take an absent `append` and an absent `append_action` differently, so both are there. */
function writeHeader(writer: FieldWriter, field: number, [name, value]: Headers[number]): void {
  const option = writer.begin(field)
  const header = writer.begin(HEADER_VALUE_OPTION.header)
  writer.text(HEADER_VALUE.key, name)
  writer.text(HEADER_VALUE.value, value)
  writer.end(header)
  writer.end(writer.begin(HEADER_VALUE_OPTION.append))
  writer.number(HEADER_VALUE_OPTION.appendAction, OVERWRITE)
  writer.end(option)
}

/** What is said of each decision, encoded. */
const DECISIONS = new WeakMap<Decision, Buffer>()
const VERIFIED = encodedStruct({ verified: true })
const NOT_VERIFIED = encodedStruct({ verified: false })

/** Writes what the proxy's log and its other filters may know. Fields of a struct that are written apart are one struct. */
function writeMetadata(writer: FieldWriter, { decision, token, verified }: CheckOutcome, api: string): void {
  let encoded = DECISIONS.get(decision)
  if (encoded === undefined) {
    encoded = encodedDecision(decision)
    DECISIONS.set(decision, encoded)
  }
  const metadata = writer.begin(CHECK_RESPONSE.dynamicMetadata)
  writer.encoded(encoded)
  writeFact(writer, 'api', api)
  if (token !== undefined) {
    writer.encoded(verified ? VERIFIED : NOT_VERIFIED)
    for (const { name, of } of FACTS) {
      const value = of(token)
      if (value !== undefined && value !== '') writeFact(writer, name, value)
    }
    if (token.roles !== undefined) writer.encoded(encodedStruct({ roles: [...token.roles] }))
  }
  writer.end(metadata)
}

function writeFact(writer: FieldWriter, name: string, text: string): void {
  const entry = writer.begin(STRUCT.fields)
  writer.text(FIELDS_ENTRY.key, name)
  const value = writer.begin(FIELDS_ENTRY.value)
  writer.text(VALUE.stringValue, text)
  writer.end(value)
  writer.end(entry)
}

function encodedDecision({ allowed, reason, rulesDigest, strict, conflicts, advice }: Decision): Buffer {
  return encodedStruct({
    ...{ allowed, reason, rules_digest: rulesDigest, strict },
    conflicts: conflicts.map(({ id }) => id),
    advice: [...advice],
  })
}

function encodedStruct(value: { readonly [name: string]: unknown }): Buffer {
  return Buffer.from(Struct.encode(Struct.wrap(value)).finish())
}
