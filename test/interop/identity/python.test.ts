/**
 * Keystone's own clients in Python, unmodified: keystoneauth1, the openstack command line,
 * keystonemiddleware.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import {
  drive,
  type IdentitySidecar,
  installKeystoneClients,
  type Login,
  obtained,
  pythonProgram,
  revoke,
  runToEnd,
  type Scheme,
  startIdentitySidecar,
  tokenFor,
} from '../../support/interop/interop-identity.ts'
import { ownAddress } from '../../support/interop/own-address.ts'
import { type RunningProcess, startProcess } from '../../support/processes/processes.ts'

const clients = await obtained("Keystone's clients", installKeystoneClients)
const programOf = (name: string) => join(clients.ok ? clients.value : '', name)

const DAY_SECONDS = 24 * 60 * 60

/** Over https they reach the sidecar on an address of the network. */
const schemes: Scheme[] = inject('openssl').ok && ownAddress !== undefined ? ['http', 'https'] : ['http']

describe.skipIf(!clients.ok).each(schemes)("Keystone's clients, over %s", (scheme) => {
  let sidecar: IdentitySidecar
  beforeAll(async () => {
    sidecar = await startIdentitySidecar(scheme)
  })
  afterAll(() => sidecar?.stop())

  describe('keystoneauth1, v3.Password', () => {
    const session = (login: Login, project = '') =>
      drive([programOf('python'), pythonProgram('session.py')], {
        auth_url: `${sidecar.identityUrl}/v3`,
        authority: sidecar.authority,
        ...login,
        project,
      }) as Promise<Record<string, unknown>>

    test.each(['account', 'project'])(
      'a session with %s scope: logs in, renews, logs in again',
      async (scope) => {
        const { user, project, identityUrl } = sidecar
        const { lifetime, endpoints, ...came } = await session(user, scope === 'project' ? project : '')
        expect(came).toEqual({
          user: user.user,
          user_id: expect.stringMatching(/^[0-9a-f]{32}$/),
          account: user.account,
          project: scope === 'project' ? project : null,
          domain: scope === 'project' ? null : user.account,
          roles: ['member'],
          expires_soon: false,
          kept: true,
          renewed: true,
          invalidated: true,
          revoked: 204,
          catalog: 200,
          logged_in_again: true,
          garbage: 404,
        })
        expect(lifetime).toBeGreaterThan(DAY_SECONDS - 120)
        expect(lifetime).toBeLessThanOrEqual(DAY_SECONDS)
        expect(endpoints).toEqual(Array(3).fill(`${identityUrl}/v3`))
      },
    )

    test.each<[claim: string, who: () => Login, project: string]>([
      ['a wrong password', () => ({ ...sidecar.user, password: 'wrong' }), ''],
      ['a missing permission (§5.1)', () => sidecar.nobody, ''],
    ])('%s is Unauthorized, always with the same message', async (_claim, who, project) => {
      expect(await session(who(), project)).toEqual({
        refused: 401,
        message: expect.stringContaining('the login failed'),
      })
    })
  })

  describe('the openstack command line', () => {
    const openstack = (args: readonly string[], wishes: Readonly<Record<string, string>> = {}) =>
      runToEnd([programOf('openstack'), ...trusting(), ...args], {
        env: {
          OS_AUTH_URL: `${sidecar.identityUrl}/v3`,
          OS_IDENTITY_API_VERSION: '3',
          OS_USERNAME: sidecar.user.user,
          OS_USER_DOMAIN_NAME: sidecar.user.account,
          OS_PASSWORD: sidecar.user.password,
          ...wishes,
        },
      })
    const trusting = () => (sidecar.authority === undefined ? [] : ['--os-cacert', sidecar.authority])
    const inProject = () => ({
      OS_PROJECT_NAME: sidecar.project,
      OS_PROJECT_DOMAIN_NAME: sidecar.user.account,
    })

    test('token issue and token revoke', async () => {
      const issued = await openstack(['token', 'issue', '--format', 'json'], inProject())
      expect(issued.stderr).toBe('')
      const { id, ...rest } = JSON.parse(issued.stdout)
      expect(rest).toEqual({
        expires: expect.any(String),
        project_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        user_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      })
      expect(await openstack(['token', 'revoke', id], inProject())).toEqual({
        code: 0,
        stdout: '',
        stderr: '',
      })
      const again = await openstack(['token', 'revoke', id], inProject())
      expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('(HTTP 404)') })
      expect(again.stderr).not.toContain(id)
    })
  })

  describe('an application behind keystonemiddleware', () => {
    const guards: RunningProcess[] = []
    afterAll(async () => {
      for (const guard of guards) await guard.stop()
    })

    /** Starts the application, whose middleware uses this login. @returns its address */
    async function startGuard(login: Login): Promise<string> {
      const guard = startProcess([programOf('python'), pythonProgram('guard.py')], {
        environment: process.env,
        input: 'open',
      })
      guards.push(guard)
      const { identityUrl, authority, project } = sidecar
      const wishes = { auth_url: identityUrl, authority, project, ...login }
      guard.write(`${JSON.stringify(wishes)}\n`)
      const [port = ''] = await guard.until(() => /^\d+(?=\n)/.exec(guard.stdout()))
      return `http://127.0.0.1:${port}/`
    }
    const askWith = (address: string, headers: Record<string, string>) => fetch(address, { headers })

    test('accepts a token until it is revoked', async () => {
      const address = await startGuard(sidecar.administrator)
      const { identityUrl, user, project } = sidecar
      const names = { user_name: user.user, user_domain_name: user.account, identity_status: 'Confirmed' }

      const ofProject = await tokenFor(identityUrl, user, project)
      const entered = await askWith(address, { 'x-auth-token': ofProject })
      expect(entered.status).toBe(200)
      expect(await entered.json()).toMatchObject({
        ...names,
        project_name: project,
        is_admin_project: 'False',
      })

      const ofAccount = await tokenFor(identityUrl, user)
      const scoped = await askWith(address, { 'x-auth-token': ofAccount })
      expect(await scoped.json()).toMatchObject({ ...names, project_name: null, domain_name: user.account })

      const administrator = await tokenFor(identityUrl, sidecar.administrator)
      const roles = await askWith(address, { 'x-auth-token': administrator })
      expect(await roles.json()).toMatchObject({ user_name: 'guard', roles: 'member,iam.admin' })

      expect(await revoke(identityUrl, ofProject)).toBe(204)
      expect((await askWith(address, { 'x-auth-token': ofProject })).status).toBe(401)
      expect((await askWith(address, { 'x-auth-token': ofAccount })).status).toBe(200)
    })

    test('accepts tokens of every account if its middleware uses a validator', async () => {
      const address = await startGuard(sidecar.validator)
      const { identityUrl, user, stranger, worker, project } = sidecar
      for (const [login, of] of [
        [user, project],
        [worker, 'batch'],
        [stranger, 'web'],
        [stranger, undefined],
      ] as const) {
        const token = await tokenFor(identityUrl, login, of)
        const entered = await askWith(address, { 'x-auth-token': token })
        expect(entered.status).toBe(200)
        expect(await entered.json()).toMatchObject({
          user_name: login.user,
          user_domain_name: login.account,
          project_name: of ?? null,
          // Role-based policies behind the middleware go by this.
          roles: 'member',
        })
        expect(await revoke(identityUrl, token)).toBe(204)
        expect((await askWith(address, { 'x-auth-token': token })).status).toBe(401)
      }
    })

    test.each<[claim: string, headers: Record<string, string>]>([
      ['no token', {}],
      ['forged identity headers', { 'x-identity-status': 'Confirmed', 'x-user-name': 'demo' }],
    ])('refuses a request with %s', async (_claim, headers) => {
      const address = await startGuard(sidecar.administrator)
      const refused = await askWith(address, headers)
      expect(refused.status).toBe(401)
      expect(refused.headers.get('www-authenticate')).toBe(`Keystone uri="${sidecar.identityUrl}"`)
    })

    test.each<[claim: string, who: () => Login]>([
      ['has no role to validate tokens of others', () => sidecar.user],
      ['has a wrong password', () => ({ ...sidecar.administrator, password: 'wrong' })],
    ])('refuses every request if the middleware’s own user %s', async (_claim, who) => {
      const address = await startGuard(who())
      const token = await tokenFor(sidecar.identityUrl, sidecar.administrator)
      expect((await askWith(address, { 'x-auth-token': token })).status).toBeGreaterThanOrEqual(401)
    })
  })
})
