/** Operators and users change a simulated directory: changes of every kind, of a few accounts. */
import { type Client, PortcullisError } from '../../clients/typescript/index.ts'
import { trusted } from '../../sidecar/authority/actor.ts'
import { applyFile, type DirectoryFile } from '../../sidecar/authority/administration/directory-file.ts'
import type { IamClaims } from '../../sidecar/authority/iam-claims.ts'
import { type Asked, type Caller, perform, someRecords, type What } from '../world/operations.ts'

import { operatorOf, type Worker } from './fleet.ts'

export const ACCOUNTS = ['10001', '10002']
export const PROJECTS = ['alpha', 'beta']
export const SERVICE_USERS = ['job', 'robot']
/** Administers its account, while it has the role. */
export const BOSS = 'boss'

/** Longest lifetime of a token, in milliseconds. */
export const KEY_LIFETIME_MS = 86_400_000

/** Most users of one change: each statement takes some time here, and so does the whole change. */
const USERS_MAX = 200

/** Passwords and keys by whose they are, as they were given out last. */
export type Secrets = Map<string, string>

/** Makes one change. Resolves when it is acknowledged. */
export type Change = (client: Client) => Promise<unknown>

export class Operations {
  readonly secrets: Secrets
  readonly #random: () => number
  #names = 0
  /** Accounts with many users. */
  readonly #large: string[] = []

  /** @param secrets those of what the directory has already */
  constructor(random: () => number, secrets: Secrets = new Map()) {
    this.#random = random
    this.secrets = new Map(secrets)
  }

  /** A change of something that is there, mostly of what the token of these claims depends on. */
  anyChange(claims: IamClaims | undefined): Change {
    const account = this.#random() < 0.8 ? (claims?.account ?? this.#pick(ACCOUNTS)) : this.#pick(ACCOUNTS)
    const name =
      this.#random() < 0.8 ? (claims?.name ?? this.#pick(SERVICE_USERS)) : this.#pick(SERVICE_USERS)
    const project = this.#random() < 0.8 ? (claims?.project ?? this.#pick(PROJECTS)) : this.#pick(PROJECTS)
    const tokenId = (this.#random() < 0.3 ? claims?.from?.[0] : undefined) ?? claims?.jti ?? 'another'
    // Most of what is taken is given again, or soon nothing would be in force.
    if (this.#random() < 0.4) return (client) => this.#giveAll(client, account)
    const [what, asked] = this.#pick<() => [What, Partial<Asked>]>([
      () => ['revoke', { token: { tokenId } }],
      () => ['updateUser', { name, enabled: false }],
      () => ['updateUser', { name, ofAccount: false }],
      () => ['updateUser', { name, ofProject: project }],
      () => ['updateUser', { name: BOSS, administers: false }],
      () => ['deleteUser', { name }],
      () => ['replacePassword', { name }],
      () => ['revokeKey', { name: KEY }],
      () => ['updateProject', { name: project, enabled: false }],
      () => ['deleteProject', { name: project }],
      () => ['updateAccount', { enabled: false }],
      () => ['restrict', { restricted: true }],
      () => ['createAccount', { account: `unrelated-${this.#names++}` }],
    ])()
    return (client) => this.#perform(client, what, { account, ...asked })
  }

  /**
   * Many users are created in one change, with their account, and the user of these claims is disabled. Or an
   * account with many users is deleted.
   */
  largeChange(claims: IamClaims | undefined): (client: Client, worker: Worker) => Promise<unknown> {
    const account = this.#large[0]
    if (account !== undefined && this.#random() < 0.4) {
      this.#large.shift()
      return (client) => this.#perform(client, 'deleteAccount', { account })
    }
    const asked = {
      account: `large-${this.#names++}`,
      count: someRecords(this.#random, USERS_MAX),
      disabled: claims && { account: claims.account, name: claims.name },
    }
    return async ({ directory, issue, revoke }, { sidecar, machine }) => {
      const apply: Caller['apply'] = async (file) =>
        sidecar && applyFile(sidecar.administration, trusted(operatorOf(machine.name)), file as DirectoryFile)
      await perform({ directory, issue, revoke, apply }, { what: 'createUsers', asked })
      this.#large.push(asked.account)
    }
  }

  /** Everything of the account is in force again. */
  async #giveAll(client: Client, account: string): Promise<void> {
    await this.#perform(client, 'updateAccount', { account, enabled: true })
    await this.#perform(client, 'restrict', { account, restricted: false })
    for (const name of PROJECTS)
      await orElse(
        () => this.#perform(client, 'updateProject', { account, name, enabled: true }),
        () => this.#perform(client, 'createProject', { account, name }),
      )
    for (const user of users(account))
      await orElse(
        () => this.#perform(client, 'updateUser', { enabled: true, ...user }),
        () => this.#perform(client, 'createUser', user),
      )
    await orElse(
      () => this.#perform(client, 'createKey', { account, name: KEY }),
      async () => {},
    )
  }

  async populate(client: Client): Promise<void> {
    for (const account of ACCOUNTS) {
      await this.#perform(client, 'createAccount', { account })
      for (const name of PROJECTS) await this.#perform(client, 'createProject', { account, name })
      await this.#perform(client, 'createOwner', { account })
      await this.#perform(client, 'createKey', { account, name: KEY })
      for (const user of users(account)) await this.#perform(client, 'createUser', user)
    }
  }

  async #perform(client: Client, what: What, asked: Asked): Promise<void> {
    const { secret } = await perform(client, { what, asked })
    if (secret !== undefined) this.secrets.set(`${asked.account} ${asked.name}`, secret)
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T
  }
}

/** The static token of an owner. */
const KEY = 'key'

/** Those of an account, with all that they may have. */
function users(account: string): readonly (Asked & { readonly name: string })[] {
  return [...SERVICE_USERS, BOSS].map((name) => ({
    ...{ account, name, ofAccount: true },
    ...(name === BOSS && { administers: true }),
  }))
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
