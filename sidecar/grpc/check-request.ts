/**
 * Checks, read field by field. The generated decoder keeps the last side of a `oneof` of which both arrived, puts U+FFFD
 * where bytes are no text, and reads on where a message overruns its parent; a check must do neither.
 */
import { isIP } from 'node:net'
import type { Scope } from '../../engine/index.ts'
import { type CallError, type FieldViolation, invalidArgument } from '../base/call-error.ts'
import type { ClaimsQuestion, CredentialsQuestion } from '../usecases/check.ts'
import {
  CHECK_BATCH_REQUEST,
  CHECK_REQUEST,
  CHECK_STREAM_REQUEST,
  CREDENTIALS,
  HEADER,
  SCOPE,
  TOKEN_CLAIMS,
} from './field-numbers.ts'
import { Fields } from './fields.ts'
import { notAMessage } from './handler.ts'

/** A check, as one of the two use cases takes it. */
export type CheckQuestion =
  | { readonly type: 'claims'; readonly question: ClaimsQuestion }
  | { readonly type: 'credentials'; readonly question: CredentialsQuestion }

type Header = [name: string, value: string]
type Claims = Pick<ClaimsQuestion, 'kind' | 'scope'>

/** Where a check stands in its request: alone or on a stream (a path), or at this index of a batch. */
type Place = string | number

/** @throws CallError where the bytes are no such message, or do not say what the contract wants */
export function readCheck(bytes: Buffer): CheckQuestion {
  return whole(new Fields(bytes), '')
}

/** @throws CallError with the index of the check that is at fault */
export function readCheckBatch(bytes: Buffer, lengthMax: number): CheckQuestion[] {
  const questions: CheckQuestion[] = []
  const fields = new Fields(bytes)
  try {
    while (fields.next()) {
      if (fields.number !== CHECK_BATCH_REQUEST.checks) fields.skip()
      else if (questions.length === lengthMax) throw tooMany(bytes, lengthMax)
      else {
        const end = fields.enter()
        questions.push(whole(fields, questions.length))
        fields.leave(end)
      }
    }
  } catch (error) {
    throw notAMessage(error)
  }
  return questions
}

/** A question of a stream, with the id that its answer bears. */
export function readNumberedCheck(bytes: Buffer): { id: string; question: CheckQuestion } {
  let id = ''
  let question: CheckQuestion | undefined
  const fields = new Fields(bytes)
  try {
    while (fields.next()) {
      if (fields.number === CHECK_STREAM_REQUEST.id) id = fields.text()
      else if (fields.number !== CHECK_STREAM_REQUEST.check) fields.skip()
      else if (question !== undefined) throw twice('check')
      else {
        const end = fields.enter()
        question = whole(fields, 'check.')
        fields.leave(end)
      }
    }
  } catch (error) {
    throw notAMessage(error)
  }
  if (question === undefined) throw invalidArgument({ field: 'check', expected: 'a check' })
  return { id, question }
}

function whole(fields: Fields, place: Place): CheckQuestion {
  try {
    return read(fields, place)
  } catch (error) {
    throw notAMessage(error, pathOf(place))
  }
}

function read(fields: Fields, place: Place): CheckQuestion {
  let api = ''
  let headers: Header[] | undefined
  let claims: Claims | undefined
  let target: Scope | undefined
  let clientAddress = ''
  while (fields.next()) {
    const { number } = fields
    if (number === CHECK_REQUEST.api) api = fields.text()
    else if (number === CHECK_REQUEST.credentials) headers = readHeaders(fields, headers)
    else if (number === CHECK_REQUEST.token) claims = readClaims(fields, claims)
    else if (number === CHECK_REQUEST.target) target = readScope(fields, target)
    else if (number === CHECK_REQUEST.clientAddress) clientAddress = fields.text()
    // A later version of the contract may have more fields.
    else fields.skip()
  }
  if (
    api === '' ||
    (headers === undefined) === (claims === undefined) ||
    target?.account === '' ||
    (clientAddress !== '' && isIP(clientAddress) === 0)
  )
    throw violated(pathOf(place), { api, headers, claims, target, clientAddress })
  if (claims !== undefined)
    return { type: 'claims', question: { api, kind: claims.kind, scope: claims.scope, target } }
  return {
    type: 'credentials',
    question: {
      api,
      headers: headers ?? [],
      target,
      clientAddress: clientAddress === '' ? undefined : clientAddress,
    },
  }
}

function readHeaders(fields: Fields, earlier: Header[] | undefined): Header[] {
  if (earlier !== undefined) throw twice('credentials')
  const headers: Header[] = []
  const end = fields.enter()
  while (fields.next()) {
    if (fields.number === CREDENTIALS.headers) headers.push(readHeader(fields))
    else fields.skip()
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
  if (earlier !== undefined) throw twice('token')
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

/** On the wire an empty project is no project. */
function readScope(fields: Fields, earlier: Scope | undefined): Scope {
  if (earlier !== undefined) throw twice('scope')
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

/** The rest of the batch is counted, and not read. */
function tooMany(bytes: Buffer, lengthMax: number): CallError {
  let length = 0
  for (const fields = new Fields(bytes); fields.next(); fields.skip())
    if (fields.number === CHECK_BATCH_REQUEST.checks) length++
  return invalidArgument({ field: 'checks', expected: `at most ${lengthMax} checks, not ${length}` })
}

/** Whichever of the two were dropped might matter. */
function twice(field: string): RangeError {
  return new RangeError(`the message field ${field} comes twice`)
}

function pathOf(place: Place): string {
  return typeof place === 'number' ? `checks[${place}].` : place
}

/** Everything that a check lacks, with the path of each field. */
function violated(
  path: string,
  check: {
    readonly api: string
    readonly headers: unknown
    readonly claims: unknown
    readonly target: Scope | undefined
    readonly clientAddress: string
  },
): CallError {
  const violations: FieldViolation[] = []
  if (check.api === '') violations.push({ field: `${path}api`, expected: 'the id of an api' })
  if ((check.headers === undefined) === (check.claims === undefined))
    violations.push({
      field: `${path}subject`,
      expected: `exactly one of credentials and token, not ${check.headers === undefined ? 'neither' : 'both'}`,
    })
  if (check.target?.account === '')
    violations.push({ field: `${path}target.account`, expected: 'the account that owns the resource' })
  if (check.clientAddress !== '' && isIP(check.clientAddress) === 0)
    violations.push({ field: `${path}client_address`, expected: 'an IPv4 or IPv6 address' })
  return invalidArgument(...violations)
}
