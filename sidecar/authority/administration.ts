/** Administration of the embedded authority: its directory's records, and the secrets that come into being with them. */
import { userInfo } from 'node:os'
import type { Scope, TokenKind } from '../../engine/index.ts'
import { callError } from '../base/call-error.ts'
import { Secret } from '../base/secret.ts'
import type { DirectoryChange } from '../directory/change.ts'
import type {
  AccountRecord,
  AuditRecord,
  Page,
  Permission,
  ProjectRecord,
  RevocationRecord,
  StaticTokenRecord,
  UserRecord,
  UserType,
} from '../directory/directory.ts'
import { AccountAdministration } from './account-administration.ts'
import type { IssuedToken } from './authority.ts'
import {
  type AccountListing,
  type Applied,
  type DirectoryFile,
  DirectoryFileChange,
  listDirectory,
  type NewSecret,
  passwordsFor,
  refuseRepetitions,
  type SecretMakers,
} from './directory-file.ts'
import { type IamClaims, newClaims, tokenOf } from './iam-token.ts'
import {
  checkName,
  checkPermissions,
  checkRoles,
  found,
  noAccount,
  noProject,
  noStaticToken,
  userIn,
} from './lookups.ts'
import { newPassword } from './password.ts'
import { fingerprintOf, hashStaticToken, newStaticToken } from './static-token.ts'

/** The records, for protocols, which never see the directory itself. */
export type {
  AccountRecord,
  AuditRecord,
  Page,
  Permission,
  ProjectRecord,
  RevocationRecord,
  StaticTokenRecord,
  UserRecord,
  UserType,
}

/** Every change names its actor, for the audit trail. Every method throws `CallError` where there is no answer. */
export class Administration extends AccountAdministration {
  /** The password is shown this once. */
  async createServiceUser(
    actor: string,
    account: string,
    user: {
      readonly name: string
      readonly permissions: readonly Permission[]
      readonly roles?: readonly string[]
    },
  ): Promise<{ user: UserRecord; password: Secret }> {
    checkName('name', user.name)
    checkRoles(user.roles ?? [])
    checkPermissions(user.permissions)
    const { password, hash } = await this.#newPassword()
    const record = await this.change(actor, `user \`${user.name}\``, async (change) => {
      const owner = found(await change.account(account), noAccount(account))
      const id = await change.createUser(owner, { name: user.name, type: 'service_user', passwordHash: hash })
      await change.setPermissions({ id, account, name: user.name }, user.permissions)
      const created = await userIn(change, account, user.name, 'service_user')
      if (user.roles !== undefined && user.roles.length > 0) await change.setRoles(created, user.roles)
      return userIn(change, account, user.name, 'service_user')
    })
    return { user: record, password }
  }

  createControlPanelUser(
    actor: string,
    account: string,
    user: { readonly name: string; readonly owner?: boolean; readonly roles?: readonly string[] },
  ): Promise<UserRecord> {
    checkName('name', user.name)
    checkRoles(user.roles ?? [])
    return this.change(actor, `user \`${user.name}\``, async (change) => {
      const account_ = found(await change.account(account), noAccount(account))
      await change.createUser(account_, {
        name: user.name,
        type: 'control_panel_user',
        owner: user.owner === true,
      })
      const created = await userIn(change, account, user.name, 'control_panel_user')
      if (user.roles !== undefined && user.roles.length > 0) await change.setRoles(created, user.roles)
      return userIn(change, account, user.name, 'control_panel_user')
    })
  }

  async user(account: string, name: string, type: UserType): Promise<UserRecord> {
    return userIn(this.parts.store.records, account, name, type)
  }

  users(account: string, type: UserType, page: Page): Promise<UserRecord[]> {
    return this.ofAccount(account, this.parts.store.records.users(account, type, page))
  }

  userById(id: string): Promise<UserRecord | undefined> {
    return this.parts.store.records.userById(id)
  }

