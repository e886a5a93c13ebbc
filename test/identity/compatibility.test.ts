/** What Keystone does beyond the source: each is one setting, and off by default. */
import { describe, expect, test } from 'vitest'
import { parseMatrix } from '../../matrix/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { UNSCOPED_KIND } from '../../sidecar/authority/authority.ts'
import {
  ACCOUNT,
  about,
  changed,
  errorOf,
  type IdentitySidecar,
  idsOf,
  loginBody,
  OTHER_ACCOUNT,
  rescopeBody,
  startIdentity,
  TOKENS,
} from '../support/identity/identity.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { newFile } from '../support/suite/resources.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

let elapsedMs = 0
const now = () => Date.now() + elapsedMs
const started = (settings: string) =>
  startIdentity({ config: newFile(`http: { compatibility: { ${settings} } }`, 'config.yaml'), now })

const sidecar = await started('unscoped_login: true, token_method: any')
const { ask, passwordOf, running } = sidecar
const { administration, run } = running.sidecar
const ids = await idsOf(sidecar)
const DOMAIN = { id: ids.account, name: ACCOUNT }

const unscopedBody = ({ passwordOf: of }: IdentitySidecar, user = 'account') =>
  changed(loginBody({ user, password: of(user) }), 'auth.scope', undefined)

const posted = (body: object, { ask: asking }: IdentitySidecar = sidecar) =>
  asking({ method: 'POST', path: TOKENS, body })

async function tokenBy(body: object, at: IdentitySidecar = sidecar): Promise<string> {
  const { status, headers, text } = await posted(body, at)
  if (status !== 201) throw new Error(`no token: ${status} ${text}`)
  return headers['x-subject-token'] ?? ''
}

const unscoped = (user?: string, at: IdentitySidecar = sidecar) => tokenBy(unscopedBody(at, user), at)

const LOGIN_FAILED = errorOf(401, 'Unauthorized', expect.stringMatching(/^the login failed/))
const UNAUTHORIZED = errorOf(
  401,
  'Unauthorized',
  'expected one active IAM token, in the header that carries it',
)

const reasonAt = async (token: string, api = 'balance', at: IdentitySidecar = sidecar) =>
  (await at.running.client.check({ api, credentials: [['X-Auth-Token', token]] })).reason

describe('an unscoped login', () => {
  const form = (scope: unknown) =>
    changed(loginBody({ password: passwordOf('account') }), 'auth.scope', scope)
  test.each<[how: string, body: object]>([
    ['without a scope', form(undefined)],
    ['with the scope `unscoped`', form('unscoped')],
    ['with the scope as an object', form({ unscoped: {} })],
  ])('%s is described as Keystone does: no scope, no roles, no catalog', async (_how, body) => {
    const { status, headers, json } = await posted(body)
    expect(status).toBe(201)
    expect(json.token).toEqual({
      methods: ['password'],
      user: { id: ids.user, name: 'account', domain: DOMAIN, password_expires_at: null },
      audit_ids: [expect.stringMatching(/^[\w-]{22}$/)],
      issued_at: expect.any(String),
      expires_at: expect.any(String),
      is_admin_project: false,
    })
    expect(Date.parse(json.token.expires_at) - Date.parse(json.token.issued_at)).toBe(DAY_MS)
    const shown = await ask({ path: TOKENS, headers: about(headers['x-subject-token'] ?? '') })
    expect(shown).toMatchObject({ status: 200, json })
  })

  test('takes no permission, but a right password and an enabled user', async () => {
    expect((await posted(unscopedBody(sidecar, 'nothing'))).status).toBe(201)
    expect((await posted(unscopedBody(sidecar, 'disabled'))).json).toEqual(LOGIN_FAILED)
    const wrong = changed(loginBody({ password: 'wrong' }), 'auth.scope', undefined)
    expect((await posted(wrong)).json).toEqual(LOGIN_FAILED)
  })
})

