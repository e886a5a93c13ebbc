/**
 * The lists of projects and accounts that a user can get tokens for, which a setting adds for Keystone's
 * clients.
 */
import { describe, expect, test } from 'vitest'
import {
  ACCOUNT,
  changed,
  errorOf,
  idsOf,
  loginBody,
  OTHER_ACCOUNT,
  rescopeBody,
  startIdentity,
  TOKENS,
} from '../support/identity/identity.ts'
import { newFile } from '../support/suite/resources.ts'

const ALL = `unscoped_login: true, token_method: any, list_scopes: true, default_domain: '${ACCOUNT}', v3_at_root: true`
const config = newFile(`http: { compatibility: { ${ALL} } }`, 'config.yaml')
const sidecar = await startIdentity({ config })
const { ask, passwordOf } = sidecar
const ids = await idsOf(sidecar)

const posted = (body: object) => ask({ method: 'POST', path: TOKENS, body })
const unscoped = async (user: string) => {
  const body = changed(loginBody({ user, password: passwordOf(user) }), 'auth.scope', undefined)
  return (await posted(body)).headers['x-subject-token'] ?? ''
}
const UNAUTHORIZED = errorOf(
  401,
  'Unauthorized',
  'expected one active IAM token, in the header that carries it',
)

describe('listing scopes', () => {
  const listed = async (user: string, path: string, project?: string) => {
    const token = project === undefined ? await unscoped(user) : await sidecar.tokenFor({ user, project })
    return ask({ path: `/identity/v3${path}`, headers: { 'x-auth-token': token } })
  }
  const named = (items: readonly { name: string }[]) => items.map(({ name }) => name)

  test.each<[user: string, projects: string[], accounts: string[]]>([
    ['account', ['alpha', 'beta'], [ACCOUNT]],
    ['alpha', ['alpha'], []],
    ['half \ufffd', ['alpha', 'beta'], [ACCOUNT]],
  ])('%s may choose from projects %j and accounts %j', async (user, projects, accounts) => {
    expect(named((await listed(user, '/auth/projects')).json.projects)).toEqual(projects)
    expect(named((await listed(user, '/auth/domains')).json.domains)).toEqual(accounts)
    for (const project of projects)
      expect((await posted(rescopeBody(await unscoped(user), { project }))).status).toBe(201)
  })

  test('an entry is as Keystone’s', async () => {
    const base = `http://127.0.0.1:${sidecar.port}/identity/v3`
    const common = { description: '', enabled: true, tags: [], options: {} }
    expect((await listed('alpha', '/auth/projects', 'alpha')).json).toEqual({
      projects: [
        {
          ...common,
          id: ids.project,
          name: 'alpha',
          domain_id: ids.account,
          parent_id: ids.account,
          is_domain: false,
          links: { self: `${base}/projects/${ids.project}` },
        },
      ],
      links: { self: `${base}/auth/projects`, previous: null, next: null },
    })
    expect((await listed('account', '/auth/domains')).json).toEqual({
      domains: [
        { ...common, id: ids.account, name: ACCOUNT, links: { self: `${base}/domains/${ids.account}` } },
      ],
      links: { self: `${base}/auth/domains`, previous: null, next: null },
    })
  })

  test('a user asks about themselves and their account alone', async () => {
    const own = await listed('account', `/users/${ids.user}/projects`)
    expect(named(own.json.projects)).toEqual(['alpha', 'beta'])
    expect((await listed('account', `/domains/${ids.account}`)).json.domain.name).toBe(ACCOUNT)
    expect((await listed('alpha', `/users/${ids.user}/projects`)).status).toBe(403)
    // At 403 clients ask for their own projects instead.
    expect((await listed('account', '/projects')).status).toBe(403)
    expect((await listed('account', `/domains/${'0'.repeat(32)}`)).status).toBe(403)
    const anonymous = await ask({ path: '/identity/v3/auth/projects' })
    expect(anonymous.json).toEqual(UNAUTHORIZED)
  })

  test('a project is found by its id and by its name, among those that the user can get tokens for', async () => {
    const shown = await listed('alpha', `/projects/${ids.project}`)
    expect(shown.json.project).toMatchObject({ id: ids.project, name: 'alpha', domain_id: ids.account })
    expect(named((await listed('alpha', '/projects?name=alpha')).json.projects)).toEqual(['alpha'])
    expect((await listed('alpha', '/projects?name=beta')).json.projects).toEqual([])
    expect((await listed('account', '/projects?name=alpha&domain_id=x')).json.projects).toEqual([])
    // The client of `openstack project show beta` takes 404 as a sign to look for the name.
    for (const id of ['beta', '0'.repeat(32)])
      expect((await listed('alpha', `/projects/${id}`)).status).toBe(404)
  })

  test('a user sees themselves, and nobody else', async () => {
    const { json } = await listed('account', `/users/${ids.user}`)
    expect(json.user).toEqual({
      ...{ id: ids.user, name: 'account', domain_id: ids.account, enabled: true },
      ...{ password_expires_at: null, options: {} },
      links: { self: `http://127.0.0.1:${sidecar.port}/identity/v3/users/${ids.user}` },
    })
    expect((await listed('alpha', `/users/${ids.user}`)).status).toBe(403)
  })

  test('regions are those of the catalog', async () => {
    const region = { id: 'RegionOne', description: '', parent_region_id: null }
    expect((await listed('alpha', '/regions')).json.regions).toMatchObject([region])
    expect((await listed('alpha', '/regions/RegionOne')).json.region).toMatchObject(region)
    expect((await listed('alpha', '/regions/nowhere')).status).toBe(404)
    expect((await ask({ path: '/identity/v3/regions' })).json).toEqual(UNAUTHORIZED)
  })

  test('the account of `default_domain` is there under the id `default`, for its users', async () => {
    expect((await listed('account', '/domains/default')).json.domain).toMatchObject({
      id: ids.account,
      name: ACCOUNT,
    })
    const headers = {
      'x-auth-token': await sidecar.tokenFor({ user: 'stranger', account: OTHER_ACCOUNT }),
    }
    expect((await ask({ path: '/identity/v3/domains/default', headers })).status).toBe(403)
  })

  test('with `v3_at_root` the paths of Keystone are at the root too', async () => {
    const headers = { 'x-auth-token': await unscoped('account') }
    for (const path of ['/v3/auth/projects', '//v3/auth/projects/', '/identity/v3/auth/projects'])
      expect((await ask({ path, headers })).status).toBe(200)
    expect((await ask({ path: '/v3' })).json.version.id).toBe('v3.14')
    expect((await ask({ path: '/v3?x' })).status).toBe(200)
    for (const path of ['/v30', '/v3x/auth/projects', '/x/v3'])
      expect((await ask({ path, headers })).status).toBe(404)
  })

  test('without the setting there are no such paths', async () => {
    const strict = await startIdentity()
    const headers = { 'x-auth-token': await strict.tokenFor({}) }
    for (const path of [
      'projects',
      'auth/projects',
      'auth/domains',
      'regions',
      `projects/${ids.project}`,
      `users/${ids.user}`,
      `users/${ids.user}/projects`,
      `domains/${ids.account}`,
    ])
      expect((await strict.ask({ path: `/identity/v3/${path}`, headers })).status).toBe(404)
    expect((await strict.ask({ path: '/v3' })).status).toBe(404)
  })
})
