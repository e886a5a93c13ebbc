/** Tokens of application credentials: what they may do, and what ends them with their credential. */
import { describe, expect, test } from 'vitest'
import { LOGIN_FAILED, pathOf, startWithCredentials } from '../support/identity/application-credentials.ts'
import { ACCOUNT, about, rescopeBody, TOKENS } from '../support/identity/identity.ts'

let elapsedMs = 0
const now = () => Date.now() + elapsedMs
const { sidecar, ask, running, newUser, create, made, logIn, tokenBy, reasonAt } =
  await startWithCredentials(now)

describe('its token', () => {
  test('makes and deletes no credentials and is not exchanged, unless it is unrestricted', async () => {
    const { token, path, user } = await newUser()
    const restricted = await made(path, token)
    const free = await made(path, token, { name: 'free', unrestricted: true })
    const [ofRestricted, ofFree] = [await tokenBy(restricted), await tokenBy(free)]
    const erase = (value: string, id: string) =>
      ask({ method: 'DELETE', path: pathOf(user.id, id), headers: { 'x-auth-token': value } })
    const exchange = (value: string, scope: object) =>
      ask({ method: 'POST', path: TOKENS, body: rescopeBody(value, scope) })
    expect((await create(path, ofRestricted, { name: 'more' })).status).toBe(403)
    expect((await erase(ofRestricted, free.id)).status).toBe(403)
    expect((await exchange(ofRestricted, { project: 'alpha' })).status).toBe(401)
    const { id } = await made(path, ofFree, { name: 'more' })
    expect((await erase(ofFree, id)).status).toBe(204)
    const exchanged = await exchange(ofFree, { project: 'alpha' })
    expect(exchanged.json.token.methods).toEqual(['application_credential', 'token'])
    expect(exchanged.json.token.audit_ids).toHaveLength(2)
    // A credential is for its project, whatever its user may do elsewhere.
    for (const scope of [{}, { project: 'beta' }]) expect((await exchange(ofFree, scope)).status).toBe(401)
    expect((await erase(token, free.id)).status).toBe(204)
    expect(await reasonAt(exchanged.headers['x-subject-token'] ?? '')).toBe('CREDENTIAL_REVOKED')
  })

  test('has the roles of the credential, and without that of an administrator it administers nothing', async () => {
    const { token, path } = await newUser(['iam.admin'])
    const whole = await made(path, token, { name: 'whole' })
    const limited = await made(path, token, {
      name: 'limited',
      roles: [{ name: 'member' }],
      unrestricted: true,
    })
    const other = await sidecar.tokenFor({})
    const validate = async (value: string) =>
      (await ask({ path: TOKENS, headers: about(other, value) })).status
    const [ofWhole, ofLimited] = [await tokenBy(whole), await tokenBy(limited)]
    expect(await validate(ofWhole)).toBe(200)
    expect(await validate(ofLimited)).toBe(403)
    const rolesOf = async (subject: string, by: string) =>
      (await ask({ path: TOKENS, headers: about(subject, by) })).json.token.roles.map(
        ({ name }: { name: string }) => name,
      )
    expect(await rolesOf(ofLimited, ofLimited)).toEqual(['member'])
    expect((await rolesOf(ofWhole, ofLimited)).sort()).toEqual(['iam.admin', 'member'])
    // What it makes has no more than it has itself.
    const child = await made(path, ofLimited, { name: 'child' })
    expect(await validate(await tokenBy(child))).toBe(403)
    expect((await create(path, ofLimited, { name: 'x', roles: [{ name: 'iam.admin' }] })).status).toBe(400)
  })

  test('ends for good with the credential when that is deleted', async () => {
    const { user, token: own, path } = await newUser()
    const credential = await made(path, own)
    const token = await tokenBy(credential)
    expect(await reasonAt(token)).toBe('ALLOWED')
    await ask({ method: 'DELETE', path: pathOf(user.id, credential.id), headers: { 'x-auth-token': own } })
    expect(await reasonAt(token)).toBe('CREDENTIAL_REVOKED')
    expect((await logIn({ ...credential })).json).toEqual(LOGIN_FAILED)
  })

  test('ends when the credential ends, which is shown to the microsecond', async () => {
    const { token, path } = await newUser()
    const at = new Date(now() + 60_000).toISOString().replace('Z', '123')
    const { json } = await create(path, token, { expires_at: at })
    const { expires_at, ...credential } = json.application_credential
    expect(expires_at).toBe(at)
    const value = await tokenBy(credential)
    expect(await reasonAt(value)).toBe('ALLOWED')
    elapsedMs += 61_000
    expect(await reasonAt(value)).toBe('CREDENTIAL_EXPIRED')
    expect((await logIn(credential)).json).toEqual(LOGIN_FAILED)
  })
})

describe('an administrator', () => {
  test('lists the credentials of a user, and makes none', async () => {
    const { token, path, user, name } = await newUser()
    const { id } = await made(path, token)
    const administrator = await sidecar.tokenFor({ user: 'administrator' })
    const { json } = await ask({ path, headers: { 'x-auth-token': administrator } })
    expect(json.application_credentials).toMatchObject([{ id, user_id: user.id }])
    const { directory } = running.connect({ iamToken: administrator })
    const listed = await directory.listApplicationCredentials({ account: ACCOUNT, userName: name })
    expect(listed.credentials).toMatchObject([{ id, name: 'nightly', project: 'alpha', roles: ['member'] }])
    await directory.deleteApplicationCredential({ account: ACCOUNT, userName: name, id })
    expect((await ask({ path: `${path}/${id}`, headers: { 'x-auth-token': token } })).status).toBe(404)
  })
})

test('there are no access rules, and the list of them says so', async () => {
  const { token, user } = await newUser()
  const path = `/identity/v3/users/${user.id}/access_rules`
  expect(await ask({ path, headers: { 'x-auth-token': token } })).toMatchObject({
    status: 200,
    json: { access_rules: [] },
  })
})
