/**
 * Reads the body of a login: the format of §2.2, and what Keystone's clients also send. They may use ids
 * instead of names or beside them, repeat a method, or send an empty password. Unknown keys are ignored.
 */
import { readIssuanceBody } from '../../../engine/index.ts'
import { callError, type FieldViolation, invalidArgument } from '../../base/call-error.ts'
import { Secret } from '../../base/secret.ts'
import { type Login, loginRefused } from '../../usecases/identity.ts'
import type { Reference, ReferenceInAccount } from '../../usecases/references.ts'
import { isObject } from '../json.ts'

/** What a login may say beyond the source: `http.compatibility` of the configuration. */
export interface LoginCompatibility {
  /** Whether a login without a scope is read as one for an unscoped token. */
  readonly unscopedLogin: boolean
  /** Whether a token can stand in place of a password. */
  readonly tokenMethod: boolean
  /** Account that is meant where a login names none or Keystone's default domain; `undefined`: none is. */
  readonly defaultDomain: string | undefined
}

/** Most methods in a login. */
const METHODS_MAX = 16

const IDENTITY = 'auth.identity'
const METHODS = `${IDENTITY}.methods`
const TOKEN_ID = `${IDENTITY}.token.id`
const USER = `${IDENTITY}.password.user`
const SCOPE = 'auth.scope'
const PROJECT = `${SCOPE}.project`

/** Paths of objects with an id or a name. An outer object comes before the objects in it. */
const REFERENCES = [USER, `${USER}.domain`, `${SCOPE}.domain`, PROJECT, `${PROJECT}.domain`]
const DOMAINS = REFERENCES.filter((path) => path.endsWith('.domain'))

/** Scopes of Keystone that the source does not have. */
const OTHER_SCOPES = ['system', 'OS-TRUST:trust']

/** A value for fields that §2.2 requires but that are not used. */
const PLACEHOLDER = '-'

/** A complete scope. */
const SCOPE_EXPECTED =
  '{"domain": {"name": ACCOUNT}} for an account-scoped token, or {"project": {"name": PROJECT, "domain": {"name": ACCOUNT}}} for a project-scoped one'

/** Id and name of the domain that Keystone's clients send if none is configured. */
const KEYSTONE_DEFAULT = { id: 'default', name: 'Default' }

/**
 * Changes the body into the format of §2.2, and reads it.
 *
 * @param body will be modified, so it must belong to this call
 * @throws CallError if the body is invalid
 */
export function readLogin(
  body: unknown,
  compatibility: LoginCompatibility,
): Omit<Login, 'clientAddress' | 'connection'> {
  const violations: FieldViolation[] = []
  const token = readMethod(body, compatibility, violations)
  const unscoped = readScopeless(body, compatibility, violations)
  if (compatibility.defaultDomain !== undefined) fillDomains(body, compatibility.defaultDomain)
  const sent = moveIdsToNames(body, violations)
  const passwordIsEmpty = valueAt(body, `${USER}.password`) === ''
  if (passwordIsEmpty) setAt(body, USER, 'password', PLACEHOLDER)

  const reading = readIssuanceBody(body)
  if (!reading.ok)
    violations.push(
      ...reading.faults
        // What is wrong with the scope as a whole was said already.
        .filter(({ path }) => !violations.some(({ field }) => field === SCOPE && path === SCOPE))
        .map(({ path, expected }) => ({ field: sentField(path, sent) || 'the body', expected })),
    )
  if (!reading.ok || violations.length > 0) throw invalidArgument(...violations)
  const { userName, account, password, scope } = reading.issuance

  const reference = (path: string, name: string): Reference =>
    sent.has(path) ? { id: name, name: sent.get(path) } : { name }
  const within = (path: string, name: string, domain: string): ReferenceInAccount =>
    sent.has(path)
      ? { id: name, name: sent.get(path) }
      : { name, account: reference(`${path}.domain`, domain) }
  return {
    method:
      token !== undefined
        ? { type: 'token', value: token }
        : {
            type: 'password',
            user: within(USER, userName, account),
            password: new Secret(passwordIsEmpty ? '' : password),
          },
    scope: unscoped
      ? { type: 'unscoped' }
      : scope.project === undefined
        ? { type: 'account', account: reference(`${SCOPE}.domain`, scope.account) }
        : { type: 'project', project: within(PROJECT, scope.project, scope.account) },
  }
}

