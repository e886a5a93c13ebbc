/**
 * The routes that list the scopes a user can get tokens for, as Keystone's clients ask before they choose
 * one.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { callError } from '../../base/call-error.ts'
import type { AccountRecord, ProjectRecord } from '../../usecases/administration/records.ts'
import { authenticate } from '../../usecases/identity/authenticate.ts'
import type { IdentityServices } from '../../usecases/identity/identity-token.ts'
import { accountsFor, projectsFor } from '../../usecases/scopes.ts'
import { sendJson } from '../json.ts'
import type { Site } from './catalog.ts'
import { questionOf } from './question.ts'

/**
 * @param site a function, because the addresses are known only when the server listens
 * @param current gives the services of one call
 */
export function addScopeRoutes(
  server: FastifyInstance,
  current: () => IdentityServices,
  site: () => Site,
): void {
  const urlOf = (path: string) => `${site().identityUrl}/v3/${path}`
  const projectShown = (project: ProjectRecord, accountId: string) => ({
    id: project.id,
    name: project.name,
    domain_id: accountId,
    parent_id: accountId,
    is_domain: false,
    ...COMMON,
    links: { self: urlOf(`projects/${project.id}`) },
  })
  const accountShown = ({ id, account }: AccountRecord) => ({
    id,
    name: account,
    ...COMMON,
    links: { self: urlOf(`domains/${id}`) },
  })
  const listed = (key: string, path: string, items: readonly object[]) => ({
    [key]: items,
    links: { self: urlOf(path), previous: null, next: null },
  })
  const requesterOf = async (request: FastifyRequest) => {
    const services = current()
    const { user } = await authenticate(services, questionOf(request))
    return { user, administration: services.administration }
  }
  const projects = async (request: FastifyRequest, path: string, userId?: string) => {
    const { user, administration } = await requesterOf(request)
    if (userId !== undefined && userId !== user.id) throw callError('NOT_ADMINISTRATOR', { who: 'that user' })
    const { id } = await administration.accounts.get(user.account)
    const found = await projectsFor(administration, user)
    return listed(
      'projects',
      path,
      found.map((project) => projectShown(project, id)),
    )
  }

  server.get('/identity/v3/auth/projects', async (request, reply) =>
    sendJson(reply, 200, await projects(request, 'auth/projects')),
  )
  // `openstack project list --my-projects` asks here.
  server.get<{ Params: { id: string } }>('/identity/v3/users/:id/projects', async (request, reply) => {
    const { id } = request.params
    return sendJson(reply, 200, await projects(request, `users/${id}/projects`, id))
  })
  // Clients ask for all projects first. Where they may not, as with Keystone, they ask for their own.
  server.get('/identity/v3/projects', async (request) => {
    await requesterOf(request)
    throw callError('NOT_ADMINISTRATOR', { who: 'an operator, over gRPC,' })
  })
  server.get('/identity/v3/auth/domains', async (request, reply) => {
    const { user, administration } = await requesterOf(request)
    const found = await accountsFor(administration, user)
    return sendJson(reply, 200, listed('domains', 'auth/domains', found.map(accountShown)))
  })
  server.get<{ Params: { id: string } }>('/identity/v3/domains/:id', async (request, reply) => {
    const { user, administration } = await requesterOf(request)
    const account = await administration.accounts.get(user.account)
    if (request.params.id !== account.id)
      throw callError('NOT_ADMINISTRATOR', { who: 'a user of that account' })
    return sendJson(reply, 200, { domain: accountShown(account) })
  })
}

/** What the directory has no words for, or only lists where it is so. */
const COMMON = { description: '', enabled: true, tags: [], options: {} }
