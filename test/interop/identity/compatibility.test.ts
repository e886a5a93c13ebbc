/** What `http.compatibility` is for: clients that need more of Keystone than the source has, unmodified. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  drive,
  type IdentitySidecar,
  installKeystoneClients,
  type Login,
  pythonProgram,
  runToEnd,
  startIdentitySidecar,
} from '../../support/interop/identity.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { newFolder } from '../../support/suite/resources.ts'

const clients = await obtained("Keystone's clients", installKeystoneClients)
const programOf = (name: string) => join(clients.ok ? clients.value : '', name)

const ALL = { unscoped_login: true, token_method: 'unscoped', list_scopes: true }

describe.skipIf(!clients.ok)('with compatibility', () => {
  let sidecar: IdentitySidecar
  let strict: IdentitySidecar
  beforeAll(async () => {
    sidecar = await startIdentitySidecar('http', {
      compatibility: ALL,
      catalog: [
        {
          type: 'object-store',
          name: 'swift',
          url: 'http://storage.example/v1/AUTH_%(project_id)s',
          region: 'mars',
        },
      ],
    })
    strict = await startIdentitySidecar()
  })
  afterAll(async () => {
    await sidecar?.stop()
    await strict?.stop()
  })

  const openstack = (
    args: readonly string[],
    { user, account, password }: Login = sidecar.user,
    more: Readonly<Record<string, string>> = {},
    { identityUrl } = sidecar,
  ) =>
    runToEnd([programOf('openstack'), ...args], {
      env: {
        OS_AUTH_URL: `${identityUrl}/v3`,
        OS_IDENTITY_API_VERSION: '3',
        OS_USERNAME: user,
        OS_USER_DOMAIN_NAME: account,
        OS_PASSWORD: password,
        ...more,
      },
    })
  const inProject = (project = sidecar.project, account = sidecar.user.account) => ({
    OS_PROJECT_NAME: project,
    OS_PROJECT_DOMAIN_NAME: account,
  })
  const printed = async (running: ReturnType<typeof openstack>) => {
    const { code, stdout, stderr } = await running
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout)
  }

  describe('the openstack command line', () => {
    test('lists the projects of a user, with a token for a project and with none', async () => {
      const names = async (login: Login, more = {}, args: readonly string[] = ['--my-projects']) =>
        (await printed(openstack(['project', 'list', ...args, '--format', 'json'], login, more))).map(
          ({ Name }: { Name: string }) => Name,
        )
      expect(await names(sidecar.user, inProject())).toEqual(['batch', sidecar.project])
      expect(await names(sidecar.worker, inProject('batch'))).toEqual(['batch'])
      // Without the option it asks for all, is refused, and asks for the user's own.
      expect(await names(sidecar.worker, inProject('batch'), [])).toEqual(['batch'])
    })

    test('gets an unscoped token, and exchanges it for one for a project', async () => {
      const unscoped = await printed(openstack(['token', 'issue', '--format', 'json']))
      expect(Object.keys(unscoped).sort()).toEqual(['expires', 'id', 'user_id'])
      const { stdout } = await runToEnd([programOf('openstack'), 'token', 'issue', '--format', 'json'], {
        env: {
          OS_AUTH_TYPE: 'v3token',
          OS_AUTH_URL: `${sidecar.identityUrl}/v3`,
          OS_IDENTITY_API_VERSION: '3',
          OS_TOKEN: unscoped.id,
          ...inProject(),
        },
      })
      const scoped = JSON.parse(stdout)
      expect(scoped).toMatchObject({ user_id: unscoped.user_id, project_id: expect.any(String) })
      expect(scoped.expires).toBe(unscoped.expires)
    })

    test('begins at the bare host and port', async () => {
      const OS_AUTH_URL = sidecar.identityUrl.replace('/identity', '')
      const issued = await printed(
        openstack(['token', 'issue', '--format', 'json'], sidecar.user, { ...inProject(), OS_AUTH_URL }),
      )
      expect(issued.project_id).toMatch(/^[0-9a-f]{32}$/)
    })

    test('finds the endpoint of its region, with the project in it', async () => {
      const region = { OS_REGION_NAME: 'mars' }
      const shown = await printed(
        openstack(['catalog', 'show', 'swift', '--format', 'json'], sidecar.user, {
          ...inProject(),
          ...region,
        }),
      )
      expect(shown.endpoints).toHaveLength(3)
      expect(shown.endpoints[0].url).toMatch(/^http:\/\/storage\.example\/v1\/AUTH_[0-9a-f]{32}$/)
      const issued = await printed(
        openstack(['token', 'issue', '--format', 'json'], sidecar.user, { ...inProject(), ...region }),
      )
      expect(
        (await openstack(['token', 'revoke', issued.id], sidecar.user, { ...inProject(), ...region })).code,
      ).toBe(0)
    })

    test('without the settings learns exactly what to send', async () => {
      const refused = await openstack(['token', 'issue'], strict.user, {}, strict)
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('(HTTP 400)') })
      expect(refused.stderr).toContain('{"domain": {"name": ACCOUNT}}')
      expect(refused.stderr).toContain('{"project": {"name": PROJECT, "domain": {"name": ACCOUNT}}}')
    })
  })

  test('keystoneauth1 exchanges an unscoped token, as a dashboard does', async () => {
    const done = await drive([programOf('python'), pythonProgram('rescope.py')], {
      auth_url: `${sidecar.identityUrl}/v3`,
      ...sidecar.user,
    })
    expect(done).toEqual({
      unscoped: { scoped: false, roles: [], catalog: false },
      projects: ['batch', sidecar.project],
      domains: [sidecar.user.account],
      rescoped: ['batch', sidecar.project, sidecar.user.account],
      roles: ['member'],
      same_expiry: true,
      methods: ['password', 'token'],
      // Revoking one of them leaves the unscoped token alone, and revoking that ends them all.
      after_revoking_one: 200,
      after_revoking_all: 404,
    })
  })

  test('openstacksdk and swiftclient find their endpoint', async () => {
    const done = await drive([programOf('python'), pythonProgram('endpoints.py')], {
      auth_url: `${sidecar.identityUrl}/v3`,
      project: sidecar.project,
      region: 'mars',
      ...sidecar.user,
    })
    const url = expect.stringMatching(/^http:\/\/storage\.example\/v1\/AUTH_[0-9a-f]{32}$/)
    expect(done).toEqual({ openstacksdk: url, swiftclient: url })
  })

  test('tempest’s tests of tokens, discovery, catalog, projects and domains', async () => {
    const folder = await tempestFolder(sidecar)
    const modules = ['tokens', 'api_discovery', 'catalog', 'projects', 'domains']
    const { code, stdout, stderr } = await runToEnd(
      [
        programOf('python'),
        ...['-m', 'testtools.run'],
        ...modules.map((name) => `tempest.api.identity.v3.test_${name}`),
      ],
      { env: { TEMPEST_CONFIG_DIR: folder, TEMPEST_CONFIG: 'tempest.conf' } },
    )
    expect(`${stdout}${stderr}`).toMatch(/Ran 11 tests in .*\nOK\n$/)
    expect(code).toBe(0)
  })
})

/** Users and settings as tempest reads them. @returns the folder of its configuration */
async function tempestFolder({
  identityUrl,
  user,
  worker,
  member,
  project,
}: IdentitySidecar): Promise<string> {
  const folder = newFolder()
  const entry = ({ user: name, account, password }: Login, project_name: string) => ({
    username: name,
    password,
    project_name,
    domain_name: account,
    roles: ['member'],
  })
  writeFileSync(
    join(folder, 'accounts.yaml'),
    JSON.stringify([entry(member, project), entry(worker, 'batch')]),
  )
  mkdirSync(join(folder, 'locks'))
  const { domains } = (await (
    await fetch(`${identityUrl}/v3/auth/domains`, {
      headers: { 'x-auth-token': await unscopedToken(identityUrl, user) },
    })
  ).json()) as { domains: { id: string }[] }
  writeFileSync(
    join(folder, 'tempest.conf'),
    `[DEFAULT]
log_file = ${join(folder, 'tempest.log')}
[oslo_concurrency]
lock_path = ${join(folder, 'locks')}
[auth]
use_dynamic_credentials = False
test_accounts_file = ${join(folder, 'accounts.yaml')}
default_credentials_domain_name = ${user.account}
[identity]
uri_v3 = ${identityUrl}/v3
auth_version = v3
region = RegionOne
v3_endpoint_type = public
default_domain_id = ${domains[0]?.id}
[service_available]
cinder = False
neutron = False
glance = False
swift = False
nova = False
`,
  )
  return folder
}

async function unscopedToken(identityUrl: string, { user, account, password }: Login): Promise<string> {
  const identity = {
    methods: ['password'],
    password: { user: { name: user, domain: { name: account }, password } },
  }
  const response = await fetch(`${identityUrl}/v3/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth: { identity } }),
  })
  return response.headers.get('x-subject-token') ?? ''
}
