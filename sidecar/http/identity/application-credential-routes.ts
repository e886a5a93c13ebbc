/** The routes of application credentials, as Keystone has them. */

import { callError, type FieldViolation, invalidArgument } from '../../base/call-error.ts'
import type { HttpRequest } from '../../base/http/exchange.ts'
import type { HttpRoutes } from '../../base/http/http-routes.ts'
import { Secret } from '../../base/secret.ts'
import { readTime, TIME_RANGE, type WrittenTime } from '../../base/written-time.ts'
import type { ApplicationCredentialRecord } from '../../usecases/administration/returned-records.ts'
import { authenticate } from '../../usecases/identity/authenticate.ts'
import {
  type CredentialServices,
  type CredentialWish,
  createCredential,
  deleteCredential,
  getCredential,
  listCredentials,
} from '../../usecases/identity/own-application-credentials.ts'
import { isObject, type JsonBodies, sendJson } from '../json.ts'
import { idOf, type Site } from './catalog.ts'
import { questionOf } from './question.ts'

interface CredentialRoutes {
  /** Gives the services of one call. */
  readonly current: () => CredentialServices
  readonly bodies: JsonBodies
  /** Waits for the turn of a request that changes something. */
  readonly inTurn: (request: HttpRequest) => Promise<void>
  readonly site: () => Site
}

const PATH = '/identity/v3/users/:user/application_credentials'
const RULES = '/identity/v3/users/:user/access_rules'

export function addCredentialRoutes(
  routes: HttpRoutes,
  { current, bodies, inTurn, site }: CredentialRoutes,
): void {
  const urlOf = (userId: string, end: string) => `${site().identityUrl}/v3/users/${userId}/${end}`
  const shown = (credential: ApplicationCredentialRecord, secret?: Secret) => ({
    id: credential.id,
    name: credential.name,
    description: credential.description === '' ? null : credential.description,
    project_id: credential.projectId,
    user_id: credential.userId,
    roles: credential.roles.map((name) => ({ id: idOf('role', name), name, domain_id: null })),
    expires_at: credential.expiresAt === undefined ? null : timeOf(credential.expiresAt),
    unrestricted: credential.unrestricted,
    ...(secret && { secret: secret.reveal() }),
    links: { self: urlOf(credential.userId, `application_credentials/${credential.id}`) },
  })
  const questionAbout = (request: HttpRequest) => ({
    ...questionOf(request),
    userId: request.params.user ?? '',
  })

  routes.post(
    PATH,
    async (request, reply) => {
      await inTurn(request)
      const { credential, secret } = await createCredential(current(), questionAbout(request), (held) =>
        bodies.read(request, (body) => readWish(body, held)),
      )
      return sendJson(reply, 201, { application_credential: shown(credential, secret) })
    },
    { ownTrace: false },
  )
  routes.get(PATH, async (request, reply) => {
    const { user, found } = await listCredentials(current(), questionAbout(request))
    // As Keystone's clients look for one by its name.
    const { name } = request.query as { readonly name?: unknown }
    const matching = name === undefined ? found : found.filter((credential) => credential.name === name)
    return sendJson(reply, 200, {
      application_credentials: matching.map((credential) => shown(credential)),
      links: { self: urlOf(user.id, 'application_credentials'), previous: null, next: null },
    })
  })
  routes.get(`${PATH}/:id`, async (request, reply) => {
    const credential = await getCredential(current(), questionAbout(request), request.params.id ?? '')
    return sendJson(reply, 200, { application_credential: shown(credential) })
  })
  routes.delete(`${PATH}/:id`, async (request, reply) => {
    await inTurn(request)
    await deleteCredential(current(), questionAbout(request), request.params.id ?? '')
    return reply.code(204).send()
  })

  // There are no access rules here, and clients look for some before they make a credential.
  routes.get(RULES, async (request, reply) => {
    const { user } = await authenticate(current(), questionOf(request), 'scoped')
    if (user.id !== (request.params.user ?? '')) throw callError('NOT_ADMINISTRATOR', { who: 'that user' })
    const links = { self: urlOf(user.id, 'access_rules'), previous: null, next: null }
    return sendJson(reply, 200, { access_rules: [], links })
  })
}

/**
 * @param held names of the roles that the client may name
 * @throws CallError that names every field that is not as expected
 */
function readWish(body: unknown, held: readonly string[]): CredentialWish {
  const violations: FieldViolation[] = []
  const sent = isObject(body) ? body.application_credential : undefined
  if (!isObject(sent)) throw invalidArgument({ field: 'application_credential', expected: 'an object' })
  const field = <T>(
    name: string,
    expected: string,
    read: (value: unknown) => T | undefined,
  ): T | undefined => {
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined
    if (value === undefined || value === null) return undefined
    const found = read(value)
    if (found === undefined) violations.push({ field: `application_credential.${name}`, expected })
    return found
  }
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const name = field('name', 'a text', text) ?? ''
  const description = field('description', 'a text, or none', text) ?? ''
  const secret = field('secret', 'a text, or none', text)
  // Keystone's clients leave the zone out: it is UTC.
  const expiresAt = field('expires_at', TIME_EXPECTED, (value) => readTime(value, 'Z'))
  const unrestricted = field('unrestricted', 'true or false', readBoolean) ?? false
  const roles = field('roles', 'a list of roles, each with an id or a name', (value) =>
    readRoles(value, held),
  )
  field('access_rules', 'none: access rules are not supported here', readNone)
  if (violations.length > 0) throw invalidArgument(...violations)
  return {
    ...{ name, description, unrestricted, expiresAt },
    secret: secret === undefined ? undefined : new Secret(secret),
    // As in Keystone, an empty list counts as none: its newest client sends one.
    roles: roles?.length === 0 ? undefined : roles,
  }
}

const TIME_EXPECTED = `a time ${TIME_RANGE}, for example 2027-01-31T00:00:00.000000Z`

/** As Keystone shows it: in UTC, without a zone. */
function timeOf({ ms, us }: WrittenTime): string {
  return new Date(ms).toISOString().replace('Z', String(us).padStart(3, '0'))
}

function readBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

const ROLES_MAX = 1_000

/** The names of roles that are named by id or by name. An id that is not among those held has no name. */
function readRoles(value: unknown, held: readonly string[]): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > ROLES_MAX) return undefined
  const names = value.map((role) => {
    if (!isObject(role)) return undefined
    if (typeof role.id === 'string') return held.find((name) => idOf('role', name) === role.id) ?? ''
    return typeof role.name === 'string' ? role.name : undefined
  })
  return names.every((name) => name !== undefined) ? [...new Set(names)] : undefined
}

/** Keystone takes an empty list for none. */
function readNone(value: unknown): true | undefined {
  return Array.isArray(value) && value.length === 0 ? true : undefined
}
