/**
 * Reads checks field by field. The generated decoder is too lenient for checks. It keeps the last field if
 * both fields of a `oneof` arrive, replaces invalid UTF-8 by U+FFFD, and accepts a message that is longer
 * than its parent.
 */

import type { Scope } from '../../engine/index.ts'
import { lowerCase } from '../../engine/places.ts'
import { type CallError, type FieldViolation, invalidArgument } from '../base/call-error.ts'
import { type IpAddress, ipAddress, isNoAddress } from '../base/ip-address.ts'
import type { RouteRequest } from '../rules/routes/route.ts'
import type { ClaimsQuestion, CredentialsQuestion } from '../usecases/questions.ts'
import {
  CHECK_BATCH_REQUEST,
  CHECK_REQUEST,
  CHECK_STREAM_REQUEST,
  CREDENTIALS,
  HEADER,
  HTTP_REQUEST,
  SCOPE,
  TOKEN_CLAIMS,
} from './field-numbers.ts'
import { Fields } from './fields.ts'
import { notAMessage } from './handler.ts'

/** A check for one of the two use cases, or one that the routes make a check of credentials of. */
export type CheckQuestion =
  | { readonly type: 'claims'; readonly question: ClaimsQuestion }
  | {
      readonly type: 'credentials'
      readonly question: CredentialsQuestion & { readonly headers: readonly Header[] }
    }
  | {
      readonly type: 'request'
      readonly request: RouteRequest
      readonly question: Pick<CredentialsQuestion, 'clientAddress'> & { readonly headers: readonly Header[] }
    }

type Header = [name: string, value: string]
type Claims = Pick<ClaimsQuestion, 'kind' | 'scope'>

/** The position of a check in its request: its index in a batch, or else its path. Used in errors. */
type Position = string | number

/**
 * Most headers of one check, and of all checks of a batch. Each takes only two bytes, so millions of them
 * would fit into a message, and reading them would delay all other calls. HTTP servers accept some 100
 * headers in a request.
 */
const HEADERS_MAX = 10_000
const BATCH_HEADERS_MAX = 100_000

/** Most fields of a batch, for each of its headers and for each of its checks: more than the contract has. */
const FIELDS_OF_HEADER = 3
const FIELDS_OF_CHECK = 16

/** @throws CallError if the bytes are not such a message, or do not follow the contract */
export function readCheck(bytes: Buffer): CheckQuestion {
  return readAt(new Fields(bytes), '')
}

/** @throws CallError with the index of the invalid check */
export function readCheckBatch(bytes: Buffer, lengthMax: number): CheckQuestion[] {
  const questions: CheckQuestion[] = []
  let headers = 0
  const fieldsMax = FIELDS_OF_HEADER * BATCH_HEADERS_MAX + FIELDS_OF_CHECK * lengthMax
  const fields = new Fields(bytes, fieldsMax)
  try {
    while (fields.next()) {
      if (fields.number !== CHECK_BATCH_REQUEST.checks) fields.skip()
      else if (questions.length === lengthMax) throw tooMany(bytes, lengthMax, fieldsMax)
      else {
        const end = fields.enter()
        const checked = readAt(fields, questions.length)
        fields.leave(end)
        questions.push(checked)
        if (checked.type !== 'claims') headers += checked.question.headers.length
        if (headers > BATCH_HEADERS_MAX)
          throw invalidArgument({
            field: 'checks',
            expected: `at most ${BATCH_HEADERS_MAX} headers in all checks of a batch`,
          })
      }
    }
  } catch (error) {
    throw notAMessage(error)
  }
  return questions
}

/** Reads a check of a stream, with the id that its answer repeats. */
export function readStreamedCheck(bytes: Buffer): { id: string; question: CheckQuestion } {
  let id = ''
  let question: CheckQuestion | undefined
  const fields = new Fields(bytes)
  try {
    while (fields.next()) {
      if (fields.number === CHECK_STREAM_REQUEST.id) id = fields.text()
      else if (fields.number !== CHECK_STREAM_REQUEST.check) fields.skip()
      else if (question !== undefined) throw repeated('check')
      else {
        const end = fields.enter()
        question = readAt(fields, 'check.')
        fields.leave(end)
      }
    }
  } catch (error) {
    throw notAMessage(error)
  }
  if (question === undefined) throw invalidArgument({ field: 'check', expected: 'a check' })
  return { id, question }
}