describe('an unscoped token', () => {
  test('opens no product API, in either header', async () => {
    const token = await unscoped()
    const { apis } = running.sidecar.rules.engine
    for (const api of apis.keys()) expect(await reasonAt(token, api), api).toBe('UNKNOWN_TOKEN_KIND')
    const wrong = await running.client.check({ api: 'balance', credentials: [['X-Token', token]] })
    expect(wrong.reason).toBe('WRONG_HEADER')
  })

  test('is of a kind that no matrix can have', () => {
    const matrix = smallMatrix()
    for (const kind of matrix.tokenKinds) if (kind.id === 'day_pass') kind.id = UNSCOPED_KIND
    expect(() => parseMatrix(JSON.stringify(matrix))).toThrow('tokenKinds[0].id')
  })

  test('administers nothing, even of an administrator, and does not revoke for others', async () => {
    const token = await unscoped('administrator')
    const client = running.connect({ iamToken: token })
    const refused = { code: 'UNAUTHENTICATED', reason: 'REQUESTER_NOT_AUTHENTICATED' }
    await expect(client.directory.listProjects({ account: ACCOUNT })).rejects.toMatchObject(refused)
    const subject = await sidecar.tokenFor({})
    await expect(client.revoke({ value: subject })).rejects.toMatchObject(refused)
    for (const method of ['GET', 'DELETE'])
      expect((await ask({ method, path: TOKENS, headers: about(subject, token) })).status).toBe(403)
    expect(await reasonAt(subject)).toBe('ALLOWED')
  })

  test('of a validator does not validate the token of another user', async () => {
    const [account, name] = [ACCOUNT, 'validator']
    const validator = { name, permissions: [{ scope: 'account' as const }], validator: true }
    const applied = await applyFile(administration, TESTER, {
      accounts: [{ account, service_users: [validator] }],
    })
    const login = { user: name, password: applied.secrets[0]?.value.reveal() ?? '' }
    const own = await sidecar.tokenFor(login)
    const subject = await sidecar.tokenFor({})
    expect((await ask({ path: TOKENS, headers: about(subject, own) })).status).toBe(200)
    const headers = about(subject, await tokenBy(changed(loginBody(login), 'auth.scope', undefined)))
    expect((await ask({ path: TOKENS, headers })).status).toBe(403)
  })

  test('gets no catalog: 403, as from Keystone', async () => {
    const headers = { 'x-auth-token': await unscoped() }
    const { json } = await ask({ path: '/identity/v3/auth/catalog', headers })
    expect(json).toEqual(
      errorOf(403, 'Forbidden', 'the token is unscoped; expected one for an account or a project'),
    )
  })

  test('is revoked by its holder, and ends with the password', async () => {
    const token = await unscoped()
    expect((await ask({ method: 'DELETE', path: TOKENS, headers: about(token) })).status).toBe(204)
    expect((await ask({ path: TOKENS, headers: about(token) })).json).toEqual(UNAUTHORIZED)
    const other = await unscoped('nothing')
    await run(TESTER, 'replaceServiceUserPassword', { account: ACCOUNT, name: 'nothing' })
    expect((await ask({ path: TOKENS, headers: about(other) })).json).toEqual(UNAUTHORIZED)
  })

  test('counts for nothing where the setting is off', async () => {
    const token = await unscoped()
    const { folder } = running
    const config = newFile('http: { compatibility: { token_method: any } }', 'config.yaml')
    const strict = await startIdentity({ folder, config, now }, 'as it is')
    const own = await strict.tokenFor({ password: passwordOf('account') })
    expect((await ask({ path: TOKENS, headers: about(token, own) })).status).toBe(200)
    expect((await strict.ask({ path: TOKENS, headers: about(token, own) })).status).toBe(404)
    expect((await strict.ask({ path: TOKENS, headers: about(token) })).json).toEqual(UNAUTHORIZED)
    expect((await posted(rescopeBody(token, {}), strict)).json).toEqual(LOGIN_FAILED)
  })
})

