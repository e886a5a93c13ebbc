/**
 * The same requests to the identity endpoint and to a real Keystone: the same statuses, and where not, on
 * purpose.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { installKeystone, Keystone } from '../../support/identity/keystone.ts'
import {
  type IdentitySidecar,
  type Login,
  startIdentitySidecar,
  tokenFor,
} from '../../support/interop/interop-identity.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { whenTheFileEnds } from '../../support/suite/resources.ts'

const keystone = await obtained('Keystone', installKeystone)

/** A server with an account, its project, and who asks. */
interface World {
  /** `{auth_url}/identity`. */
  readonly url: string
  readonly user: Login
  readonly project: string
  /** Of the user. */
  readonly ofProject: string
  readonly ofAccount: string
  readonly unscoped: string
  /** Of a user who may ask about every token of the account. */
  readonly administrator: string
}

type Headers = Record<string, string>
interface Asked {
  readonly method: string
  readonly path: string
  readonly headers?: (world: World) => Headers
  readonly body?: (world: World) => object
}

const TOKENS = '/identity/v3/auth/tokens'

async function ask({ url }: World, { method, path }: Asked, headers: Headers, body?: object) {
  return fetch(`${url.replace('/identity', '')}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

const byPassword = ({ account, user, password }: Login, more: object = {}) => ({
  methods: ['password'],
  password: { user: { name: user, domain: { name: account }, password, ...more } },
})
const inProject = ({ project, user }: World) => ({
  project: { name: project, domain: { name: user.account } },
})
const login = (world: World, scope: object | undefined, more: object = {}) => ({
  auth: { identity: byPassword(world.user, more), ...(scope && { scope }) },
})
const exchange = (token: string, scope?: object) => ({
  auth: { identity: { methods: ['token'], token: { id: token } }, ...(scope && { scope }) },
})

async function issued(world: Pick<World, 'url'>, body: object): Promise<string> {
  const response = await fetch(`${world.url}/v3/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.headers.get('x-subject-token') ?? `none: ${response.status}`
}

async function ourWorld({ identityUrl: url, user, administrator, project }: IdentitySidecar): Promise<World> {
  return {
    url,
    user,
    project,
    ofProject: await tokenFor(url, user, project),
    ofAccount: await tokenFor(url, user),
    unscoped: await issued({ url }, { auth: { identity: byPassword(user) } }),
    administrator: await tokenFor(url, administrator),
  }
}

async function theirWorld(theirs: Keystone, { user: { account, user }, project }: World): Promise<World> {
  await theirs.createAccount(account, [project])
  const created = await theirs.createUser({
    account,
    user,
    password: 'a password',
    accountRoles: ['member'],
    projectRoles: { [project]: ['member'] },
  })
  const { identityUrl: url } = theirs
  return {
    url,
    user: created,
    project,
    ofProject: await theirs.tokenFor(created, project),
    ofAccount: await theirs.tokenFor(created),
    unscoped: await issued({ url }, { auth: { identity: byPassword(created) } }),
    administrator: await theirs.tokenFor(theirs.administrator, 'admin'),
  }
}

const of =
  (requester: 'ofProject' | 'ofAccount' | 'unscoped' | 'administrator', subject?: string) =>
  (world: World) => ({
    'x-auth-token': world[requester],
    ...(subject !== undefined && {
      'x-subject-token': subject in world ? (world[subject as 'ofProject'] ?? '') : subject,
    }),
  })

/** @param differs the status of ours, where it is another on purpose */
type Row = readonly [what: string, asked: Asked, status: number, differs?: number]

const ROWS: readonly Row[] = [
  ['discovery at the bare host', { method: 'GET', path: '/' }, 300],
  ['discovery', { method: 'GET', path: '/identity' }, 300],
  ['discovery of the version', { method: 'GET', path: '/identity/v3' }, 200],
  ['OPTIONS', { method: 'OPTIONS', path: TOKENS }, 200],
  ['an unknown method', { method: 'PUT', path: TOKENS }, 405],
  // The version's path with two slashes in it is served, and others are redirected.
  ['two slashes before the version', { method: 'GET', path: '/identity//v3' }, 200],
  // A redirect would make the client send its password once more, and not every client follows one.
  [
    'two slashes before the tokens',
    { method: 'POST', path: '/identity/v3//auth/tokens', body: (w) => login(w, inProject(w)) },
    308,
    201,
  ],

  ['a login for a project', { method: 'POST', path: TOKENS, body: (w) => login(w, inProject(w)) }, 201],
  [
    'a login for the account',
    { method: 'POST', path: TOKENS, body: (w) => login(w, { domain: { name: w.user.account } }) },
    201,
  ],
  ['an unscoped login', { method: 'POST', path: TOKENS, body: (w) => login(w, undefined) }, 201],
  [
    'a login without the domain',
    { method: 'POST', path: TOKENS, body: (w) => login(w, inProject(w), { domain: undefined }) },
    400,
  ],
  ['a scope that says nothing', { method: 'POST', path: TOKENS, body: (w) => login(w, {}) }, 400],
  [
    'a wrong password',
    { method: 'POST', path: TOKENS, body: (w) => login(w, inProject(w), { password: 'wrong' }) },
    401,
  ],
  // Keystone goes by the name and does not look at the id.
  [
    'an id that is not of the name',
    { method: 'POST', path: TOKENS, body: (w) => login(w, inProject(w), { id: '0'.repeat(32) }) },
    201,
    401,
  ],
  [
    'a token for a project in exchange',
    { method: 'POST', path: TOKENS, body: (w) => exchange(w.unscoped, inProject(w)) },
    201,
  ],
  [
    'an unscoped token in exchange',
    { method: 'POST', path: TOKENS, body: (w) => exchange(w.ofProject) },
    201,
  ],
  // One answer to every login that fails.
  [
    'garbage in exchange',
    { method: 'POST', path: TOKENS, body: (w) => exchange('garbage', inProject(w)) },
    404,
    401,
  ],

  ...(['GET', 'HEAD', 'DELETE'] as const).flatMap((method): Row[] => [
    [`${method} without a requester`, { method, path: TOKENS }, 401],
    [`${method} of nothing by a user`, { method, path: TOKENS, headers: of('ofProject') }, 403],
    [`${method} of nothing by an unscoped user`, { method, path: TOKENS, headers: of('unscoped') }, 403],
    [`${method} of nothing by an administrator`, { method, path: TOKENS, headers: of('administrator') }, 404],
    [`${method} of garbage by a user`, { method, path: TOKENS, headers: of('ofProject', 'garbage') }, 404],
    [
      `${method} of garbage by an administrator`,
      { method, path: TOKENS, headers: of('administrator', 'garbage') },
      404,
    ],
    [
      `${method} of an administrator’s token by a user`,
      { method, path: TOKENS, headers: of('ofProject', 'administrator') },
      403,
    ],
  ]),
  [
    'GET of a token by its holder',
    { method: 'GET', path: TOKENS, headers: of('ofProject', 'ofAccount') },
    200,
  ],
  [
    'GET of a token by its unscoped holder',
    { method: 'GET', path: TOKENS, headers: of('unscoped', 'ofAccount') },
    200,
  ],
  [
    'GET of a token by an administrator',
    { method: 'GET', path: TOKENS, headers: of('administrator', 'ofAccount') },
    200,
  ],

  [
    'the catalog for a project',
    { method: 'GET', path: '/identity/v3/auth/catalog', headers: of('ofProject') },
    200,
  ],
  [
    'the catalog for nothing',
    { method: 'GET', path: '/identity/v3/auth/catalog', headers: of('unscoped') },
    403,
  ],
  // An account-scoped token has a catalog in its body, so it can be listed too.
  [
    'the catalog for the account',
    { method: 'GET', path: '/identity/v3/auth/catalog', headers: of('ofAccount') },
    403,
    200,
  ],
  ...(['auth/projects', 'auth/domains'] as const).flatMap((path): Row[] => [
    [`${path} for nothing`, { method: 'GET', path: `/identity/v3/${path}`, headers: of('unscoped') }, 200],
    [`${path} for a project`, { method: 'GET', path: `/identity/v3/${path}`, headers: of('ofProject') }, 200],
    [`${path} without a token`, { method: 'GET', path: `/identity/v3/${path}` }, 401],
  ]),
  ['all projects', { method: 'GET', path: '/identity/v3/projects', headers: of('ofProject') }, 403],
]

describe.skipIf(!keystone.ok)('beside a real Keystone', () => {
  let ours: World
  let theirs: World
  beforeAll(async () => {
    const sidecar = await startIdentitySidecar('http', {
      compatibility: { unscoped_login: true, token_method: 'any', list_scopes: true },
    })
    whenTheFileEnds(() => sidecar.stop())
    ours = await ourWorld(sidecar)
    theirs = await theirWorld(await Keystone.run(keystone.ok ? keystone.value : ''), ours)
  })

  test.each(ROWS.map(([what, ...row]) => ({ what, row })))('$what', async ({ row }) => {
    const [asked, status, differs = status] = row
    const answerOf = async (world: World) => {
      const response = await ask(world, asked, asked.headers?.(world) ?? {}, asked.body?.(world))
      expect(response.headers.get('x-openstack-request-id')).toMatch(/^req-[0-9a-f-]{36}$/)
      expect(response.headers.get('vary')).toBe('X-Auth-Token')
      return {
        status: response.status,
        allow: response.headers.get('allow')?.split(/, */).sort(),
        challenge: response.headers.get('www-authenticate')?.replace(world.url, 'URL'),
        location: response.headers.get('location')?.replace(world.url, 'URL'),
      }
    }
    const [our, their] = [await answerOf(ours), await answerOf(theirs)]
    expect(their.status).toBe(status)
    expect(our.status).toBe(differs)
    if (differs === status) expect(our).toEqual(their)
  })

  /** Keys that are there, with those of nested objects. The services of a catalog are not compared. */
  const shapeOf = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])]
    if (typeof value !== 'object' || value === null) return value === null ? null : typeof value
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !EXTRA.includes(key))
        .map(([key, inside]) => [key, shapeOf(inside)] as const)
        .sort(([one], [other]) => one.localeCompare(other)),
    )
  }
  /**
   * Keys that only one of the two has, on purpose: see the comment at `is_admin_project` in token-body.ts.
   */
  const EXTRA = ['is_admin_project']

  test.each<[what: string, asked: Asked]>([
    ['a token for a project', { method: 'GET', path: TOKENS, headers: of('ofProject', 'ofProject') }],
    ['a token for the account', { method: 'GET', path: TOKENS, headers: of('ofAccount', 'ofAccount') }],
    ['an unscoped token', { method: 'GET', path: TOKENS, headers: of('unscoped', 'unscoped') }],
    [
      'a token in exchange',
      { method: 'POST', path: TOKENS, body: (w) => exchange(w.unscoped, inProject(w)) },
    ],
    ['a catalog', { method: 'GET', path: '/identity/v3/auth/catalog', headers: of('ofProject') }],
    ['a list of projects', { method: 'GET', path: '/identity/v3/auth/projects', headers: of('ofProject') }],
    ['a list of accounts', { method: 'GET', path: '/identity/v3/auth/domains', headers: of('ofProject') }],
    ['discovery', { method: 'GET', path: '/' }],
    ['an error', { method: 'GET', path: TOKENS }],
  ])('%s has the same keys', async (_what, asked) => {
    const bodyOf = async (world: World) =>
      shapeOf(await (await ask(world, asked, asked.headers?.(world) ?? {}, asked.body?.(world))).json())
    expect(await bodyOf(ours)).toEqual(await bodyOf(theirs))
  })
})