/** Checks the methods. Returns the token that stands in place of the password, if one does. */
function readMethod(
  body: unknown,
  { tokenMethod }: LoginCompatibility,
  violations: FieldViolation[],
): Secret | undefined {
  const methods = valueAt(body, METHODS)
  const byToken = methods !== undefined && checkMethods(methods, tokenMethod) === 'token'
  setAt(body, IDENTITY, 'methods', methods && ['password'])
  if (!byToken) return undefined
  const value = valueAt(body, TOKEN_ID)
  if (typeof value !== 'string' || value === '')
    violations.push({ field: TOKEN_ID, expected: 'a non-empty string' })
  setAt(body, IDENTITY, 'password', {
    user: { name: PLACEHOLDER, domain: { name: PLACEHOLDER }, password: PLACEHOLDER },
  })
  return new Secret(typeof value === 'string' ? value : '')
}

function checkMethods(methods: unknown, tokenMethod: boolean): 'password' | 'token' {
  const supported = tokenMethod ? ['password', 'token'] : ['password']
  const expected = supported.map((method) => `["${method}"]`).join(' or ')
  if (!Array.isArray(methods) || methods.some((method) => typeof method !== 'string'))
    throw invalidArgument({ field: METHODS, expected: `the array ${expected}` })
  if (methods.length > METHODS_MAX)
    throw invalidArgument({ field: METHODS, expected: `at most ${METHODS_MAX} methods` })
  if (methods.length === 0) throw loginRefused()
  const [method, ...others] = new Set<string>(methods)
  if (others.length > 0 || !supported.includes(method ?? ''))
    throw callError('METHOD_NOT_SUPPORTED', { field: METHODS, methods: supported.join(' or ') })
  return method === 'token' ? 'token' : 'password'
}

/** Whether the login asks for an unscoped token. Where it may not, says which scope to send. */
function readScopeless(
  body: unknown,
  { unscopedLogin }: LoginCompatibility,
  violations: FieldViolation[],
): boolean {
  if (!isObject(valueAt(body, 'auth'))) return false
  for (const other of OTHER_SCOPES)
    if (valueAt(body, `${SCOPE}.${other}`) !== undefined)
      violations.push({ field: SCOPE, expected: `${SCOPE_EXPECTED}; not ${other}` })
  const scope = valueAt(body, SCOPE)
  const says = scope === 'unscoped' || valueAt(body, `${SCOPE}.unscoped`) !== undefined
  if (scope !== undefined && !says) return false
  if (!unscopedLogin)
    violations.push({
      field: SCOPE,
      expected: `${SCOPE_EXPECTED}; ${says ? 'not unscoped' : 'there is no unscoped token here'}`,
    })
  setAt(body, 'auth', 'scope', { domain: { name: PLACEHOLDER } })
  return true
}

/** Names the default account where a login names none, or Keystone's default domain. */
function fillDomains(body: unknown, account: string): void {
  for (const path of DOMAINS) {
    const parent = path.replace(/\.domain$/, '')
    const domain = valueAt(body, path)
    const missing = domain === undefined && parent !== SCOPE
    const isDefault =
      isObject(domain) &&
      (valueAt(domain, 'id') === KEYSTONE_DEFAULT.id ||
        (valueAt(domain, 'id') === undefined && valueAt(domain, 'name') === KEYSTONE_DEFAULT.name))
    if ((missing && valueAt(body, `${parent}.id`) === undefined) || isDefault)
      setAt(body, parent, 'domain', { name: account })
  }
}

/**
 * Puts each id in the place of the name, where §2.2 has it.
 *
 * @returns the paths that had an id, each with the name beside it
 */
function moveIdsToNames(body: unknown, violations: FieldViolation[]): Map<string, string | undefined> {
  const sent = new Map<string, string | undefined>()
  for (const path of REFERENCES) {
    const id = valueAt(body, `${path}.id`)
    if (id === undefined) continue
    const name = valueAt(body, `${path}.name`)
    if (name !== undefined && typeof name !== 'string')
      violations.push({ field: `${path}.name`, expected: 'a string, or none beside the id' })
    sent.set(path, typeof name === 'string' ? name : undefined)
    setAt(body, path, 'name', id)
    // §2.2 requires an account beside a name. An id needs none, and Keystone ignores one.
    if (path === USER || path === PROJECT) setAt(body, path, 'domain', { name: PLACEHOLDER })
  }
  return sent
}

/**
 * The path of the field that the client sent. `moveIdsToNames` moved ids to names, and this is the way back.
 */
function sentField(path: string, sent: ReadonlyMap<string, unknown>): string {
  const parent = path.replace(/\.name$/, '')
  return parent !== path && sent.has(parent) ? `${parent}.id` : path
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
