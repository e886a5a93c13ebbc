/** What operators and users do to a directory: changes of every kind, of a few accounts. */
import { type Client, PortcullisError } from '../../clients/typescript/index.ts'
import { PermissionScope } from '../../proto/gen/portcullis/v1/directory.ts'
import type { IamClaims } from '../../sidecar/authority/iam-claims.ts'

export const ACCOUNTS = ['10001', '10002']
export const PROJECTS = ['alpha', 'beta']
export const SERVICE_USERS = ['job', 'robot']
/** Administers its account, while it has the role. */
export const BOSS = 'boss'
const OWNER = 'person'

/** Longest lifetime of a token, in milliseconds. */
export const KEY_LIFETIME_MS = 86_400_000

const EVERYTHING = [{ scope: PermissionScope.PERMISSION_SCOPE_ACCOUNT, projects: [] }]

/** Passwords and keys by whose they are, as they were given out last. */
export type Secrets = Map<string, string>

/** Makes one change. Resolves when it is acknowledged. */
export type Operation = (client: Client) => Promise<unknown>

export class Operations {
  readonly secrets: Secrets
  readonly #random: () => number
  #names = 0

  /** @param secrets those of what the directory has already */
  constructor(random: () => number, secrets: Secrets = new Map()) {
    this.#random = random
    this.secrets = new Map(secrets)
  }

  /** A change of something that is there, mostly of what the token of these claims depends on. */
  anyChange(claims: IamClaims | undefined): Operation {
    const account = this.#random() < 0.8 ? (claims?.account ?? this.#pick(ACCOUNTS)) : this.#pick(ACCOUNTS)
    const name =
      this.#random() < 0.8 ? (claims?.name ?? this.#pick(SERVICE_USERS)) : this.#pick(SERVICE_USERS)
    const project = this.#random() < 0.8 ? (claims?.project ?? this.#pick(PROJECTS)) : this.#pick(PROJECTS)
    const tokenId = (this.#random() < 0.3 ? claims?.from?.[0] : undefined) ?? claims?.jti ?? 'another'
    const user = { account, name }
    // Most of what is taken is given again, or soon nothing would be in force.
    if (this.#random() < 0.4) return (client) => this.#giveAll(client, account)
    return this.#pick<Operation>([
      (client) => client.revoke({ tokenId }),
      ({ directory }) => directory.updateServiceUser({ ...user, enabled: false }),
      ({ directory }) => directory.updateServiceUser({ ...user, permissions: { permissions: [] } }),
      ({ directory }) =>
        directory.updateServiceUser({ ...user, permissions: { permissions: ofProject(project) } }),
      ({ directory }) => directory.updateServiceUser({ account, name: BOSS, roles: { roles: [] } }),
      ({ directory }) => directory.deleteServiceUser(user),
      (client) => this.#replacePassword(client, account, name),
      ({ directory }) => directory.revokeStaticToken({ account, userName: OWNER, name: 'key' }),
      ({ directory }) => directory.updateProject({ account, name: project, enabled: false }),
      ({ directory }) => directory.deleteProject({ account, name: project }),
      ({ directory }) => directory.updateAccount({ account, enabled: false }),
      ({ directory }) =>
        directory.setAddressRestriction({ account, ranges: ['10.0.0.0/8'], allowExcludingRequester: true }),
      ({ directory }) => directory.createAccount({ account: `unrelated-${this.#names++}` }),
    ])
  }

  /** Everything of the account is in force again. */
  async #giveAll({ directory }: Client, account: string): Promise<void> {
    await directory.updateAccount({ account, enabled: true })
    await directory.setAddressRestriction({ account, ranges: [] })
    for (const name of PROJECTS)
      await orElse(
        () => directory.updateProject({ account, name, enabled: true }),
        () => directory.createProject({ account, name }),
      )
    for (const name of [...SERVICE_USERS, BOSS]) {
      const given = { enabled: true, permissions: { permissions: EVERYTHING } }
      const roles = name === BOSS ? { roles: { roles: ['iam.admin'] } } : {}
      await orElse(
        () => directory.updateServiceUser({ account, name, ...given, ...roles }),
        () => this.#createUser(directory, account, name),
      )
    }
    await orElse(
      () => this.#createKey(directory, account),
      async () => {},
    )
  }

  async populate({ directory }: Client): Promise<void> {
    for (const account of ACCOUNTS) {
      await directory.createAccount({ account })
      for (const name of PROJECTS) await directory.createProject({ account, name })
      await directory.createControlPanelUser({ account, name: OWNER, owner: true })
      await this.#createKey(directory, account)
      for (const name of [...SERVICE_USERS, BOSS]) await this.#createUser(directory, account, name)
    }
  }

  async #createUser(directory: Client['directory'], account: string, name: string): Promise<void> {
    const permissions = EVERYTHING
    const roles = name === BOSS ? ['iam.admin'] : []
    const { password } = await directory.createServiceUser({ account, name, permissions, roles })
    this.secrets.set(`${account} ${name}`, password)
  }

  async #replacePassword({ directory }: Client, account: string, name: string): Promise<void> {
    const { password } = await directory.replaceServiceUserPassword({ account, name })
    this.secrets.set(`${account} ${name}`, password)
  }

  async #createKey(directory: Client['directory'], account: string): Promise<void> {
    const { value } = await directory.createStaticToken({ account, userName: OWNER, name: 'key' })
    this.secrets.set(`${account} key`, value)
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T
  }
}

/** The first, or the second where the directory refuses it. */
async function orElse(first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<void> {
  try {
    await first()
  } catch (error) {
    if (!(error instanceof PortcullisError) || !REFUSALS.has(error.code)) throw error
    await second()
  }
}

const REFUSALS = new Set(['NOT_FOUND', 'ALREADY_EXISTS'])

function ofProject(project: string) {
  return [{ scope: PermissionScope.PERMISSION_SCOPE_PROJECTS, projects: [project] }]
}