  /** Sets what is given and leaves the rest. @param allow throws where it may not be done to this user */
  updateUser(
    actor: string,
    account: string,
    name: string,
    type: UserType,
    to: {
      readonly enabled?: boolean | undefined
      readonly permissions?: readonly Permission[] | undefined
      readonly owner?: boolean | undefined
      readonly roles?: readonly string[] | undefined
    },
    allow: (user: UserRecord) => void = () => {},
  ): Promise<UserRecord> {
    checkRoles(to.roles ?? [])
    checkPermissions(to.permissions ?? [])
    return this.change(actor, '', async (change) => {
      const user = await userIn(change, account, name, type)
      allow(user)
      if (to.enabled !== undefined && to.enabled !== user.enabled)
        await change.setUserEnabled(user, to.enabled)
      if (to.permissions !== undefined) await change.setPermissions(user, to.permissions)
      if (to.owner !== undefined && to.owner !== user.owner) await change.setOwner(user, to.owner)
      if (to.roles !== undefined) await change.setRoles(user, to.roles)
      return userIn(change, account, name, type)
    })
  }

  /** @param allow throws where it may not be done to this user */
  deleteUser(
    actor: string,
    account: string,
    name: string,
    type: UserType,
    allow: (user: UserRecord) => void = () => {},
  ): Promise<void> {
    return this.change(actor, '', async (change) => {
      const user = await userIn(change, account, name, type)
      allow(user)
      await change.deleteUser(user)
    })
  }

  /** Replaces a service user's password (§5.1); their tokens no longer stand. The new one is shown this once. */
  async replacePassword(account: string, userName: string, actor = commandLine()): Promise<NewSecret> {
    const { password, hash } = await this.#newPassword()
    await this.change(actor, '', async (change) =>
      change.setPassword(await userIn(change, account, userName, 'service_user'), hash),
    )
    return { account, user: userName, type: 'password', value: password.reveal() }
  }

  /** A static token of a control panel user (§4.2). The value is shown this once. */
  createStaticToken(
    actor: string,
    account: string,
    userName: string,
    name: string,
  ): Promise<{ token: StaticTokenRecord; kind: string; value: Secret }> {
    checkName('name', name)
    return this.change(actor, `static token \`${name}\``, async (change) => {
      const user = await userIn(change, account, userName, 'control_panel_user')
      const value = await this.#addStaticToken(change, user, name)
      return {
        token: found(await change.liveStaticToken(user.id, name), noStaticToken(name)),
        kind: this.#staticKind(),
        value: new Secret(value),
      }
    })
  }

  async staticTokens(account: string, userName: string, page: Page): Promise<StaticTokenRecord[]> {
    const user = await this.user(account, userName, 'control_panel_user')
    return this.parts.store.records.staticTokens(user.id, page)
  }

  revokeStaticToken(
    actor: string,
    account: string,
    userName: string,
    name: string,
  ): Promise<StaticTokenRecord> {
    return this.change(actor, '', async (change) => {
      const user = await userIn(change, account, userName, 'control_panel_user')
      const token = found(await change.liveStaticToken(user.id, name), noStaticToken(name))
      return { ...token, revokedAtMs: await change.revoke(token.id, account, undefined) }
    })
  }

  /** A new IAM token of a control panel user, for testing (§5.1); the one before no longer stands. */
  async reissuePanelToken(
    actor: string,
    account: string,
    userName: string,
    project: string | undefined,
  ): Promise<IssuedToken> {
    const kind = this.#kindFor(project)
    return this.change(actor, '', async (change) => {
      const user = await userIn(change, account, userName, 'control_panel_user')
      const inProject =
        project === undefined
          ? undefined
          : found(await change.project(account, project), noProject(account, project))
      const before = await change.panelToken(user.id, inProject?.id ?? '')
      if (before !== undefined) {
        const { jti, exp } = JSON.parse(before) as IamClaims
        await change.revoke(jti, account, exp === undefined ? undefined : exp * 1000)
      }
      const scope: Scope = project === undefined ? { account } : { account, project }
      const claims = newClaims({
        holder: user,
        kind,
        scope,
        projectId: inProject?.id,
        nowMs: this.parts.now(),
      })
      await change.setPanelToken(user, inProject?.id ?? '', JSON.stringify(claims), claims.jti)
      return this.#issued(claims)
    })
  }

