/**
 * A sidecar before a real Keystone: tokens by profile, verification, and what happens when Keystone ends them
 * or stops.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { installKeystone, Keystone } from '../../support/identity/keystone.ts'
import { startCloudBefore } from '../../support/interop/interop-upstream.ts'
import { eventually, newFile } from '../../support/suite/resources.ts'

const ACCOUNT = '123456'
const OTHER = '654321'
const programs = await installKeystone()
const keystone = await Keystone.run(programs)
await keystone.createAccount(ACCOUNT, ['web', 'other', 'services'])
await keystone.createAccount(OTHER, ['web'])
const robot = await keystone.createUser({
  ...{ account: ACCOUNT, user: 'robot', password: 'canary robot päss' },
  accountRoles: ['member'],
  projectRoles: { web: ['member'] },
})
const validator = await keystone.createUser({
  ...{ account: ACCOUNT, user: 'validator', password: 'canary-validator' },
  projectRoles: { services: ['service'] },
})
const stranger = await keystone.createUser({
  ...{ account: OTHER, user: 'stranger', password: 'canary-stranger' },
  accountRoles: ['member'],
})
const credential = await keystone.createApplicationCredential(robot, 'web', { name: 'nightly' })
const ruled = await keystone.createApplicationCredential(robot, 'web', {
  name: 'ruled',
  access_rules: [{ path: '/v2.1/servers', method: 'GET', service: 'compute' }],
})
const credentialProfile = ({ id, secret }: { id: string; secret: string }) => ({
  ...{ upstream: 'cloud', account: ACCOUNT, projects: ['web'], application_credential_id: id },
  application_credential_secret_file: newFile(secret),
})
const { client, running } = await startCloudBefore(
  keystone.identityUrl,
  { robot, validator },
  { project: 'services' },
  {
    credential: credentialProfile(credential),
    ruled: credentialProfile(ruled),
    'credential-by-name': {
      ...{ upstream: 'cloud', account: ACCOUNT, user_name: 'robot', projects: ['web'] },
      application_credential_name: 'nightly',
      application_credential_secret_command: [process.execPath, '-p', JSON.stringify(credential.secret)],
    },
    'wrong-credential': credentialProfile({ ...credential, secret: 'canary-wrong' }),
  },
)

const ofAccount = { profile: 'robot', scope: { account: ACCOUNT } } as const
const ofProject = { profile: 'robot', scope: { account: ACCOUNT, project: 'web' } } as const
const check = (value: string, api = 'iam') => client.check({ api, credentials: { 'X-Auth-Token': value } })

describe('Issue', () => {
  test.each([
    { question: ofAccount, kind: 'iam_token_account_scoped', api: 'iam', roles: ['member', 'reader'] },
    { question: ofProject, kind: 'iam_token_project_scoped', api: 'cdn', roles: ['member', 'reader'] },
  ])('gives a token of Keystone that opens $api: $kind', async ({ question, kind, api, roles }) => {
    const token = await client.issue(question)
    expect(token).toMatchObject({ kind, header: 'X-Auth-Token', scope: question.scope })
    expect((await client.issue(question)).value).toBe(token.value)
    const answer = await check(token.value, api)
    expect(answer).toMatchObject({
      allowed: true,
      token: { kind, subject: { name: 'robot', type: 'user' }, authority: 'cloud', tokenId: token.tokenId },
    })
    // Keystone's role `member` implies `reader`.
    expect([...(answer.token?.roles ?? [])].sort()).toEqual(roles)
    // The expiry at Keystone and that in the cache agree to the second.
    expect(answer.token?.expiresAt?.getTime()).toBe(token.expiresAt?.getTime())
  })

  test('in a project where the user has no role, and with a wrong password, is refused', async () => {
    for (const question of [
      { profile: 'robot', scope: { account: ACCOUNT, project: 'other' } },
      { profile: 'robot', scope: { account: ACCOUNT, project: 'nowhere' } },
      { profile: 'robot', scope: { account: OTHER } },
      { profile: 'wrong', scope: { account: ACCOUNT } },
    ])
      await expect(client.issue(question)).rejects.toMatchObject({
        code: 'UNAUTHENTICATED',
        reason: 'UPSTREAM_LOGIN_REFUSED',
      })
  })
})

describe('an application credential', () => {
  const scope = { account: ACCOUNT, project: 'web' }

  test.each(['credential', 'credential-by-name'])('logs in and its token opens: %s', async (profile) => {
    const token = await client.issue({ profile, scope })
    expect(token).toMatchObject({ kind: 'iam_token_project_scoped', scope })
    expect((await client.issue({ profile, apis: ['cdn'], project: 'web' })).value).toBe(token.value)
    expect(await check(token.value, 'cdn')).toMatchObject({
      allowed: true,
      token: { subject: { name: 'robot' }, authority: 'cloud', scope },
    })
  })

  test('with a wrong secret is refused, and one with access rules gives no token', async () => {
    await expect(client.issue({ profile: 'wrong-credential', scope })).rejects.toMatchObject({
      reason: 'UPSTREAM_LOGIN_REFUSED',
    })
    await expect(client.issue({ profile: 'ruled', scope })).rejects.toMatchObject({
      reason: 'UPSTREAM_BAD_ANSWER',
      message: expect.stringContaining('a token without access rules'),
    })
  })
})

describe('Check', () => {
  test('knows the tokens of users of other accounts too', async () => {
    const value = await keystone.tokenFor(stranger)
    expect(await check(value)).toMatchObject({ allowed: true, token: { scope: { account: OTHER } } })
    expect(
      await client.check({
        api: 'iam',
        credentials: { 'X-Auth-Token': value },
        target: { account: ACCOUNT },
      }),
    ).toMatchObject({
      allowed: false,
      reason: 'ACCOUNT_MISMATCH',
    })
  })

  test('denies what Keystone does not know', async () => {
    const genuine = await keystone.tokenFor(robot)
    for (const value of [`${genuine.slice(0, -6)}AAAAAA`, 'gAAAAA', genuine.slice(1)])
      expect(await check(value)).toMatchObject({ allowed: false, reason: 'CREDENTIAL_INVALID' })
  })

  test('denies a token that was revoked there, after the time of the cache at the latest', async () => {
    const value = await keystone.tokenFor(robot)
    expect(await check(value)).toMatchObject({ allowed: true })
    const revoked = await fetch(`${keystone.identityUrl}/v3/auth/tokens`, {
      method: 'DELETE',
      headers: { 'x-auth-token': value, 'x-subject-token': value },
    })
    expect(revoked.status).toBe(204)
    // `cache_ms` is one second here.
    const answer = await eventually(async () => {
      const now = await check(value)
      return !now.allowed && now
    })
    expect(answer).toMatchObject({ reason: 'CREDENTIAL_REVOKED', token: { subject: { name: 'robot' } } })
  })

  test('denies a token at once that was revoked here, and Keystone no longer knows it', async () => {
    const value = await keystone.tokenFor(robot)
    expect(await check(value)).toMatchObject({ allowed: true })
    await running.client.revoke({ value })
    expect(await check(value)).toMatchObject({ allowed: false })
    const asked = await fetch(`${keystone.identityUrl}/v3/auth/tokens`, {
      headers: { 'x-auth-token': await keystone.tokenFor(validator, 'services'), 'x-subject-token': value },
    })
    expect(asked.status).toBe(404)
  })

  test('of a token that the sidecar may not revoke there leaves it as it is', async () => {
    const value = await keystone.tokenFor(robot, 'web')
    expect(await check(value, 'cdn')).toMatchObject({ allowed: true })
    // Keystone lets a validator ask, and not revoke.
    await expect(client.revoke({ value })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'UPSTREAM_FORBIDDEN',
    })
    expect(await check(value, 'cdn')).toMatchObject({ allowed: true })
  })
})

describe('an issued token', () => {
  test('that was revoked is replaced when an API has refused it', async () => {
    const { value } = await client.issue(ofAccount)
    await running.client.revoke({ value })
    const next = await client.issue({ ...ofAccount, rejected: value })
    expect(next.value).not.toBe(value)
    expect(await check(next.value)).toMatchObject({ allowed: true })
  })
})

test('after a change of a password no revoked token is given that a check has found', async () => {
  const dead = [(await client.issue(ofAccount)).value, (await client.issue(ofProject)).value]
  const { users } = (await keystone.ask('GET', '/users?name=robot')) as { users: { id: string }[] }
  // Keystone revokes all tokens of the user, also where the password is the same as before.
  await keystone.ask('PATCH', `/users/${users[0]?.id}`, { user: { password: robot.password } })
  for (const [index, value] of dead.entries()) {
    const api = index === 0 ? 'iam' : 'cdn'
    const revoked = { allowed: false, reason: 'CREDENTIAL_REVOKED' }
    const denied = async () => {
      const now = await check(value, api)
      return !now.allowed && now
    }
    expect(await eventually(denied)).toMatchObject(revoked)
    // A token of the same second is revoked too, and found like the others.
    const good = await eventually(async () => {
      const next = await client.issue(index === 0 ? ofAccount : ofProject)
      expect(next.value).not.toBe(value)
      return (await check(next.value, api)).allowed
    })
    expect(good).toBe(true)
    expect(await check(value, api)).toMatchObject(revoked)
  }
})

describe('Keystone stops', () => {
  afterAll(() => keystone.signal('SIGCONT'))

  test('and starts again: known tokens are believed meanwhile, others get no answer', async () => {
    const issued = await client.issue(ofAccount)
    const known = await keystone.tokenFor(robot)
    const unknown = await keystone.tokenFor(robot)
    expect(await check(known)).toMatchObject({ allowed: true })
    await keystone.stop()
    expect((await client.issue(ofAccount)).value).toBe(issued.value)
    await expect(check(unknown)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await eventually(() =>
      check(known).then(
        () => false,
        () => true,
      ),
    )
    await keystone.start()
    expect(await eventually(() => check(unknown).catch(() => false as const))).toMatchObject({
      allowed: true,
    })
    expect(await check(known)).toMatchObject({ allowed: true })
  })

  test('answering: a call ends at the time limit, and what is cached is given', async () => {
    const hasty = await startCloudBefore(
      keystone.identityUrl,
      { robot, validator },
      { project: 'services', timeoutMs: 10_000 },
    )
    const checkThere = (value: string) =>
      hasty.client.check({ api: 'iam', credentials: { 'X-Auth-Token': value } })
    const issued = await hasty.client.issue(ofAccount)
    await checkThere(issued.value)
    const unknown = await keystone.tokenFor(robot)
    keystone.signal('SIGSTOP')
    await expect(checkThere(unknown)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'upstream `cloud` did not answer within 10000 ms',
    })
    expect((await hasty.client.issue(ofAccount)).value).toBe(issued.value)
    keystone.signal('SIGCONT')
    expect(await eventually(() => checkThere(unknown).catch(() => false as const))).toMatchObject({
      allowed: true,
    })
  })
})

test('no log line holds a password or a token', () => {
  const log = running.logLines.join('')
  expect(log).not.toMatch(/canary|gAAAAA/)
  expect(log).not.toContain(credential.secret)
})

describe('tokens of a short life', () => {
  test('are renewed ahead of their end, and denied after it', async () => {
    // On a busy machine Keystone takes seconds to answer, and a token must last for longer.
    const brief = await Keystone.run(programs, { expiration: 30 })
    await brief.createAccount(ACCOUNT, ['services'])
    const user = await brief.createUser({ ...robot, accountRoles: ['member'] })
    const service = await brief.createUser({ ...validator, projectRoles: { services: ['service'] } })
    const there = await startCloudBefore(
      brief.identityUrl,
      { robot: user, validator: service },
      { project: 'services' },
    )
    const first = await there.client.issue(ofAccount)
    const asked = (value: string) =>
      there.client.check({ api: 'iam', credentials: { 'X-Auth-Token': value } })
    expect(await asked(first.value)).toMatchObject({ allowed: true })
    const given = new Set<string>()
    const expiresMs = first.expiresAt?.getTime() ?? 0
    // A client that asks every 50 ms always has a token that was active when it asked.
    for (let askedMs = Date.now(); askedMs < expiresMs + 500; askedMs = Date.now()) {
      const { value, expiresAt } = await there.client.issue(ofAccount)
      expect(expiresAt?.getTime()).toBeGreaterThan(askedMs)
      given.add(value)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    expect(given.size).toBeGreaterThan(1)
    expect(await asked(first.value)).toMatchObject({ allowed: false, reason: 'CREDENTIAL_EXPIRED' })
    // The sidecar's own token has ended meanwhile too, and was replaced.
    expect(await asked(await brief.tokenFor(user))).toMatchObject({ allowed: true })
  })
})
