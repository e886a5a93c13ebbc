/** A sidecar that makes application credentials, and its users who have some. */
import { expect } from 'vitest'
import type { Administration } from '../../../sidecar/authority/administration/administration.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { ApplicationCredentialChange } from '../../../sidecar/directory/application-credential-records.ts'
import { projectIn, userIn } from '../../../sidecar/directory/found.ts'
import { TESTER } from '../sidecar/actor.ts'
import { newFile } from '../suite/resources.ts'
import { ACCOUNT, errorOf, type IdentitySidecar, startIdentity, TOKENS } from './identity.ts'

/** @param settings of `http.compatibility`, in YAML */
export const startWith = (settings: string, flags = {}, now: () => number = Date.now) =>
  startIdentity({
    config: newFile(`http: { compatibility: { ${settings} } }`, 'config.yaml'),
    ...{ flags, now },
  })

export const pathOf = (userId: string, id?: string) =>
  `/identity/v3/users/${userId}/application_credentials${id === undefined ? '' : `/${id}`}`

/** A credential that was made. */
export interface Made {
  readonly id: string
  readonly secret: string
}

export const LOGIN_FAILED = errorOf(401, 'Unauthorized', expect.stringMatching(/^the login failed/))

/**
 * Makes one for the project `alpha`, without the endpoint, with a secret that is thrown away.
 *
 * @returns its id
 */
export async function storedCredential(
  { directory, secrets }: Administration,
  account: string,
  userName: string,
  name = 'nightly',
): Promise<string> {
  const secretHash = await secrets.hash(new Secret('a secret'), TESTER.principal)
  return directory.change(TESTER, async (change) => {
    const { id: projectId } = await projectIn(change.records, account, 'alpha')
    const user = await userIn(change.records, account, userName, 'service_user')
    return new ApplicationCredentialChange(change).add(user, {
      ...{ name, description: '', projectId, secretHash, expiresAt: undefined },
      ...{ roles: ['member'], limited: false, unrestricted: false },
    })
  })
}

/** Logs in with a credential. @param more beside `identity` */
export const logInAt = (at: IdentitySidecar, credential: object, more: object = {}) =>
  at.ask({
    method: 'POST',
    path: TOKENS,
    body: {
      auth: {
        identity: { methods: ['application_credential'], application_credential: credential },
        ...more,
      },
    },
  })

/** @param now wall clock of the sidecar */
export async function startWithCredentials(now: () => number = Date.now) {
  const sidecar = await startWith(
    'application_credentials: true, token_method: any, list_scopes: true',
    {},
    now,
  )
  const { ask, running } = sidecar
  const { administration, run } = running.sidecar
  let users = 0

  /** A separate service user, with a permission for the account. */
  async function newUser(roles: readonly string[] = []) {
    const name = `user ${++users}`
    const { user, password } = await run(TESTER, 'createServiceUser', {
      account: ACCOUNT,
      name,
      permissions: [{ scope: 'account' }],
      roles,
    })
    const logIn = (project: string | undefined = 'alpha') =>
      sidecar.tokenFor({ user: name, password: password.reveal(), ...(project !== '' && { project }) })
    return { user, name, logIn, token: await logIn(), path: pathOf(user.id) }
  }

  const create = (path: string, token: string, wish: object = {}) =>
    ask({
      method: 'POST',
      path,
      headers: { 'x-auth-token': token },
      body: { application_credential: { name: 'nightly', ...wish } },
    })

  async function made(path: string, token: string, wish: object = {}): Promise<Made> {
    const { status, json, text } = await create(path, token, wish)
    if (status !== 201) throw new Error(`not made: ${status} ${text}`)
    return json.application_credential
  }

  const logIn = (credential: object, more: object = {}) => logInAt(sidecar, credential, more)

  async function tokenBy({ id, secret }: Made): Promise<string> {
    const { status, headers, text } = await logIn({ id, secret })
    if (status !== 201) throw new Error(`no token: ${status} ${text}`)
    return headers['x-subject-token'] ?? ''
  }

  const reasonAt = async (token: string, api = 'cdn') =>
    (await running.client.check({ api, credentials: [['X-Auth-Token', token]] })).reason

  return { sidecar, ask, running, administration, newUser, create, made, logIn, tokenBy, reasonAt }
}
