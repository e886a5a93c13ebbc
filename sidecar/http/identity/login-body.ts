/**
 * Reads the body of a login: the format of §2.2, and further fields of Keystone's clients. They may use ids
 * instead of names or beside them, repeat a method, or send an empty password. Unknown keys are ignored.
 */
import { callError, type FieldViolation, invalidArgument } from '../../base/call-error.ts'
import { Secret } from '../../base/secret.ts'
import { type Login, loginRefused } from '../../usecases/identity/identity-log-in.ts'
import type { Reference, ReferenceInAccount } from '../../usecases/references.ts'
import { isObject } from '../json.ts'

/** The fields of a login beyond the source: `http.compatibility` of the configuration. */
export interface LoginCompatibility {
  /** Whether a login without a scope is read as one for an unscoped token. */
  readonly unscopedLogin: boolean
  /** Whether a token can stand in place of a password. */
  readonly tokenMethod: boolean
  /** Whether an application credential can stand in place of a password. */
  readonly applicationCredentials: boolean
  /** Account that is meant where a login names none or Keystone's default domain; `undefined`: none is. */
  readonly defaultDomain: string | undefined
}

/** Most methods in a login. */
const METHODS_MAX = 16

const METHODS = 'auth.identity.methods'

/** Scopes of Keystone that the source does not have. */
const OTHER_SCOPES = ['system', 'OS-TRUST:trust']

/** A complete scope. */
const SCOPE_EXPECTED =
  '{"domain": {"name": ACCOUNT}} for an account-scoped token, or {"project": {"name": PROJECT, "domain": {"name": ACCOUNT}}} for a project-scoped one'

/** Id and name of the domain that Keystone's clients send if none is configured. */
export const KEYSTONE_DEFAULT = { id: 'default', name: 'Default' }

/** @throws CallError that names every field that is not as expected */
export function readLogin(
  body: unknown,
  compatibility: LoginCompatibility,
): Omit<Login, 'clientAddress' | 'connection'> {
  const violations: FieldViolation[] = []
  const auth = new Part(body, '', violations).object('auth')
  const method = readMethod(auth.object('identity'), compatibility)
  const ownScope = method.type === 'application_credential'
  if (ownScope && auth.field('scope') !== undefined)
    auth.expected('no scope: an application credential is for its own project', 'scope')
  const scope = ownScope ? UNSCOPED : readScope(auth, compatibility)
  if (violations.length > 0) throw invalidArgument(...violations)
  return { method, scope }
}

const UNSCOPED = { type: 'unscoped' } as const

function readMethod(identity: Part, compatibility: LoginCompatibility): Login['method'] {
  const { defaultDomain } = compatibility
  const methods = identity.field('methods')
  if (methods === undefined) identity.expected('the array ["password"]', 'methods')
  const method = methods === undefined ? 'password' : checkMethods(methods, compatibility)
  if (method === 'application_credential')
    return readCredential(identity.object('application_credential'), defaultDomain)
  if (method === 'token') {
    const value = fieldOf(identity.field('token'), 'id')
    if (isText(value)) return { type: 'token', value: new Secret(value) }
    identity.expected('a non-empty string', 'token.id')
    return { type: 'token', value: new Secret('') }
  }
  const user = identity.object('password').object('user')
  return {
    type: 'password',
    user: readInAccount(user, defaultDomain),
    password: new Secret(user.field('password') === '' ? '' : user.text('password')),
  }
}

/** An id counts alone, as in Keystone. */
function readCredential(part: Part, defaultDomain: string | undefined): Login['method'] {
  const secret = new Secret(part.text('secret'))
  const credential =
    part.field('id') === undefined
      ? { name: part.text('name'), user: readInAccount(part.object('user'), defaultDomain) }
      : { id: part.text('id') }
  return { type: 'application_credential', credential, secret }
}

type Method = Login['method']['type']

function checkMethods(methods: unknown, { tokenMethod, applicationCredentials }: LoginCompatibility): Method {
  const supported: Method[] = ['password']
  if (tokenMethod) supported.push('token')
  if (applicationCredentials) supported.push('application_credential')
  const expected = supported.map((method) => `["${method}"]`).join(' or ')
  if (!Array.isArray(methods) || methods.some((method) => typeof method !== 'string'))
    throw invalidArgument({ field: METHODS, expected: `the array ${expected}` })
  if (methods.length > METHODS_MAX)
    throw invalidArgument({ field: METHODS, expected: `at most ${METHODS_MAX} methods` })
  if (methods.length === 0) throw loginRefused()
  const [method, ...others] = new Set<string>(methods)
  const found = supported.find((each) => each === method)
  if (others.length > 0 || found === undefined)
    throw callError('METHOD_NOT_SUPPORTED', { field: METHODS, methods: supported.join(' or ') })
  return found
}

