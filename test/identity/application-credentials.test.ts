/** Application credentials at the identity endpoint: who makes them, and what they log in for. */
import { describe, expect, test } from 'vitest'
import {
  LOGIN_FAILED,
  logInAt,
  type Made,
  pathOf,
  startWith,
  startWithCredentials,
  storedCredential,
} from '../support/identity/application-credentials.ts'
import { ACCOUNT, about, errorOf, TOKENS } from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'

const { ask, running, newUser, create, made, logIn, reasonAt } = await startWithCredentials()

describe('a credential', () => {
  test('is made with a token for a project, shows its secret once, and is listed by name', async () => {
    const { user, token, path } = await newUser()
    const { status, json } = await create(path, token, { description: 'of a job' })
    expect(status).toBe(201)
    const { secret, ...shown } = json.application_credential
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(shown).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      name: 'nightly',
      description: 'of a job',
      project_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      user_id: user.id,
      roles: [{ id: expect.stringMatching(/^[0-9a-f]{32}$/), name: 'member', domain_id: null }],
      expires_at: null,
      unrestricted: false,
      links: { self: expect.stringMatching(new RegExp(`/v3/users/${user.id}/application_credentials/`)) },
    })
    await made(path, token, { name: 'another' })
    const asked = async (end: string) =>
      (await ask({ path: `${path}${end}`, headers: { 'x-auth-token': token } })).json
    expect((await asked('')).application_credentials).toMatchObject([{ name: 'another' }, shown])
    expect((await asked('?name=nightly')).application_credentials).toEqual([shown])
    expect((await asked(`/${shown.id}`)).application_credential).toEqual(shown)
    expect(running.logLines.join('')).not.toContain(secret)
  })

  test('logs in for its project, and says so as Keystone does', async () => {
    const { user, name, token, path } = await newUser()
    const { id, secret } = await made(path, token)
    const { status, headers, json } = await logIn({ id, secret })
    expect(status).toBe(201)
    expect(json.token).toMatchObject({
      methods: ['application_credential'],
      user: { id: user.id, name },
      project: { name: 'alpha' },
      roles: [{ name: 'member' }],
      application_credential: { id, name: 'nightly', restricted: true },
    })
    expect(json.token.audit_ids).toHaveLength(1)
    const value = headers['x-subject-token'] ?? ''
    expect(await reasonAt(value)).toBe('ALLOWED')
    expect(await reasonAt(value, 'balance')).toBe('TOKEN_KIND_NOT_ACCEPTED')
    const shown = await ask({ path: TOKENS, headers: about(value) })
    expect(shown.json.token).toEqual(json.token)
  })

  test('logs in by its name and its user, whose id or name is enough', async () => {
    const { user, name, token, path } = await newUser()
    const { secret } = await made(path, token)
    for (const named of [{ id: user.id }, { name, domain: { name: ACCOUNT } }])
      expect((await logIn({ name: 'nightly', secret, user: named })).status).toBe(201)
    expect((await logIn({ name: 'other', secret, user: { id: user.id } })).json).toEqual(LOGIN_FAILED)
  })

  test.each(['2255-06-05T23:47:35.000000', '9999-12-31T23:59:59.999999'])(
    'that ends at %s does so to the microsecond, for its user and for an administrator',
    async (expires_at) => {
      const { name, token, path } = await newUser()
      const { id, secret } = await made(path, token, { expires_at })
      const asked = await ask({ path: `${path}/${id}`, headers: { 'x-auth-token': token } })
      expect(asked.json.application_credential.expires_at).toBe(expires_at)
      expect((await logIn({ id, secret })).status).toBe(201)
      const list = { account: ACCOUNT, userName: name, pageSize: 10, pageToken: '' }
      const { items } = await running.sidecar.run(TESTER, 'listApplicationCredentials', list)
      expect(items[0]?.expiresAt?.ms).toBe(Date.parse(`${expires_at}Z`))
    },
  )

  test('has all roles of its token where the list is empty, as the newest openstackclient sends it', async () => {
    const { token, path } = await newUser()
    const { json } = await create(path, token, { roles: [], expires_at: null, access_rules: [] })
    expect(json.application_credential).toMatchObject({ roles: [{ name: 'member' }] })
  })

  test('has the secret that a client chose', async () => {
    const { token, path } = await newUser()
    const { id, secret } = await made(path, token, { secret: 'chosen, and not random' })
    expect(secret).toBe('chosen, and not random')
    expect((await logIn({ id, secret })).status).toBe(201)
  })

  test.each<[claim: string, change: (credential: Made) => object]>([
    ['a wrong secret', ({ id }) => ({ id, secret: 'wrong' })],
    ['the secret of another', ({ secret }) => ({ id: '0'.repeat(32), secret })],
    ['an id that cannot be one', ({ secret }) => ({ id: '\u0000', secret })],
  ])('with %s gets the answer of every failed login', async (_claim, change) => {
    const { token, path } = await newUser()
    const { status, json } = await logIn(change(await made(path, token)))
    expect(status).toBe(401)
    expect(json).toEqual(LOGIN_FAILED)
  })

  test('has no scope in its login', async () => {
    const { token, path } = await newUser()
    const { id, secret } = await made(path, token)
    const scope = { project: { name: 'beta', domain: { name: ACCOUNT } } }
    expect(await logIn({ id, secret }, { scope })).toMatchObject({
      status: 400,
      json: errorOf(
        400,
        'Bad Request',
        'auth.scope: expected no scope: an application credential is for its own project',
      ),
    })
  })
})

