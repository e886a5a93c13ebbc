/**
 * Reads the body of a login: the format of §2.2, and what Keystone's clients also send. They may use ids instead of names,
 * repeat a method, or send an empty password. Unknown keys are ignored.
 */
import { readIssuanceBody } from '../../engine/index.ts'
import { callError, type FieldViolation, invalidArgument } from '../base/call-error.ts'
import { Secret } from '../base/secret.ts'
import { type AccountReference, type Login, loginRefused } from '../usecases/identity.ts'

/** Most methods in a login. */
const METHODS_MAX = 16

const METHODS = 'auth.identity.methods'
const USER = 'auth.identity.password.user'
const SCOPE = 'auth.scope'
const PROJECT = `${SCOPE}.project`

/** Paths of objects with an id or a name. An outer object comes before the objects in it. */
const REFERENCES = [USER, `${USER}.domain`, `${SCOPE}.domain`, PROJECT, `${PROJECT}.domain`]

/** Scopes of Keystone that the source does not have. */
const OTHER_SCOPES = ['system', 'unscoped', 'OS-TRUST:trust']

/** A value for fields that §2.2 requires but that are not used. */
const PLACEHOLDER = '-'

/**
 * Changes the body into the format of §2.2, and reads it.
 *
 * @param body will be modified, so it must belong to this call
 * @throws CallError if the body is invalid
 */
export function readLogin(body: unknown): Omit<Login, 'clientAddress'> {
  const methods = valueAt(body, METHODS)
  if (methods !== undefined) checkMethods(methods)
  setAt(body, 'auth.identity', 'methods', methods && ['password'])

  const violations: FieldViolation[] = []
  const byId = new Set<string>()
  for (const path of REFERENCES) {
    if (valueAt(body, `${path}.id`) === undefined) continue
    if (valueAt(body, `${path}.name`) !== undefined)
      violations.push({ field: path, expected: 'exactly one of id and name' })
    byId.add(path)
    setAt(body, path, 'name', valueAt(body, `${path}.id`))
    // §2.2 requires an account beside a name, but an id needs none.
    if (path === USER || path === PROJECT) setAt(body, path, 'domain', { name: PLACEHOLDER })
  }
  for (const other of OTHER_SCOPES)
    if (valueAt(body, `${SCOPE}.${other}`) !== undefined)
      violations.push({
        field: SCOPE,
        expected: `domain (account scope) or project (project scope), not ${other}`,
      })
  const passwordIsEmpty = valueAt(body, `${USER}.password`) === ''
  if (passwordIsEmpty) setAt(body, USER, 'password', PLACEHOLDER)

  const reading = readIssuanceBody(body)
  if (!reading.ok)
    violations.push(
      ...reading.faults.map(({ path, expected }) => ({
        field: sentField(path, byId) || 'the body',
        expected,
      })),
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

/** The path of the field that the client sent. `readLogin` moved ids to names, and this is the way back. */
function sentField(path: string, byId: ReadonlySet<string>): string {
  const parent = path.replace(/\.name$/, '')
  return parent !== path && byId.has(parent) ? `${parent}.id` : path
}

/** The value at a path; `undefined` if it does not exist. Inherited keys do not count. */
function valueAt(body: unknown, path: string): unknown {
  let value = body
  for (const key of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** Sets a key of the object at a path. Does nothing if there is no object. */
function setAt(body: unknown, path: string, key: string, value: unknown): void {
  const object = valueAt(body, path)
  if (isObject(object)) object[key] = value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
