/** Reads the second factors of control panel users: one-time codes and passkeys. */
import type { Queries } from './database.ts'
import { number, optionalNumber, text } from './rows.ts'

/** A one-time code that is set up. */
export interface CodeRecord {
  /** Encrypted. */
  readonly secret: Buffer
  /** Fingerprint of the pepper whose key was used. */
  readonly sealedWith: string
  readonly createdAtMs: number
}

export interface PasskeyRecord {
  /** The id of the credential, in base64url. */
  readonly id: string
  readonly userId: string
  /** The name that its user gave it. */
  readonly name: string
  /** As COSE writes it. */
  readonly publicKey: Buffer
  /** How often the authenticator says that it was used; 0: it does not count. */
  readonly counter: number
  /** How browsers reach the authenticator. */
  readonly transports: readonly string[]
  readonly createdAtMs: number
  /** Days since the epoch; `undefined`: never. */
  readonly lastUsedDay: number | undefined
}

/** The second factors that a user has. */
export interface FactorKinds {
  readonly code: boolean
  readonly passkey: boolean
}

export class FactorRecords {
  readonly #queries: Queries

  constructor({ queries }: { readonly queries: Queries }) {
    this.#queries = queries
  }

  async kinds(userId: string): Promise<FactorKinds> {
    const [row] = await this.#queries.all(
      `SELECT (SELECT COUNT(*) FROM panel_codes WHERE user_id = :user) AS codes,
         (SELECT COUNT(*) FROM passkeys WHERE user_id = :user) AS passkeys`,
      { user: userId },
    )
    return { code: number(row?.codes) > 0, passkey: number(row?.passkeys) > 0 }
  }

  async code(userId: string): Promise<CodeRecord | undefined> {
    const [row] = await this.#queries.all(
      'SELECT secret, sealed_with, created_at_ms FROM panel_codes WHERE user_id = :user',
      { user: userId },
    )
    return (
      row && {
        secret: bytes(row.secret),
        sealedWith: text(row.sealed_with),
        createdAtMs: number(row.created_at_ms),
      }
    )
  }

  /** Those of a user, the oldest first. Their number is bounded. */
  async passkeys(userId: string): Promise<PasskeyRecord[]> {
    const rows = await this.#queries.all(`${PASSKEYS} WHERE user_id = :user ORDER BY created_at_ms, id`, {
      user: userId,
    })
    return rows.map(passkeyOf)
  }

  /** Finds a passkey of any user. */
  async passkey(id: string): Promise<PasskeyRecord | undefined> {
    const [row] = await this.#queries.all(`${PASSKEYS} WHERE id = :id`, { id })
    return row && passkeyOf(row)
  }
}

const PASSKEYS =
  'SELECT id, user_id, name, public_key, counter, transports, created_at_ms, last_used_day FROM passkeys'

function passkeyOf(row: Record<string, unknown>): PasskeyRecord {
  const transports = text(row.transports)
  return {
    id: text(row.id),
    userId: text(row.user_id),
    name: text(row.name),
    publicKey: bytes(row.public_key),
    counter: number(row.counter),
    transports: transports === '' ? [] : transports.split(' '),
    createdAtMs: number(row.created_at_ms),
    lastUsedDay: optionalNumber(row.last_used_day),
  }
}

function bytes(value: unknown): Buffer {
  return Buffer.from(value as Uint8Array)
}
