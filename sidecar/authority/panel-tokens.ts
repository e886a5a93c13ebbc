/**
 * IAM tokens of control panel users (§5.1). Their claims are kept: signing the same claims with the same key
 * gives the same token.
 */
import type { TokenKind } from '../../engine/index.ts'
import { Secret } from '../base/secret.ts'
import type { DirectoryChange } from '../directory/change.ts'
import type { ProjectRecord, UserRecord } from '../directory/directory.ts'
import type { DirectoryRecords } from '../directory/records.ts'
import type { IssuedToken } from './authority.ts'
import { type IamClaims, isNamedHere, newClaims } from './iam-claims.ts'
import { type IamTokenSigner, queryOf, tokenOf } from './iam-token.ts'
import { isOver, type VerifiedToken } from './verified-token.ts'

/** The kept part of a token. */
export interface KeptPanelToken {
  readonly claims: IamClaims
  readonly token: VerifiedToken
}

/** `undefined`: the token is for the account. */
type OfProject = Pick<ProjectRecord, 'id' | 'name'> | undefined

export class PanelTokens {
  readonly #signer: IamTokenSigner
  readonly #now: () => number

  /** @param now wall clock, in milliseconds since the epoch */
  constructor(signer: IamTokenSigner, now: () => number) {
    this.#signer = signer
    this.#now = now
  }

  /**
   * The token that was issued last; `undefined`: nothing, or with an issuer or audience that is no longer
   * accepted, so that a copy would be denied.
   */
  async kept(
    records: DirectoryRecords,
    user: UserRecord,
    project: OfProject,
  ): Promise<KeptPanelToken | undefined> {
    const text = await records.panelToken(user.id, project?.id ?? '')
    const claims = text === undefined ? undefined : (JSON.parse(text) as IamClaims)
    return claims && isNamedHere(claims, this.#signer.names) ? { claims, token: tokenOf(claims) } : undefined
  }

  /** Why a copy would be denied; `undefined`: it would not. */
  async faultOf(
    records: DirectoryRecords,
    { token }: KeptPanelToken,
  ): Promise<'CREDENTIAL_EXPIRED' | 'CREDENTIAL_REVOKED' | undefined> {
    if (isOver(token, this.#now())) return 'CREDENTIAL_EXPIRED'
    return (await records.activeHolder(queryOf(token, []))) ? undefined : 'CREDENTIAL_REVOKED'
  }

  /** The token itself. @param kinds of the matrix in force */
  signed({ claims, token }: KeptPanelToken, kinds: ReadonlyMap<string, TokenKind>): IssuedToken {
    const { prefix = '' } = kinds.get(claims.kind) ?? {}
    return { value: new Secret(`${prefix}${this.#signer.sign(claims)}`), token }
  }

  /** Makes a new token, of that kind. The one before is revoked. */
  async reissue(
    change: DirectoryChange,
    user: UserRecord,
    project: OfProject,
    kind: TokenKind,
  ): Promise<KeptPanelToken> {
    const { records } = change
    const { account } = user
    const before = await records.panelToken(user.id, project?.id ?? '')
    if (before !== undefined) {
      const { jti } = JSON.parse(before) as IamClaims
      await change.revoke(jti, account, user.id)
    }
    const claims = newClaims({
      ...{ names: this.#signer.names, holder: user, kind, projectId: project?.id },
      scope: project === undefined ? { account } : { account, project: project.name },
      ...{ changeNumber: await records.changeNumber(), nowMs: this.#now() },
    })
    await change.setPanelToken(user, project?.id ?? '', JSON.stringify(claims), claims.jti)
    return { claims, token: tokenOf(claims) }
  }
}
