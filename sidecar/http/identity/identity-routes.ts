/** The routes of the identity endpoint (§4.1), for clients of Keystone v3. */

import { nameOfSource, sourceAt } from '../../authority/login-source.ts'
import type { HttpReply, HttpRequest } from '../../base/http/exchange.ts'
import type { HttpRoutes } from '../../base/http/http-routes.ts'
import { whereabouts } from '../../base/ip-address.ts'
import { connectionOf } from '../../base/net/http-request.ts'
import type { Admitting, Clocked, PerCall } from '../../usecases/capabilities.ts'
import { authenticate } from '../../usecases/identity/authenticate.ts'
import { type Login, logIn } from '../../usecases/identity/identity-log-in.ts'
import type { IdentitySettings, IdentityToken } from '../../usecases/identity/identity-token.ts'
import type { CredentialServices } from '../../usecases/identity/own-application-credentials.ts'
import { revokeSubject, validate } from '../../usecases/identity/subject-token.ts'
import {
  type LoginTracing,
  type TracedLogin,
  traceFailure,
  traceIssued,
  traceRevoked,
} from '../../usecases/login-trace.ts'
import type { ReferenceInAccount } from '../../usecases/references.ts'
import type { Authenticating } from '../../usecases/requester.ts'
import { JsonBodies, sendJson } from '../json.ts'
import { type CatalogEntry, type Site, versionDocument } from './catalog.ts'
import { type LoginCompatibility, readLogin } from './login-body.ts'
import { questionOf } from './question.ts'
import { tokenBody } from './token-body.ts'

/** How the endpoint is configured. */
export interface IdentityOptions {
  readonly settings: IdentitySettings
  /** Account that is meant by Keystone's default domain. */
  readonly defaultDomain: string | undefined
  /** Whether users can list the scopes that they can get tokens for. */
  readonly listScopes: boolean
}

/** @param site a function, because the addresses are known only when the server listens */
export async function addIdentityRoutes(
  routes: HttpRoutes,
  services: PerCall<Authenticating & Clocked & Pick<CredentialServices, 'changeRates'>> &
    Admitting &
    LoginTracing,
  { settings, defaultDomain, listScopes }: IdentityOptions,
  site: () => Site,
): Promise<void> {
  const current = () => ({ ...services.forCall(), settings })
  const compatibility: LoginCompatibility = {
    unscopedLogin: settings.unscopedLogin,
    tokenMethod: settings.tokenMethod !== 'off',
    applicationCredentials: settings.applicationCredentials,
    defaultDomain,
  }
  const catalogFor = (request: HttpRequest, { token }: Pick<IdentityToken, 'token'>) =>
    Object.hasOwn(request.query as object, 'nocatalog') ? undefined : catalogOf(site(), token)

  /** Logins and revocations begin a few at a time. The caller is known by the call alone. */
  const inTurn = (request: HttpRequest) => services.intake.turn(`http ${connectionOf(request).name}`)
  const bodies = new JsonBodies(services.turns)
  addDiscovery(routes, site)
  routes.post('/identity/v3/auth/tokens', async (request, reply) => {
    const { clientAddress } = request
    const login = await bodies.read(request, (body) => readLogin(body, compatibility))
    const from = { protocol: 'http', address: whereabouts(clientAddress) } as const
    const source = nameOfSource(sourceAt(clientAddress))
    const traced = { from, source, requestId: request.id, user: namedIn(login) }
    const connection = connectionOf(request)
    const { value, issued } = await inTurn(request)
      .then(() => logIn(current(), { ...login, clientAddress, connection }))
      .catch((error: unknown) => {
        traceFailure(services, traced, error)
        throw error
      })
    const { name: userName } = issued.token.subject
    traceIssued(
      services,
      { ...traced, user: { account: issued.token.scope.account, userName } },
      issued.token,
    )
    reply.header('x-subject-token', value.reveal())
    return sendJson(reply, 201, tokenBody(issued, catalogFor(request, issued)))
  })
  // This route answers HEAD too, without a body.
  routes.get('/identity/v3/auth/tokens', async (request, reply) => {
    const question = { ...questionOf(request), acceptExpired: allowsExpired(request) }
    const token = await validate(current(), question)
    reply.header('x-subject-token', question.subject ?? '')
    return sendJson(reply, 200, tokenBody(token, catalogFor(request, token)))
  })
  routes.delete('/identity/v3/auth/tokens', async (request, reply) => {
    await inTurn(request)
    await revokeSubject(current(), questionOf(request))
    traceRevoked(services, { protocol: 'http', address: whereabouts(request.clientAddress) }, request.id)
    return reply.code(204).send()
  })

  routes.get('/identity/v3/auth/catalog', async (request, reply) => {
    const { token } = await authenticate(current(), questionOf(request), 'scoped')
    const links = { self: `${site().identityUrl}/v3/auth/catalog` }
    return sendJson(reply, 200, { catalog: catalogOf(site(), token), links })
  })
  if (listScopes) (await import('./scope-routes.ts')).addScopeRoutes(routes, current, site, defaultDomain)
  if (settings.applicationCredentials) {
    const { addCredentialRoutes } = await import('./application-credential-routes.ts')
    addCredentialRoutes(routes, { current, bodies, inTurn, site })
  }
}

/** Whom a login names, where it does so by names. */
function namedIn({ method }: Pick<Login, 'method'>): TracedLogin['user'] {
  const user = method.type === 'password' ? method.user : userIn(method)
  if (user === undefined) return undefined
  if (!('account' in user) || user.name === undefined || user.account?.name === undefined) return undefined
  return { account: user.account.name, userName: user.name }
}

/** The user whose application credential a login names. */
function userIn(method: Login['method']): ReferenceInAccount | undefined {
  return method.type === 'application_credential' && 'user' in method.credential
    ? method.credential.user
    : undefined
}

function addDiscovery(routes: HttpRoutes, site: () => Site): void {
  const versions = async (_request: HttpRequest, reply: HttpReply) => {
    reply.header('location', `${site().identityUrl}/v3/`)
    return sendJson(reply, 300, { versions: { values: [versionDocument(site())] } })
  }
  // Keystone answers at the bare host too, where some clients begin.
  routes.get('/', versions)
  routes.get('/identity', versions)
  routes.get('/identity/v3', async (_request, reply) =>
    sendJson(reply, 200, { version: versionDocument(site()) }),
  )
}

function catalogOf({ catalog }: Site, token: IdentityToken['token']): readonly CatalogEntry[] {
  return catalog.for({ projectId: token.projectId, userId: token.subject.id })
}

/** Whether the query asks for expired tokens too. It reads the boolean as Keystone does. */
function allowsExpired(request: HttpRequest): boolean {
  const { allow_expired: value } = request.query as { readonly allow_expired?: unknown }
  return typeof value === 'string' && /^(1|t|true|on|y|yes)$/i.test(value)
}
