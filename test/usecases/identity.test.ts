/**
 * The use cases of the identity endpoint with a real directory: what no client can bring about over HTTP, and
 * what is asked of whom. `test/identity` speaks to the endpoint.
 */
import { describe, expect, test, vi } from 'vitest'
import { UNSCOPED_KIND, type VerifiedToken } from '../../sidecar/authority/authority.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { authenticate } from '../../sidecar/usecases/identity/authenticate.ts'
import { type Login, logIn } from '../../sidecar/usecases/identity/identity-log-in.ts'
import { type IdentityServices, withRecords } from '../../sidecar/usecases/identity/identity-token.ts'
import { revokeSubject, type TokenQuestion, validate } from '../../sidecar/usecases/identity/subject-token.ts'
import { storedCredential } from '../support/identity/application-credentials.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { CONNECTION, openPeople, outcomeOf } from '../support/sidecar/services.ts'

const ACCOUNT = '4711'
const people = await openPeople(ACCOUNT)
const { administration, authority, engine, iamToken, kindFor, userNamed, run } = people
const services: IdentityServices = {
  ...people,
  settings: {
    roles: { account: ['member'], projects: ['member'], byRole: new Map() },
    ...{ unscopedLogin: true, tokenMethod: 'any', applicationCredentials: true },
  },
}
const [robot, admin, unscoped] = await Promise.all([
  iamToken('robot'),
  iamToken('admin'),
  iamToken('robot', undefined, { ...kindFor(), id: UNSCOPED_KIND }),
])
const asked = (value: string) => ({
  headers: [['X-Auth-Token', value]] as [string, string][],
  ...{ clientAddress: '192.0.2.7' as const, connection: CONNECTION, requestId: 'r-1' },
})

describe('who asks', () => {
  test('is known with where they are, for the audit trail', async () => {
    expect(await authenticate(services, asked(robot.value))).toEqual({
      ...{ type: 'user', user: await userNamed('robot'), token: robot.token, requestId: 'r-1' },
      ...{ clientAddress: '192.0.2.7', from: { protocol: 'http', address: '192.0.2.7' } },
      ownersFromAnywhere: false,
    })
  })

  test('may have a token for no scope, unless one is needed', async () => {
    const question = asked(unscoped.value)
    expect(await authenticate(services, question)).toMatchObject({ token: unscoped.token })
    expect(await outcomeOf(() => authenticate(services, question, 'scoped'))).toBe(
      'SCOPE_REQUIRED: the token is unscoped; expected one for an account or a project',
    )
  })
})

describe('a token is described', () => {
  test('without roles, when its holder is gone', async () => {
    const { id } = await run(TESTER, 'getAccount', { account: ACCOUNT })
    expect(await withRecords(services, robot.token, undefined)).toEqual({
      ...{ token: robot.token, accountId: id, roles: [], unscoped: false, credentialName: undefined },
    })
  })

  test('with the roles of its application credential, and without any when that is gone', async () => {
    const user = await userNamed('admin')
    const [id, none] = [await storedCredential(administration, ACCOUNT, 'admin'), '0'.repeat(32)]
    const of = (credential: string): VerifiedToken => ({
      ...admin.token,
      applicationCredential: { id: credential, unrestricted: false, limited: false },
    })
    expect(await withRecords(services, admin.token, user)).toMatchObject({ roles: ['member', 'iam.admin'] })
    expect(await withRecords(services, of(id), user)).toMatchObject({
      ...{ roles: ['member'], credentialName: 'nightly' },
    })
    expect(await withRecords(services, of(none), user)).toMatchObject({
      ...{ roles: [], credentialName: undefined },
    })
  })

  test('to its holder as to others', async () => {
    const question = (value: string): TokenQuestion => ({
      ...asked(value),
      ...{ subject: robot.value, acceptExpired: false },
    })
    const shown = await validate(services, question(robot.value))
    expect(shown).toMatchObject({ roles: ['member'], unscoped: false })
    expect(await validate(services, question(admin.value))).toEqual(shown)
  })
})

test('a login that fails has its reason in the cause alone, which the log reads', async () => {
  const login: Login = {
    method: {
      type: 'password',
      user: { name: 'robot', account: { name: ACCOUNT } },
      password: new Secret('x'),
    },
    scope: { type: 'account', account: { name: ACCOUNT } },
    ...{ clientAddress: '192.0.2.7' as const, connection: { name: 'c' } },
  }
  await expect(logIn(services, login)).rejects.toMatchObject({
    ...{ reason: 'LOGIN_REFUSED', cause: { reason: 'LOGIN_FAILED' } },
  })
})

test('a token that the settings know no more is not described, and is revoked', async () => {
  const { value } = await iamToken('robot', undefined, { ...kindFor(), id: UNSCOPED_KIND })
  const without = { ...services, settings: { ...services.settings, unscopedLogin: false } }
  const question = { ...asked(admin.value), subject: value, acceptExpired: false }
  expect(await outcomeOf(() => validate(without, question))).toMatch(/^NOT_FOUND/)
  const verify = vi.spyOn(authority, 'verify')
  await revokeSubject(without, question)
  expect(verify).toHaveBeenLastCalledWith(value, new Map(), { connection: CONNECTION })
  verify.mockRestore()
  expect(await authority.verify(value, engine.tokenKinds)).toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
})

test('an administrator who loses the role meanwhile revokes nothing', async () => {
  const { value } = await iamToken('robot')
  const { directory } = administration
  const original = directory.change.bind(directory)
  const changes = vi.spyOn(directory, 'change').mockImplementationOnce(async (...given) => {
    await run(TESTER, 'updateServiceUser', { account: ACCOUNT, name: 'admin', roles: [] })
    return original(...given)
  })
  const question = { ...asked(admin.value), subject: value, acceptExpired: false }
  expect(await outcomeOf(() => revokeSubject(services, question))).toMatch(/^NOT_HOLDER_NOR_ADMINISTRATOR/)
  changes.mockRestore()
  expect((await authority.verify(value, engine.tokenKinds)).ok).toBe(true)
})

test('a token that is exchanged is verified in the turn of its connection', async () => {
  const verify = vi.spyOn(authority, 'verify')
  const connection = { name: 'c' }
  const login: Login = {
    method: { type: 'token', value: new Secret(robot.value) },
    scope: { type: 'account', account: { name: ACCOUNT } },
    ...{ clientAddress: '192.0.2.7' as const, connection },
  }
  expect(await logIn(services, login)).toMatchObject({ issued: { token: { scope: { account: ACCOUNT } } } })
  expect(verify).toHaveBeenNthCalledWith(1, robot.value, engine.tokenKinds, { connection })
  verify.mockRestore()
})