function readAt(fields: Fields, position: Position): CheckQuestion {
  try {
    return readFields(fields, position)
  } catch (error) {
    throw notAMessage(error, pathOf(position))
  }
}

function readFields(fields: Fields, position: Position): CheckQuestion {
  let api = ''
  let headers: Header[] | undefined
  let claims: Claims | undefined
  let target: Scope | undefined
  let clientAddress: FoundFields['clientAddress']
  let request: HttpRequest | undefined
  while (fields.next()) {
    const { number } = fields
    if (number === CHECK_REQUEST.api) api = fields.text()
    else if (number === CHECK_REQUEST.credentials) headers = readHeaders(fields, headers, position)
    else if (number === CHECK_REQUEST.token) claims = readClaims(fields, claims)
    else if (number === CHECK_REQUEST.target) target = readScope(fields, target)
    else if (number === CHECK_REQUEST.clientAddress) clientAddress = readAddress(fields.text())
    else if (number === CHECK_REQUEST.request) request = readRequest(fields, request)
    // A later version of the contract may have more fields.
    else fields.skip()
  }
  if (request !== undefined)
    return ofRequest(pathOf(position), { api, headers, claims, target, clientAddress, request })
  if (
    api === '' ||
    (headers === undefined) === (claims === undefined) ||
    target?.account === '' ||
    clientAddress === MISWRITTEN
  )
    throw violationsOf(pathOf(position), { api, headers, claims, target, clientAddress })
  if (claims !== undefined)
    return { type: 'claims', question: { api, kind: claims.kind, scope: claims.scope, target } }
  return {
    type: 'credentials',
    question: {
      api,
      headers: headers ?? [],
      target,
      clientAddress,
    },
  }
}

interface HttpRequest {
  method: string
  host: string
  path: string
}

function readRequest(fields: Fields, earlier: HttpRequest | undefined): HttpRequest {
  if (earlier !== undefined) throw repeated('request')
  const request = { method: '', host: '', path: '' }
  const end = fields.enter()
  while (fields.next()) {
    if (fields.number === HTTP_REQUEST.method) request.method = fields.text()
    else if (fields.number === HTTP_REQUEST.host) request.host = fields.text()
    else if (fields.number === HTTP_REQUEST.path) request.path = fields.text()
    else fields.skip()
  }
  fields.leave(end)
  return request
}

/** A check whose API and target the routes say. */
function ofRequest(path: string, check: FoundFields & { readonly request: HttpRequest }): CheckQuestion {
  const { api, headers, claims, target, clientAddress, request } = check
  if (
    api !== '' ||
    target !== undefined ||
    headers === undefined ||
    claims !== undefined ||
    clientAddress === MISWRITTEN
  )
    throw violationsOf(path, check)
  return {
    type: 'request',
    request: {
      method: request.method,
      host: request.host === '' ? undefined : request.host,
      target: request.path,
      header: valuesIn(headers),
    },
    question: { headers, clientAddress },
  }
}

/** Looks among the headers, which are put in order once: the routes ask for a dozen names. */
function valuesIn(headers: readonly Header[]): RouteRequest['header'] {
  let byName: Map<string, string[]> | undefined
  return (name) => {
    if (byName === undefined) {
      byName = new Map()
      for (const [each, value] of headers) {
        const lower = lowerCase(each)
        const values = byName.get(lower)
        if (values === undefined) byName.set(lower, [value])
        else values.push(value)
      }
    }
    return byName.get(name)
  }
}

function readHeaders(fields: Fields, earlier: Header[] | undefined, position: Position): Header[] {
  if (earlier !== undefined) throw repeated('credentials')
  const headers: Header[] = []
  const end = fields.enter()
  while (fields.next()) {
    if (fields.number !== CREDENTIALS.headers) fields.skip()
    else if (headers.length === HEADERS_MAX)
      throw invalidArgument({
        field: `${pathOf(position)}credentials.headers`,
        expected: `at most ${HEADERS_MAX} headers`,
      })
    else headers.push(readHeader(fields))
  }
  fields.leave(end)
  return headers
}

