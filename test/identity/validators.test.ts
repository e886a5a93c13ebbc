/** Validators: service users who may validate the tokens of every account, and nothing else by that. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { ACCOUNT, about, OTHER_ACCOUNT, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { newFile } from '../support/suite/resources.ts'

const CLERK = 'the-token-of-the-clerk-of-the-account'
const config = newFile(
  `callers:\n  - { name: clerk, token_file: ${newFile(CLERK)}, rights: [administer:${ACCOUNT}] }\n`,
  'config.yaml',
)
const sidecar = await startIdentity({ config })
const { ask, tokenFor, running } = sidecar
const { administration, run } = running.sidecar
const operator = running.connect({
  callerToken: readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim(),
}).directory

/** A new validator of `ACCOUNT` for each test. */
let name = ''
let password = ''
let count = 0
beforeEach(async () => {
  name = `guard-${++count}`
  const created = await operator.createServiceUser({
    account: ACCOUNT,
    name,
    permissions: [{ scope: 1, projects: [] }],
  })
  await operator.setServiceUserValidator({ account: ACCOUNT, name, validator: true })
  // The password of before is over: an administrator of the account may know it.
  await expect(tokenFor({ user: name, password: created.password })).rejects.toThrow('401')
  ;({ password } = await operator.replaceServiceUserPassword({ account: ACCOUNT, name }))
})

const login = (project?: string) =>
  tokenFor({ user: name, password, ...(project !== undefined && { project }) })
const strangers = () => tokenFor({ user: 'stranger', account: OTHER_ACCOUNT })
const statusOf = async (method: string, subject: string, requester: string) =>
  (await ask({ method, path: TOKENS, headers: about(subject, requester) })).status

describe('a validator', () => {
  test.each([undefined, 'alpha'])(
    'validates tokens of other accounts, with a token for %s',
    async (project) => {
      const [own, subject] = [await login(project), await strangers()]
      expect(await ask({ path: TOKENS, headers: about(subject, own) })).toMatchObject({
        status: 200,
        headers: { 'x-subject-token': subject },
        json: { token: { user: { name: 'stranger', domain: { name: OTHER_ACCOUNT } } } },
      })
      expect(await statusOf('HEAD', subject, own)).toBe(200)
      expect(
        (await ask({ path: '/identity/v3/auth/catalog', headers: { 'x-auth-token': own } })).status,
      ).toBe(200)
    },
  )

  test('validates tokens of others in their own account', async () => {
    expect(await statusOf('GET', await tokenFor({}), await login())).toBe(200)
  })

  test('learns that a token is unknown, as an administrator does', async () => {
    const own = await login()
    for (const headers of [{ 'x-auth-token': own }, about('garbage', own)])
      expect((await ask({ path: TOKENS, headers })).status).toBe(404)
  })

  test('revokes no token but their own', async () => {
    const own = await login()
    for (const subject of [await strangers(), await tokenFor({})]) {
      expect(await statusOf('DELETE', subject, own)).toBe(403)
      await expect(running.connect({ iamToken: own }).revoke({ value: subject })).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
      })
    }
    expect((await ask({ method: 'DELETE', path: TOKENS, headers: { 'x-auth-token': own } })).status).toBe(403)
    expect(await statusOf('DELETE', own, own)).toBe(204)
  })

  test.each<[what: string, lose: () => Promise<unknown>, status: number]>([
    [
      'is no longer one',
      () => operator.setServiceUserValidator({ account: ACCOUNT, name, validator: false }),
      403,
    ],
    ['is deleted', () => operator.deleteServiceUser({ account: ACCOUNT, name }), 401],
  ])('who %s stops at once', async (_what, lose, status) => {
    const [own, subject] = [await login(), await strangers()]
    expect(await statusOf('GET', subject, own)).toBe(200)
    await lose()
    expect(await statusOf('GET', subject, own)).toBe(status)
    expect(await statusOf('HEAD', subject, own)).toBe(status)
  })
})

test('a directory file makes validators, and leaves those alone of whom it says nothing', async () => {
  const file = (validator?: boolean) => ({
    accounts: [
      {
        account: ACCOUNT,
        service_users: [
          {
            name,
            permissions: [{ scope: 'account' as const }],
            ...(validator !== undefined && { validator }),
          },
        ],
      },
    ],
  })
  expect((await applyFile(administration, TESTER, file())).changed).toEqual([])
  expect((await applyFile(administration, TESTER, file(false))).changed).toEqual([
    { account: ACCOUNT, user: name, what: ['validator'], credentialsEnded: false },
  ])
  expect((await run(TESTER, 'getServiceUser', { account: ACCOUNT, name })).validator).toBe(false)
  expect((await applyFile(administration, TESTER, file(true))).changed).toEqual([
    { account: ACCOUNT, user: name, what: ['validator'], credentialsEnded: true },
  ])
  expect((await run(TESTER, 'getServiceUser', { account: ACCOUNT, name })).validator).toBe(true)
})
