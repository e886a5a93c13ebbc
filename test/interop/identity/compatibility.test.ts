/** `http.compatibility` serves clients that need more of Keystone than the source has, unmodified. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  drive,
  type IdentitySidecar,
  installKeystoneClients,
  type Login,
  OTHER_ACCOUNT,
  pythonProgram,
  runToEnd,
  startIdentitySidecar,
} from '../../support/interop/interop-identity.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { newFolder } from '../../support/suite/resources.ts'

const clients = await obtained("Keystone's clients", installKeystoneClients)
const programOf = (name: string) => join(clients.ok ? clients.value : '', name)

const ALL = {
  ...{ unscoped_login: true, token_method: 'unscoped', list_scopes: true },
  ...{ application_credentials: true, default_domain: OTHER_ACCOUNT, v3_at_root: true },
}

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

  test('openstacksdk makes, uses and deletes an application credential', async () => {
    const { project, member, identityUrl } = sidecar
    const done = await drive([programOf('python'), pythonProgram('credentials.py')], {
      // The prefix that a Keystone with a host of its own has.
      auth_url: identityUrl.replace('/identity', '/v3'),
      project,
      ...member,
    })
    expect(done).toEqual({
      secret: 43,
      listed: ['nightly'],
      found: true,
      same_user: true,
      same_project: true,
      roles: ['member'],
      by_name: true,
      more: 403,
      rules: 400,
      again: 409,
      own_project: true,
      regions: ['RegionOne', 'mars'],
      after: 401,
    })
  })

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

    test('begins at the bare host and port', async () => {
      const OS_AUTH_URL = sidecar.identityUrl.replace('/identity', '')
      const issued = await printed(
        openstack(['token', 'issue', '--format', 'json'], sidecar.user, { ...inProject(), OS_AUTH_URL }),
      )
      expect(issued.project_id).toMatch(/^[0-9a-f]{32}$/)
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

  /** Runs tests of tempest as two users would. */
  const tempest = (folder: string, tests: readonly string[]) =>
    runToEnd(
      [
        programOf('python'),
        ...['-m', 'testtools.run'],
        ...tests.map((name) => `tempest.api.identity.v3.test_${name}`),
      ],
      { env: { TEMPEST_CONFIG_DIR: folder, TEMPEST_CONFIG: 'tempest.conf' } },
    )

  test('tempest’s tests of tokens, discovery, catalog, projects, domains and application credentials', async () => {
    const { user, member, worker, project } = sidecar
    const users = [[member, project] as const, [worker, 'batch'] as const]
    const folder = tempestFolder(sidecar, users, await domainOf(sidecar, user))
    const { code, stdout, stderr } = await tempest(folder, [
      ...['tokens', 'api_discovery', 'catalog', 'projects', 'domains', 'application_credentials'],
    ])
    // The one that is skipped is about access rules.
    expect(`${stdout}${stderr}`).toMatch(/Ran 16 tests in .*\nOK/)
    expect(code).toBe(0)
  })

  test('tempest finds the default domain under its id `default`', async () => {
    const folder = tempestFolder(sidecar, [[sidecar.stranger, 'web']], 'default')
    const { stdout, stderr } = await tempest(folder, ['domains.DefaultDomainTestJSON'])
    expect(`${stdout}${stderr}`).toMatch(/Ran 1 test in .*\nOK\n$/)
  })
})

/** Users and settings as tempest reads them. @returns the folder of its configuration */
function tempestFolder(
  { identityUrl }: IdentitySidecar,
  users: readonly (readonly [login: Login, project: string])[],
  domainId: string,
): string {
  const folder = newFolder()
  const entries = users.map(([{ user: name, account, password }, project_name]) => ({
    ...{ username: name, password, project_name, domain_name: account },
    roles: ['member'],
  }))
  writeFileSync(join(folder, 'accounts.yaml'), JSON.stringify(entries))
  mkdirSync(join(folder, 'locks'))
  writeFileSync(
    join(folder, 'tempest.conf'),
    `[DEFAULT]
log_file = ${join(folder, 'tempest.log')}
[oslo_concurrency]
lock_path = ${join(folder, 'locks')}
[auth]
use_dynamic_credentials = False
test_accounts_file = ${join(folder, 'accounts.yaml')}
default_credentials_domain_name = ${users[0]?.[0].account}
[identity]
uri_v3 = ${identityUrl}/v3
auth_version = v3
region = RegionOne
v3_endpoint_type = public
default_domain_id = ${domainId}
[identity-feature-enabled]
application_credentials = True
access_rules = False
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

/** The id of the account of a user. */
async function domainOf({ identityUrl }: IdentitySidecar, user: Login): Promise<string> {
  const answer = await fetch(`${identityUrl}/v3/auth/domains`, {
    headers: { 'x-auth-token': await unscopedToken(identityUrl, user) },
  })
  const { domains } = (await answer.json()) as { domains: { id: string }[] }
  return domains[0]?.id ?? ''
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
