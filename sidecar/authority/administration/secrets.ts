/**
 * Secrets that come into being with users: passwords and static tokens. Each is shown once and stored as a
 * hash.
 */
import type { KeyObject } from 'node:crypto'
import type { CompiledKind, Engine } from '../../../engine/index.ts'
import { callError, invalidArgument } from '../../base/call-error.ts'
import { Secret } from '../../base/secret.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { newPassword, type Passwords } from '../password.ts'
import { fingerprintOf, hashStaticToken, lastFourOf, newStaticToken } from '../static-token.ts'

/** A secret that was just made. */
export interface NewSecret {
  readonly account: string
  readonly user: string
  readonly type: 'password' | 'static_token'
  /** Key name of a static token. */
  readonly name?: string
  readonly value: Secret
}

/** A password with its hash. */
export interface HashedPassword {
  readonly password: Secret
  /** PHC string. */
  readonly hash: string
}

export interface SecretParts {
  readonly passwords: Passwords
  /** Key of the static tokens' hashes. */
  readonly pepper: KeyObject
  /** That of the matrix in force. */
  readonly engine: () => Engine
}

export class SecretMaker {
  readonly #parts: SecretParts

  constructor(parts: SecretParts) {
    this.#parts = parts
  }

  /**
   * @param principal whose turn it is to hash
   */
  async newPassword(principal: string): Promise<HashedPassword> {
    const password = new Secret(newPassword())
    return { password, hash: await this.hash(password, principal) }
  }

  /** @returns a PHC string. Hashing takes long, so it comes before the change that stores it. */
  hash(secret: Secret, principal: string): Promise<string> {
    return this.#parts.passwords.hash(secret.reveal(), principal)
  }

  /** Gives a control panel user a static token (§4.2). @throws CallError where the matrix has no such kind */
  async addStaticToken(
    change: DirectoryChange,
    user: UserRecord,
    {
      name,
      note,
      kind,
    }: { readonly name: string; readonly note: string; readonly kind?: string | undefined },
  ): Promise<Secret> {
    const { pepper } = this.#parts
    const { id, prefix = '' } = this.staticKind(kind)
    const value = newStaticToken()
    await change.addStaticToken(user, {
      kind: id,
      name,
      hash: hashStaticToken(value, pepper),
      pepper: fingerprintOf(pepper),
      lastFour: lastFourOf(value),
      note,
    })
    return new Secret(`${prefix}${value}`)
  }

  /**
   * The kind of token that a control panel user creates (§4.2).
   *
   * @param id `undefined`: the only one
   * @throws CallError
   */
  staticKind(id: string | undefined): CompiledKind {
    const kinds = [...this.#parts.engine().tokenKinds.values()].filter(
      (kind) => kind.obtained.by === 'control_panel',
    )
    if (kinds.length === 0) throw callError('NO_STATIC_KIND', {})
    const [only, ...more] = kinds.filter((kind) => id === undefined || kind.id === id)
    if (only !== undefined && more.length === 0) return only
    const ids = kinds.map((kind) => `\`${kind.id}\``).join(', ')
    throw invalidArgument({
      field: 'kind',
      expected: `one of the kinds that are obtained in the control panel: ${ids}`,
    })
  }
}