  /** The control panel user's IAM token once more (§5.1): signing the same claims with the same key gives the same token. */
  async copyPanelToken(
    actor: string,
    account: string,
    userName: string,
    project: string | undefined,
  ): Promise<IssuedToken> {
    const { records, verification } = this.parts.store
    const user = await this.user(account, userName, 'control_panel_user')
    const projectId = project === undefined ? undefined : (await this.project(account, project)).id
    const text = await records.panelToken(user.id, projectId ?? '')
    const claims = JSON.parse(
      found(text, `such IAM token of control panel user \`${userName}\`; reissue makes one`),
    ) as IamClaims
    const { active } = await verification.iamTokenStatus({
      tokenId: claims.jti,
      subjectId: user.id,
      generation: claims.gen,
      account,
      projectId,
      permissionScopes: [],
    })
    const expired = claims.exp !== undefined && claims.exp * 1000 <= this.parts.now()
    if (expired) throw callError('CREDENTIAL_EXPIRED', { user: userName })
    if (!active) throw callError('CREDENTIAL_REVOKED', { user: userName })
    await this.change(actor, '', (change) => change.recordTokenCopied(user, claims.jti))
    return this.#issued(claims)
  }

  revocations(page: Page): Promise<RevocationRecord[]> {
    return this.parts.store.records.revocations(page)
  }

  /**
   * Oldest first; of one account, or of all where it is empty.
   *
   * @param earlier whether those of accounts that had this number before are among them
   */
  audit(account: string, page: Page, earlier = true): Promise<AuditRecord[]> {
    return this.parts.store.records.audit(account, page, earlier)
  }

  /**
   * Creates what the file names and is not there, and sets permissions, roles, `owner` and `enabled` of the users it
   * names; leaves alone whom it does not name. All or nothing.
   */
  async apply(file: DirectoryFile, actor = commandLine()): Promise<Applied> {
    const make: SecretMakers = {
      password: () => this.#newPassword(),
      staticToken: (change, user, name) => this.#addStaticToken(change, user, name),
    }
    refuseRepetitions(file)
    const passwords = await passwordsFor(file, this.parts.store.records, make)
    return this.change(actor, 'what the file names', (change) =>
      new DirectoryFileChange(change, passwords, make).apply(file),
    )
  }

  /** Everything, for one look at a small directory. Never a secret. */
  listing(): Promise<AccountListing[]> {
    return listDirectory(this.parts.store.records)
  }

  async #newPassword(): Promise<{ password: Secret; hash: string }> {
    const password = newPassword()
    return { password: new Secret(password), hash: await this.parts.passwords.hash(password) }
  }

  async #addStaticToken(change: DirectoryChange, user: UserRecord, name: string): Promise<string> {
    const value = newStaticToken()
    await change.addStaticToken(user, {
      kind: this.#staticKind(),
      name,
      hash: hashStaticToken(value, this.parts.pepper),
      pepper: fingerprintOf(this.parts.pepper),
    })
    return value
  }

  /** The kind of token that a control panel user creates (§4.2). */
  #staticKind(): string {
    const kinds = [...this.parts.tokenKinds()].filter((kind) => kind.obtained.by === 'control_panel')
    const [kind] = kinds
    if (kind === undefined || kinds.length > 1) throw callError('NO_STATIC_KIND', { count: kinds.length })
    return kind.id
  }

  #kindFor(project: string | undefined): TokenKind {
    const level = project === undefined ? 'account' : 'project'
    for (const kind of this.parts.tokenKinds())
      if (kind.obtained.by === 'issue' && kind.scopeLevel === level) return kind
    throw callError('NO_KIND_FOR_SCOPE', { level })
  }

  #issued(claims: IamClaims): IssuedToken {
    return { value: new Secret(this.parts.signer.sign(claims)), token: tokenOf(claims) }
  }
}

/**
 * Who works on the data folder itself, as the audit trail has it: `command line (alice)`. In a container there is often no
 * name for the user, so then it is the number.
 */
export function commandLine(
  nameOf: () => string = () => userInfo().username,
  uidOf: () => number | undefined = () => process.geteuid?.(),
): string {
  const user = nameOrNone(nameOf) || uidOf()
  return user === undefined ? 'command line' : `command line (${user})`
}

function nameOrNone(nameOf: () => string): string {
  try {
    return nameOf()
  } catch {
    return ''
  }
}
