/** Administration of tokens: static tokens and IAM tokens of control panel users, and what was revoked. */
import type { Scope, TokenKind } from '../../../engine/index.ts'
import { callError } from '../../base/call-error.ts'
import { Secret } from '../../base/secret.ts'
import type { Page, RevocationRecord, StaticTokenRecord, UserRecord } from '../../directory/directory.ts'
import type { DirectoryStore } from '../../directory/store.ts'
import type { Actor } from '../actor.ts'
import type { IssuedToken } from '../authority.ts'
import { type IamClaims, isNamedHere, newClaims } from '../iam-claims.ts'
import { type IamTokenSigner, queryOf, tokenOf } from '../iam-token.ts'
import { kindForScope } from '../kind-of-scope.ts'
import { checkName, checkNote } from '../names.ts'
import { isOver, type VerifiedToken } from '../verified-token.ts'
import { changeDirectory, userToChange } from './change.ts'
import { found, projectIn, staticTokenOf, userIn } from './found.ts'
import type { SecretMaker } from './secrets.ts'

export interface TokenParts {
  readonly store: DirectoryStore
  readonly signer: IamTokenSigner
  /** The kinds of the matrix in force. */
  readonly tokenKinds: () => Iterable<TokenKind>
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** Every method throws `CallError` where there is no answer. */
export class TokenAdministration {
  readonly #parts: TokenParts
  readonly #secrets: SecretMaker

  constructor(parts: TokenParts, secrets: SecretMaker) {
    this.#parts = parts
    this.#secrets = secrets
  }

  /** A static token of a control panel user (§4.2). The value is in this answer and nowhere else. */
  async createStaticToken(
    actor: Actor,
    account: string,
    userName: string,
    { name, note }: { readonly name: string; readonly note: string },
  ): Promise<{ token: StaticTokenRecord; kind: string; value: Secret }> {
    checkName('name', name)
    checkNote('note', note)
    return changeDirectory(
      this.#parts.store,
      actor,
      async (change) => {
        const user = await userToChange(change, actor, account, userName, 'control_panel_user')
        const value = await this.#secrets.addStaticToken(change, user, { name, note })
        const token = await staticTokenOf(change.records, user, name)
        return { token, kind: this.#secrets.staticKind().id, value }
      },
      `static token \`${name}\``,
    )
  }

  async staticTokens(account: string, userName: string, page: Page): Promise<readonly StaticTokenRecord[]> {
    const { records } = this.#parts.store
    const user = await userIn(records, account, userName, 'control_panel_user')
    return records.staticTokens(user.id, page)
  }

  revokeStaticToken(
    actor: Actor,
    account: string,
    userName: string,
    name: string,
  ): Promise<StaticTokenRecord> {
    return changeDirectory(this.#parts.store, actor, async (change) => {
      const user = await userToChange(change, actor, account, userName, 'control_panel_user')
      const token = await staticTokenOf(change.records, user, name)
      return { ...token, revokedAtMs: await change.revoke(token.id, account) }
    })
  }

  /** A new IAM token of a control panel user, for testing (§5.1). The one before is revoked. */
  async reissuePanelToken(
    actor: Actor,
    account: string,
    userName: string,
    project: string | undefined,
  ): Promise<IssuedToken> {
    const scope: Scope = project === undefined ? { account } : { account, project }
    const kind = kindForScope(scope, this.#parts.tokenKinds())
    return changeDirectory(this.#parts.store, actor, async (change) => {
      const { records } = change
      const user = await userToChange(change, actor, account, userName, 'control_panel_user')
      const projectId = project === undefined ? undefined : (await projectIn(records, account, project)).id
      const before = await records.panelToken(user.id, projectId ?? '')
      if (before !== undefined) {
        const { jti } = JSON.parse(before) as IamClaims
        await change.revoke(jti, account, user.id)
      }
      const changeNumber = await records.changeNumber()
      const nowMs = this.#parts.now()
      const { names } = this.#parts.signer
      const claims = newClaims({ names, holder: user, kind, scope, projectId, changeNumber, nowMs })
      await change.setPanelToken(user, projectId ?? '', JSON.stringify(claims), claims.jti)
      return this.#issued(claims)
    })
  }

  /**
   * The control panel user's IAM token once more (§5.1): signing the same claims with the same key gives the
   * same token.
   */
  async copyPanelToken(
    actor: Actor,
    account: string,
    userName: string,
    project: string | undefined,
  ): Promise<IssuedToken> {
    const { user, stored } = await this.#panelClaims(account, userName, project)
    const claims = found(stored, `such IAM token of control panel user \`${userName}\`; reissue makes one`)
    if (isOver(tokenOf(claims), this.#parts.now())) throw callError('CREDENTIAL_EXPIRED', { user: user.name })
    if (!(await this.#isActive(claims))) throw callError('CREDENTIAL_REVOKED', { user: user.name })
    await changeDirectory(this.#parts.store, actor, async (change) =>
      change.recordTokenCopied(
        await userToChange(change, actor, account, userName, 'control_panel_user'),
        claims.jti,
      ),
    )
    return this.#issued(claims)
  }

  /** The token that `copyPanelToken` returns, without its value; `undefined`: there is none. */
  async panelToken(
    account: string,
    userName: string,
    project: string | undefined,
  ): Promise<VerifiedToken | undefined> {
    const { stored } = await this.#panelClaims(account, userName, project)
    if (stored === undefined) return undefined
    const token = tokenOf(stored)
    return !isOver(token, this.#parts.now()) && (await this.#isActive(stored)) ? token : undefined
  }

  revocations(page: Page): Promise<readonly RevocationRecord[]> {
    return this.#parts.store.records.revocations(page)
  }

  /** What was issued last. With an issuer or audience that is no longer accepted, a copy would be denied. */
  async #panelClaims(
    account: string,
    userName: string,
    project: string | undefined,
  ): Promise<{ readonly user: UserRecord; readonly stored: IamClaims | undefined }> {
    const { records } = this.#parts.store
    const user = await userIn(records, account, userName, 'control_panel_user')
    const projectId = project === undefined ? '' : (await projectIn(records, account, project)).id
    const text = await records.panelToken(user.id, projectId)
    const claims = text === undefined ? undefined : (JSON.parse(text) as IamClaims)
    return { user, stored: claims && isNamedHere(claims, this.#parts.signer.names) ? claims : undefined }
  }

  /** Whether it is not revoked. Its expiry is not looked at. */
  async #isActive(claims: IamClaims): Promise<boolean> {
    const query = queryOf(tokenOf(claims), [])
    return (await this.#parts.store.verification.iamTokenStatus(query)).active
  }

  #issued(claims: IamClaims): IssuedToken {
    const kind = [...this.#parts.tokenKinds()].find(({ id }) => id === claims.kind)
    const value = `${kind?.prefix ?? ''}${this.#parts.signer.sign(claims)}`
    return { value: new Secret(value), token: tokenOf(claims) }
  }
}