describe('the method `token`', () => {
  test('gives a token for a project, described as Keystone does', async () => {
    const parent = await unscoped()
    const { json: before } = await ask({ path: TOKENS, headers: about(parent) })
    elapsedMs += HOUR_MS
    const { status, json, headers } = await posted(rescopeBody(parent, { project: 'alpha' }))
    expect(status).toBe(201)
    expect(json.token).toMatchObject({
      methods: ['password', 'token'],
      user: before.token.user,
      project: { id: ids.project, name: 'alpha', domain: DOMAIN },
      roles: [{ name: 'member' }],
      // Never a longer life.
      expires_at: before.token.expires_at,
      audit_ids: [expect.any(String), before.token.audit_ids[0]],
      catalog: [{ type: 'identity' }],
    })
    expect(Date.parse(json.token.issued_at)).toBeGreaterThan(Date.parse(before.token.issued_at))
    const token = headers['x-subject-token'] ?? ''
    expect(await reasonAt(token, 'dedicated-servers')).toBe('ALLOWED')
    expect((await ask({ path: TOKENS, headers: about(token) })).json).toEqual(json)
  })

  test.each<[what: string, scope: Parameters<typeof rescopeBody>[1], kind: object]>([
    ['the account', {}, { domain: DOMAIN }],
    ['another project', { project: 'beta' }, { project: { name: 'beta' } }],
    ['nothing', 'unscoped', { user: { name: 'account' } }],
    ['nothing, without a scope', undefined, { user: { name: 'account' } }],
  ])('exchanges a token for a project for one for %s', async (_what, scope, token) => {
    const parent = await sidecar.tokenFor({ project: 'alpha' })
    expect(await posted(rescopeBody(parent, scope))).toMatchObject({ status: 201, json: { token } })
  })

  test.each<[claim: string, make: () => Promise<object>]>([
    [
      'a scope without a permission (§5.1)',
      async () => rescopeBody(await unscoped('alpha'), { project: 'beta' }),
    ],
    ['an unknown project', async () => rescopeBody(await unscoped(), { project: 'nosuch' })],
    ['another account', async () => rescopeBody(await unscoped(), {}, OTHER_ACCOUNT)],
    ['garbage', async () => rescopeBody('garbage', {})],
    ['a static token', async () => rescopeBody(sidecar.staticToken, {})],
    [
      'a control panel user’s token (§5.1)',
      async () => {
        const { value } = await run(TESTER, 'reissueControlPanelUserToken', {
          account: ACCOUNT,
          name: 'owner',
        })
        return rescopeBody(value.reveal(), { project: 'alpha' })
      },
    ],
    [
      'a token at the end of a line of eight',
      async () => {
        let token = await unscoped()
        for (let depth = 0; depth < 8; depth++) token = await tokenBy(rescopeBody(token, 'unscoped'))
        return rescopeBody(token, {})
      },
    ],
    [
      'an address that the account does not allow (§1)',
      async () => {
        const stranger = loginBody({
          user: 'stranger',
          account: OTHER_ACCOUNT,
          password: passwordOf('stranger'),
        })
        const token = await tokenBy(changed(stranger, 'auth.scope', undefined))
        await run(TESTER, 'setAddressRestriction', { account: OTHER_ACCOUNT, ranges: ['203.0.113.0/24'] })
        return rescopeBody(token, {}, OTHER_ACCOUNT)
      },
    ],
  ])('refuses %s, always with the same answer', async (_claim, make) => {
    const response = await posted(await make())
    await run(TESTER, 'setAddressRestriction', { account: OTHER_ACCOUNT, ranges: [] })
    expect(response.json).toEqual(LOGIN_FAILED)
    expect(response.headers).not.toHaveProperty('x-subject-token')
  })

  test('revoking a token revokes what was derived from it, and not what it was derived from', async () => {
    const root = await unscoped()
    const child = await tokenBy(rescopeBody(root, { project: 'alpha' }))
    const grandchild = await tokenBy(rescopeBody(child, {}))
    const sibling = await tokenBy(rescopeBody(root, { project: 'beta' }))
    await ask({ method: 'DELETE', path: TOKENS, headers: about(child) })
    expect(await reasonAt(child, 'dedicated-servers')).toBe('CREDENTIAL_REVOKED')
    expect(await reasonAt(grandchild)).toBe('CREDENTIAL_REVOKED')
    expect(await reasonAt(sibling, 'dedicated-servers')).toBe('ALLOWED')
    await ask({ method: 'DELETE', path: TOKENS, headers: about(root) })
    expect(await reasonAt(sibling, 'dedicated-servers')).toBe('CREDENTIAL_REVOKED')
  })

  test('with `unscoped` only unscoped tokens are exchanged, so that one for a project stays that', async () => {
    const careful = await started('unscoped_login: true, token_method: unscoped')
    const root = await unscoped('account', careful)
    const child = await tokenBy(rescopeBody(root, { project: 'alpha' }), careful)
    expect((await posted(rescopeBody(child, {}), careful)).json).toEqual(LOGIN_FAILED)
    expect((await posted(rescopeBody(child, 'unscoped'), careful)).json).toEqual(LOGIN_FAILED)
  })

  test.each<[claim: string, body: object, status: number, message: string]>([
    [
      'a token that is no string',
      changed(rescopeBody('x', {}), 'auth.identity.token.id', 7),
      400,
      'auth.identity.token.id: expected a non-empty string',
    ],
    [
      'no token',
      changed(rescopeBody('x', {}), 'auth.identity.token', undefined),
      400,
      'auth.identity.token.id: expected a non-empty string',
    ],
    [
      'two methods',
      changed(rescopeBody('x', {}), 'auth.identity.methods', ['token', 'password']),
      401,
      'auth.identity.methods: expected a supported method: password or token',
    ],
  ])('%s: %i', async (_claim, body, status, message) => {
    expect((await posted(body)).json).toEqual(
      errorOf(status, status === 400 ? 'Bad Request' : 'Unauthorized', message),
    )
  })
})