/** Where the login has no scope and may not, or has a wrong one, the violation says which scope to send. */
function readScope(auth: Part, { unscopedLogin, defaultDomain }: LoginCompatibility): Login['scope'] {
  const sent = auth.field('scope')
  const others = OTHER_SCOPES.filter((other) => fieldOf(sent, other) !== undefined)
  for (const other of others) auth.expected(`${SCOPE_EXPECTED}; not ${other}`, 'scope')
  const says = sent === 'unscoped' || fieldOf(sent, 'unscoped') !== undefined
  if (sent === undefined || says) {
    const problem = says ? 'not unscoped' : 'there is no unscoped token here'
    if (!unscopedLogin) auth.expected(`${SCOPE_EXPECTED}; ${problem}`, 'scope')
    return { type: 'unscoped' }
  }
  const scope = auth.object('scope')
  const hasDomain = scope.field('domain') !== undefined
  const hasProject = scope.field('project') !== undefined
  // Where another scope is sent, the fault of the scope as a whole was reported already.
  if (hasDomain === hasProject && others.length === 0)
    scope.expected(
      `exactly one of domain (account scope) and project (project scope), not ${hasDomain ? 'both' : 'neither'}`,
    )
  if (hasDomain === hasProject) return { type: 'unscoped' }
  return hasDomain
    ? { type: 'account', account: readAccount(scope, defaultDomain) }
    : { type: 'project', project: readInAccount(scope.object('project'), defaultDomain) }
}

/** A user or a project. An account is required beside a name (§2.2). Beside an id, Keystone ignores one. */
function readInAccount(part: Part, defaultDomain: string | undefined): ReferenceInAccount {
  return readId(part) ?? { name: part.text('name'), account: readAccount(part, defaultDomain) }
}

/** The account in `domain`: the default one where there is none, or it is Keystone's default domain. */
function readAccount(parent: Part, defaultDomain: string | undefined): Reference {
  const sent = parent.field('domain')
  const id = fieldOf(sent, 'id')
  const isDefault =
    sent === undefined ||
    id === KEYSTONE_DEFAULT.id ||
    (id === undefined && fieldOf(sent, 'name') === KEYSTONE_DEFAULT.name)
  if (isDefault && defaultDomain !== undefined) return { name: defaultDomain }
  const domain = parent.object('domain')
  return readId(domain) ?? { name: domain.text('name') }
}

/** The id and the name beside it; `undefined` if there is no id. */
function readId(part: Part): Extract<Reference, { readonly id: string }> | undefined {
  if (part.field('id') === undefined) return undefined
  const name = part.field('name')
  if (name === undefined || typeof name === 'string') return { id: part.text('id'), name }
  part.expected('a string, or none beside the id', 'name')
  return { id: part.text('id') }
}

/** An object in the body. If it is not one, a violation says so, and its fields cause no further ones. */
class Part {
  readonly #value: unknown
  readonly #path: string
  readonly #violations: FieldViolation[]

  /** @param inObject whether it is in an object. Otherwise, a violation was noted already */
  constructor(value: unknown, path: string, violations: FieldViolation[], inObject = true) {
    this.#value = value
    this.#path = path
    this.#violations = violations
    if (inObject && !isObject(value)) violations.push({ field: path || 'the body', expected: 'an object' })
  }

  field(name: string): unknown {
    return fieldOf(this.#value, name)
  }

  object(name: string): Part {
    return new Part(this.field(name), this.#pathOf(name), this.#violations, isObject(this.#value))
  }

  /** A text that is not empty. */
  text(name: string): string {
    const value = this.field(name)
    if (isText(value)) return value
    this.expected('a non-empty string', name)
    return ''
  }

  /** Notes a violation of a field, or of the object itself. */
  expected(expected: string, name?: string): void {
    if (!isObject(this.#value)) return
    const field = name === undefined ? this.#path : this.#pathOf(name)
    this.#violations.push({ field, expected })
  }

  #pathOf(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`
  }
}

/** The own field of an object; `undefined` where there is none, or it is `null`. */
function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? (value[name] ?? undefined) : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