test('guesses at one application credential count together, however it is named', async () => {
  const strict = await startWith('application_credentials: true', {
    'login_throttle.failures': 3,
    'login_throttle.pause_ms': 3_600_000,
  })
  const { administration, run } = strict.running.sidecar
  const id = await storedCredential(administration, ACCOUNT, 'account')
  const { id: userId } = await run(TESTER, 'getServiceUser', { account: ACCOUNT, name: 'account' })
  const { id: accountId } = await run(TESTER, 'getAccount', { account: ACCOUNT })
  const byName = { name: 'nightly', secret: 'x' }
  const named: object[] = [
    { id, secret: 'x' },
    { ...byName, user: { id: userId } },
    { ...byName, user: { name: 'account', domain: { name: ACCOUNT } } },
    { ...byName, user: { name: 'account', domain: { id: accountId } } },
    { id, secret: 'x' },
  ]
  const statuses: number[] = []
  for (const each of named) statuses.push((await logInAt(strict, each)).status)
  expect(statuses).toEqual([401, 401, 401, 429, 429])
})

describe('making one', () => {
  test.each<[claim: string, wish: object, message: string]>([
    ['without a name', { name: undefined }, 'application_credential.name: expected a name of'],
    [
      'with access rules',
      { access_rules: [{ path: '/', method: 'GET', service: 'compute' }] },
      'application_credential.access_rules: expected none: access rules are not supported here',
    ],
    [
      'with the id of no role',
      { roles: [{ id: '0'.repeat(32) }] },
      'application_credential.roles[0]: expected a role that the user has in the project',
    ],
    ...['tomorrow', '2099-02-30T00:00:00.000000Z', '9999-12-31T23:59:59-00:01'].map(
      (expires_at): [string, object, string] => [
        `that ends at no time: ${expires_at}`,
        { expires_at },
        'application_credential.expires_at: expected a time between the years 1970 and 9999, for example',
      ],
    ),
    [
      'with a word for unrestricted',
      { unrestricted: 'yes' },
      'application_credential.unrestricted: expected true or false',
    ],
  ])('%s is refused', async (_claim, wish, message) => {
    const { token, path } = await newUser()
    const { status, json } = await create(path, token, wish)
    expect(status).toBe(400)
    expect(json.error.message).toContain(message)
  })

  test('is not there without the setting', async () => {
    const strict = await startWith('list_scopes: true')
    const token = await strict.tokenFor({ user: 'alpha', project: 'alpha' })
    const { status } = await strict.ask({
      method: 'POST',
      path: pathOf('x'),
      headers: { 'x-auth-token': token },
      body: { application_credential: { name: 'x' } },
    })
    expect(status).toBe(404)
    expect(await logInAt(strict, { id: 'x', secret: 'y' })).toMatchObject({
      status: 401,
      json: errorOf(401, 'Unauthorized', 'auth.identity.methods: expected a supported method: password'),
    })
  })
})