test('without unscoped login, the method `token` gives scoped tokens alone', async () => {
  const scoped = await started('token_method: any')
  const parent = await scoped.tokenFor({})
  expect((await posted(rescopeBody(parent, { project: 'alpha' }), scoped)).status).toBe(201)
  for (const scope of ['unscoped', undefined] as const)
    expect((await posted(rescopeBody(parent, scope), scoped)).json).toEqual(
      errorOf(400, 'Bad Request', expect.stringMatching(/^auth\.scope: expected \{"domain"/)),
    )
})

describe('the default domain', async () => {
  const compatible = await started(`default_domain: "${ACCOUNT}"`)
  const account = loginBody({ password: compatible.passwordOf('account') })
  const project = loginBody({ password: compatible.passwordOf('account'), project: 'alpha' })
  const USER = 'auth.identity.password.user'
  test.each<[how: string, body: object]>([
    ['no domain of the user', changed(account, `${USER}.domain`, undefined)],
    ['the id `default`', changed(account, `${USER}.domain`, { id: 'default' })],
    ['the name `Default`', changed(account, `${USER}.domain`, { name: 'Default' })],
    ['no domain of the project', changed(project, 'auth.scope.project.domain', undefined)],
    ['a project of the domain `default`', changed(project, 'auth.scope.project.domain', { id: 'default' })],
    ['the scope of the domain `default`', changed(account, 'auth.scope.domain', { id: 'default' })],
    ['its own number', account],
  ])('%s is that account', async (_how, body) => {
    expect(await posted(body, compatible)).toMatchObject({
      status: 201,
      json: { token: { user: { domain: { name: ACCOUNT } } } },
    })
  })

  test('every other domain is as it says', async () => {
    const password = compatible.passwordOf('stranger')
    const stranger = loginBody({ user: 'stranger', account: OTHER_ACCOUNT, password })
    expect((await posted(stranger, compatible)).status).toBe(201)
    expect((await posted(changed(stranger, `${USER}.domain`, undefined), compatible)).status).toBe(401)
    expect((await posted(changed(account, 'auth.scope', { domain: {} }), compatible)).status).toBe(400)
  })

  test('without the setting, a domain must be named', async () => {
    const body = changed(loginBody({ password: passwordOf('account') }), `${USER}.domain`, undefined)
    expect((await posted(body)).status).toBe(400)
    expect((await posted(changed(body, `${USER}.domain`, { id: 'default' }))).status).toBe(401)
  })
})
