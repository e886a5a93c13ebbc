/**
 * The routes that list the scopes a user can get tokens for, as Keystone's clients ask before they choose
 * one; and what clients look up by id or by name: the user, their projects and their account, and regions.
 */

import { callError } from '../../base/call-error.ts'
import type { HttpRequest } from '../../base/http/exchange.ts'
import type { HttpRoutes } from '../../base/http/http-routes.ts'
import type {
  AccountRecord,
  ProjectRecord,
  UserRecord,
} from '../../usecases/administration/returned-records.ts'
import { authenticate } from '../../usecases/identity/authenticate.ts'
import type { IdentityServices } from '../../usecases/identity/identity-token.ts'

import { accountOf, accountsFor, projectsFor } from '../../usecases/scopes-of-user.ts'

import { sendJson } from '../json.ts'
import type { Site } from './catalog.ts'
import { KEYSTONE_DEFAULT } from './login-body.ts'
import { questionOf } from './question.ts'

/**
 * @param site a function, because the addresses are known only when the server listens
 * @param current gives the services of one call
 * @param defaultDomain account that is meant by the id of Keystone's default domain
 */
export function addScopeRoutes(
  routes: HttpRoutes,
  current: () => IdentityServices,
  site: () => Site,
  defaultDomain: string | undefined,
): void {
  const forms = new Forms(site)
  const questions = new Questions(current, forms)
  routes.get('/identity/v3/auth/projects', async (request, reply) =>
    sendJson(reply, 200, await questions.projects(request, 'auth/projects')),
  )
  // `openstack project list --my-projects` asks here.
  routes.get('/identity/v3/users/:id/projects', async (request, reply) => {
    const { id = '' } = request.params
    return sendJson(reply, 200, await questions.projects(request, `users/${id}/projects`, id))
  })
  routes.get('/identity/v3/auth/domains', async (request, reply) => {
    const { user, administration } = await questions.requester(request)
    const found = (await accountsFor(administration, user)).map((account) => forms.account(account))
    return sendJson(reply, 200, forms.list('domains', 'auth/domains', found))
  })
  addProjectLookUps(routes, questions)
  addOtherLookUps(routes, questions, forms, site, defaultDomain)
}

function addProjectLookUps(routes: HttpRoutes, questions: Questions): void {
  // Clients ask for all projects first. Where they may not, as with Keystone, they ask for their own. A name
  // is looked for among those.
  routes.get('/identity/v3/projects', async (request, reply) => {
    const { name, domain_id: domainId } = request.query as Readonly<Record<string, unknown>>
    if (typeof name !== 'string') {
      await questions.requester(request)
      throw callError('NOT_ADMINISTRATOR', { who: 'an operator, over gRPC,' })
    }
    const own = await questions.projects(request, 'projects')
    const found = own.projects.filter(
      (project) => project.name === name && (domainId === undefined || project.domain_id === domainId),
    )
    return sendJson(reply, 200, { ...own, projects: found })
  })
  // For one that the user cannot get tokens for, the answer is that of one that does not exist.
  routes.get('/identity/v3/projects/:id', async (request, reply) => {
    const { projects } = await questions.projects(request, 'projects')
    const project = projects.find(({ id }) => id === request.params.id)
    if (project === undefined) throw callError('NOT_FOUND', { what: 'such project of this user' })
    return sendJson(reply, 200, { project })
  })
}

function addOtherLookUps(
  routes: HttpRoutes,
  questions: Questions,
  forms: Forms,
  site: () => Site,
  defaultDomain: string | undefined,
): void {
  routes.get('/identity/v3/domains/:id', async (request, reply) => {
    const { user, administration } = await questions.requester(request)
    const account = await accountOf(administration, user)
    const { id = '' } = request.params
    const isDefault = id === KEYSTONE_DEFAULT.id && account.account === defaultDomain
    if (id !== account.id && !isDefault)
      throw callError('NOT_ADMINISTRATOR', { who: 'a user of that account' })
    return sendJson(reply, 200, { domain: forms.account(account) })
  })
  routes.get('/identity/v3/users/:id', async (request, reply) => {
    const { user, administration } = await questions.requester(request)
    if (request.params.id !== user.id) throw callError('NOT_ADMINISTRATOR', { who: 'that user' })
    const { id: accountId } = await accountOf(administration, user)
    return sendJson(reply, 200, { user: forms.user(user, accountId) })
  })
  routes.get('/identity/v3/regions', async (request, reply) => {
    await questions.requester(request)
    const regions = site().regions.map((id) => forms.region(id))
    return sendJson(reply, 200, forms.list('regions', 'regions', regions))
  })
  routes.get('/identity/v3/regions/:id', async (request, reply) => {
    await questions.requester(request)
    const region = site().regions.find((each) => each === request.params.id)
    if (region === undefined) throw callError('NOT_FOUND', { what: 'such region' })
    return sendJson(reply, 200, { region: forms.region(region) })
  })
}

/** The requester, and the scopes of their tokens. */
class Questions {
  readonly #current: () => IdentityServices
  readonly #forms: Forms

  constructor(current: () => IdentityServices, forms: Forms) {
    this.#current = current
    this.#forms = forms
  }

  async requester(request: HttpRequest) {
    const services = this.#current()
    const { user } = await authenticate(services, questionOf(request))
    return { user, administration: services.administration }
  }

  /** @param path of the list @param userId whose they are; default: the requester's */
  async projects(request: HttpRequest, path: string, userId?: string) {
    const { user, administration } = await this.requester(request)
    if (userId !== undefined && userId !== user.id) throw callError('NOT_ADMINISTRATOR', { who: 'that user' })
    const { id } = await accountOf(administration, user)
    const projects = (await projectsFor(administration, user)).map((each) => this.#forms.project(each, id))
    return { ...this.#forms.list('projects', path, projects), projects }
  }
}

/** The records in Keystone's form. */
class Forms {
  readonly #site: () => Site

  constructor(site: () => Site) {
    this.#site = site
  }

  list(key: string, path: string, items: readonly object[]) {
    return { [key]: items, links: { self: this.#urlOf(path), previous: null, next: null } }
  }

  project({ id, name }: ProjectRecord, accountId: string) {
    return {
      ...{ id, name, domain_id: accountId, parent_id: accountId, is_domain: false },
      ...COMMON,
      links: { self: this.#urlOf(`projects/${id}`) },
    }
  }

  account({ id, account }: AccountRecord) {
    return { id, name: account, ...COMMON, links: { self: this.#urlOf(`domains/${id}`) } }
  }

  user({ id, name, enabled }: UserRecord, accountId: string) {
    return {
      ...{ id, name, enabled, domain_id: accountId, password_expires_at: null, options: {} },
      links: { self: this.#urlOf(`users/${id}`) },
    }
  }

  region(id: string) {
    return {
      ...{ id, description: '', parent_region_id: null },
      links: { self: this.#urlOf(`regions/${encodeURIComponent(id)}`) },
    }
  }

  #urlOf(path: string): string {
    return `${this.#site().identityUrl}/v3/${path}`
  }
}

/** Fields that the directory does not have, or only lists where they are set. */
const COMMON = { description: '', enabled: true, tags: [], options: {} }
