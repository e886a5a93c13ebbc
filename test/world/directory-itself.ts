/** What a directory itself says of a token, asked without delay by the statements of the product. */
import type { KeyObject } from 'node:crypto'
import { compile, type TokenKind } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { isAllowed } from '../../sidecar/authority/addresses.ts'
import type { IamClaims } from '../../sidecar/authority/iam-claims.ts'
import { queryOf, tokenOf } from '../../sidecar/authority/iam-token.ts'
import { hashStaticToken } from '../../sidecar/authority/static-token.ts'
import type { IpAddress } from '../../sidecar/base/ip-address.ts'
import type { Parameters } from '../../sidecar/directory/database.ts'
import { DirectoryVerification } from '../../sidecar/directory/verification.ts'

export const tokenKinds: ReadonlyMap<string, TokenKind> = compile(supportMatrix).tokenKinds

interface Asked {
  /** Runs a statement of SQLite, with its parameters by their names. */
  readonly all: (sql: string, parameters?: Parameters) => readonly Record<string, unknown>[]
  /** That of the static tokens. */
  readonly pepper: KeyObject
  /** Address from which tokens are used. */
  readonly client: IpAddress
}

export class DirectoryItself {
  readonly #asked: Asked
  readonly #verification: DirectoryVerification

  constructor(asked: Asked) {
    this.#asked = asked
    this.#verification = new DirectoryVerification({ all: asked.all } as never)
  }

  /** Whether a token is in force now. @param claims those of an IAM token; `undefined`: it is a static one */
  isActive(value: string, claims: IamClaims | undefined): boolean {
    const { pepper, client } = this.#asked
    const token = claims && tokenOf(claims)
    const found = token
      ? this.#verification.iamTokenStatus(queryOf(token, tokenKinds.get(token.kind)?.permissionScopes ?? []))
      : this.#verification.staticToken(hashStaticToken(value, pepper))
    if (found instanceof Promise) throw new TypeError('the directory is asked without delay')
    return found?.active === true && isAllowed(client, found.addresses)
  }
}