function readHeader(fields: Fields): Header {
  const header: Header = ['', '']
  const end = fields.enter()
  while (fields.next()) {
    if (fields.number === HEADER.name) header[0] = fields.text()
    else if (fields.number === HEADER.value) header[1] = fields.text()
    else fields.skip()
  }
  fields.leave(end)
  return header
}

function readClaims(fields: Fields, earlier: Claims | undefined): Claims {
  if (earlier !== undefined) throw repeated('token')
  let kind = ''
  let scope: Scope | undefined
  const end = fields.enter()
  while (fields.next()) {
    if (fields.number === TOKEN_CLAIMS.kind) kind = fields.text()
    else if (fields.number === TOKEN_CLAIMS.scope) scope = readScope(fields, scope)
    else fields.skip()
  }
  fields.leave(end)
  return { kind, scope }
}

/** On the wire, an empty project means that the scope has no project. */
function readScope(fields: Fields, earlier: Scope | undefined): Scope {
  if (earlier !== undefined) throw repeated('scope')
  let account = ''
  let project: string | undefined
  const end = fields.enter()
  while (fields.next()) {
    if (fields.number === SCOPE.account) account = fields.text()
    else if (fields.number === SCOPE.project) project = fields.text() || undefined
    else fields.skip()
  }
  fields.leave(end)
  return { account, project }
}

/** Of a text that is not an address, and does not say that there is none. */
const MISWRITTEN = 'miswritten'

function readAddress(text: string): FoundFields['clientAddress'] {
  return ipAddress(text) ?? (text === '' || isNoAddress(text) ? undefined : MISWRITTEN)
}

/** The error for a batch that is too long. It only counts the remaining checks and does not read them. */
function tooMany(bytes: Buffer, lengthMax: number, fieldsMax: number): CallError {
  let length = 0
  for (const fields = new Fields(bytes, fieldsMax); fields.next(); fields.skip())
    if (fields.number === CHECK_BATCH_REQUEST.checks) length++
  return invalidArgument({ field: 'checks', expected: `at most ${lengthMax} checks, found ${length}` })
}

/** A repeated message field is refused, because dropping one of the two could change the decision. */
function repeated(field: string): RangeError {
  return new RangeError(`the message field ${field} is repeated`)
}

function pathOf(position: Position): string {
  return typeof position === 'number' ? `checks[${position}].` : position
}

/** The fields that were found of a check. */
interface FoundFields {
  readonly api: string
  readonly headers: Header[] | undefined
  readonly claims: Claims | undefined
  readonly target: Scope | undefined
  readonly clientAddress: IpAddress | typeof MISWRITTEN | undefined
  readonly request?: HttpRequest
}

/** The error with all violations of a check, each with the path of its field. */
function violationsOf(path: string, check: FoundFields): CallError {
  const violations: FieldViolation[] = []
  const isRouted = check.request !== undefined
  if (isRouted && check.api !== '')
    violations.push({ field: `${path}api`, expected: 'no API, because the routes say it for `request`' })
  if (isRouted && check.target !== undefined)
    violations.push({
      field: `${path}target`,
      expected: 'no target, because the routes say it for `request`',
    })
  if (isRouted && check.claims !== undefined)
    violations.push({ field: `${path}request`, expected: 'a request with credentials, and not with a token' })
  if (!isRouted && check.api === '') violations.push({ field: `${path}api`, expected: 'the id of an API' })
  if ((check.headers === undefined) === (check.claims === undefined))
    violations.push({
      field: `${path}subject`,
      expected: `exactly one of credentials and token, found ${check.headers === undefined ? 'neither' : 'both'}`,
    })
  if (!isRouted && check.target?.account === '')
    violations.push({ field: `${path}target.account`, expected: 'the account that owns the resource' })
  if (check.clientAddress === MISWRITTEN)
    violations.push({ field: `${path}client_address`, expected: 'an IPv4 or IPv6 address' })
  return invalidArgument(...violations)
}
