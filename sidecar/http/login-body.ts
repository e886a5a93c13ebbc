/**
 * The body of a login: §2.2, and what Keystone's clients send beyond it. Ids stand in place of names, a method may be
 * named twice, the password may be empty; unknown keys are passed over.
 */
import { readIssuanceBody } from '../../engine/index.ts'
import { callError, type FieldViolation, invalidArgument } from '../base/call-error.ts'
import { Secret } from '../base/secret.ts'
import { type AccountReference, type Login, loginRefused } from '../usecases/identity.ts'

/** How many methods are looked at. */
const METHODS_MAX = 16

const METHODS = 'auth.identity.methods'
const USER = 'auth.identity.password.user'
const SCOPE = 'auth.scope'
const PROJECT = `${SCOPE}.project`

/** Where an id can stand in place of a name; what contains comes before what it contains. */
const REFERENCES = [USER, `${USER}.domain`, `${SCOPE}.domain`, PROJECT, `${PROJECT}.domain`]

/** Scopes that Keystone has and the source has not. */
const OTHER_SCOPES = ['system', 'unscoped', 'OS-TRUST:trust']

/** Stands where §2.2 asks for something that is not looked at. */
const ANYTHING = '-'

/** @param body parsed for this call alone: it is changed into the body of §2.2 and read as such @throws CallError */
export function readLogin(body: unknown): Omit<Login, 'clientAddress'> {
  const methods = valueAt(body, METHODS)
  if (methods !== undefined) checkMethods(methods)
  put(body, 'auth.identity', 'methods', methods && ['password'])

  const violations: FieldViolation[] = []
  const byId = new Set<string>()
  for (const path of REFERENCES) {
    if (valueAt(body, `${path}.id`) === undefined) continue
    if (valueAt(body, `${path}.name`) !== undefined)
      violations.push({ field: path, expected: 'exactly one of id and name' })
    byId.add(path)
    put(body, path, 'name', valueAt(body, `${path}.id`))
    // An id needs no account beside it.
    if (path === USER || path === PROJECT) put(body, path, 'domain', { name: ANYTHING })
  }
  for (const other of OTHER_SCOPES)
    if (valueAt(body, `${SCOPE}.${other}`) !== undefined)
      violations.push({
        field: SCOPE,
        expected: `domain (account scope) or project (project scope), not ${other}`,
      })
  const passwordIsEmpty = valueAt(body, `${USER}.password`) === ''
  if (passwordIsEmpty) put(body, USER, 'password', ANYTHING)

  const reading = readIssuanceBody(body)
  if (!reading.ok)
    violations.push(
      ...reading.faults.map(({ path, expected }) => ({ field: sentAs(path, byId) || 'the body', expected })),
    )
  if (!reading.ok || violations.length > 0) throw invalidArgument(...violations)
  const { userName, account, password, scope } = reading.issuance

  const reference = (path: string, value: string): AccountReference =>
    byId.has(path) ? { id: value } : { name: value }
  const scopeOf = (): Login['scope'] => {
    if (scope.project === undefined)
      return { type: 'account', account: reference(`${SCOPE}.domain`, scope.account) }
    if (byId.has(PROJECT)) return { type: 'project_id', id: scope.project }
    return { type: 'project', name: scope.project, account: reference(`${PROJECT}.domain`, scope.account) }
  }
  return {
    user: byId.has(USER)
      ? { id: userName }
      : { name: userName, account: reference(`${USER}.domain`, account) },
    password: new Secret(passwordIsEmpty ? '' : password),
    scope: scopeOf(),
  }
}

function checkMethods(methods: unknown): void {
  if (!Array.isArray(methods) || methods.some((method) => typeof method !== 'string'))
    throw invalidArgument({ field: METHODS, expected: 'the array ["password"]' })
  if (methods.length > METHODS_MAX)
    throw invalidArgument({ field: METHODS, expected: `at most ${METHODS_MAX} methods` })
  if (methods.length === 0) throw loginRefused()
  if (methods.some((method) => method !== 'password'))
    throw callError('METHOD_NOT_SUPPORTED', { field: METHODS })
}

/** The field as the client sent it: an id is read as a name. */
function sentAs(path: string, byId: ReadonlySet<string>): string {
  const parent = path.replace(/\.name$/, '')
  return parent !== path && byId.has(parent) ? `${parent}.id` : path
}

/** The value at a path of own keys; `undefined` where there is none. */
function valueAt(body: unknown, path: string): unknown {
  let value = body
  for (const key of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** Sets a key of the object at a path, if there is an object. */
function put(body: unknown, path: string, key: string, value: unknown): void {
  const object = valueAt(body, path)
  if (isObject(object)) object[key] = value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
