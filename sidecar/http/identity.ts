/** The routes of the identity endpoint (§4.1), for clients of Keystone v3. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { authenticate, logIn, revokeSubject, type TokenQuestion, validate } from '../usecases/identity.ts'
import { forCall, type Services } from '../usecases/services.ts'
import { type Site, versionDocument } from './catalog.ts'
import { jsonBodyOf, sendJson } from './json.ts'
import { readLogin } from './login-body.ts'
import { tokenBody } from './token-body.ts'

/** @param site a function, because the addresses are known only when the server listens */
export function addIdentityRoutes(server: FastifyInstance, services: Services, site: () => Site): void {
  const catalogFor = (request: FastifyRequest) =>
    Object.hasOwn(request.query as object, 'nocatalog') ? undefined : site().catalog

  server.get('/identity', async (_request, reply) => {
    reply.header('location', `${site().identityUrl}/v3/`)
    return sendJson(reply, 300, { versions: { values: [versionDocument(site())] } })
  })
  server.get('/identity/v3', async (_request, reply) =>
    sendJson(reply, 200, { version: versionDocument(site()) }),
  )

  server.post('/identity/v3/auth/tokens', async (request, reply) => {
    const { value, issued } = await logIn(forCall(services), {
      ...readLogin(jsonBodyOf(request)),
      clientAddress: addressOf(request),
    })
    reply.header('x-subject-token', value.reveal())
    return sendJson(reply, 201, tokenBody(issued, catalogFor(request)))
  })
  // This route answers HEAD too, without a body.
  server.get('/identity/v3/auth/tokens', async (request, reply) => {
    const question = { ...questionOf(request), acceptExpired: allowsExpired(request) }
    const token = await validate(forCall(services), question)
    reply.header('x-subject-token', question.subject)
    return sendJson(reply, 200, tokenBody(token, catalogFor(request)))
  })
  server.delete('/identity/v3/auth/tokens', async (request, reply) => {
    await revokeSubject(forCall(services), questionOf(request))
    return reply.code(204).send()
  })

  server.get('/identity/v3/auth/catalog', async (request, reply) => {
    await authenticate(forCall(services), questionOf(request))
    const { catalog, identityUrl } = site()
    const links = { self: `${identityUrl}/v3/auth/catalog`, previous: null, next: null }
    return sendJson(reply, 200, { catalog, links })
  })
}

function questionOf(request: FastifyRequest): TokenQuestion {
  const headers = request.raw.headersDistinct
  const subjects = headers['x-subject-token'] ?? []
  return {
    headers: Object.entries(headers).map(([name, values]) => [name, values ?? []]),
    clientAddress: addressOf(request),
    // A repeated header counts as missing.
    subject: subjects.length === 1 ? (subjects[0] ?? '') : '',
    acceptExpired: false,
  }
}

/** The client's address. A client that has already disconnected has none, and must not count as a client on this machine. */
function addressOf(request: FastifyRequest): string {
  return request.ip || 'gone'
}

/** Whether the query asks for expired tokens too. It reads the boolean as Keystone does. */
function allowsExpired(request: FastifyRequest): boolean {
  const { allow_expired: value } = request.query as { readonly allow_expired?: unknown }
  return typeof value === 'string' && /^(1|t|true|on|y|yes)$/i.test(value)
}
