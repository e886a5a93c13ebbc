/**
 * Application credentials of service users, as Keystone has them. Each is for one project. One decides as a
 * token of its user would that was issued when the credential was made: what ends such a token ends it, too.
 */
import { randomBytes } from 'node:crypto'
import type { WrittenTime } from '../base/written-time.ts'
import type { DirectoryChange } from './change.ts'
import type { Queries } from './database.ts'
import type { IamTokenQuery, Page, UserRecord } from './directory.ts'
import { flag, lines, NEWLINE, number, text } from './rows.ts'

/** An application credential, without its secret. */
export interface ApplicationCredentialRecord {
  /** 32 hex digits. */
  readonly id: string
  readonly name: string
  readonly description: string
  readonly account: string
  readonly userId: string
  readonly userName: string
  readonly project: string
  readonly projectId: string
  /** Names of the roles that its tokens show, as far as the user still has them. */
  readonly roles: readonly string[]
  /** Whether it has fewer roles than its user had. Then its tokens administer and validate nothing. */
  readonly limited: boolean
  /** Whether its tokens can be exchanged, and can make and delete application credentials. */
  readonly unrestricted: boolean
  readonly createdAtMs: number
  /** To the microsecond, because clients compare it; `undefined`: never. */
  readonly expiresAt: WrittenTime | undefined
}

/** The part of an application credential that a login needs. */
export interface ApplicationCredentialLogin extends ApplicationCredentialRecord {
  /** PHC string. */
  readonly secretHash: string
  /** The user's generation, and the number of the last change, when the credential was made. */
  readonly generation: number
  readonly changeNumber: number
}

/** A credential that a user makes. */
export interface NewApplicationCredential
  extends Pick<
    ApplicationCredentialRecord,
    'name' | 'description' | 'projectId' | 'roles' | 'limited' | 'unrestricted' | 'expiresAt'
  > {
  readonly secretHash: string
}

/** The key of the credential that a login means: by its id, or by its name among those of a user. */
export type ApplicationCredentialKey =
  | { readonly id: string }
  | { readonly name: string; readonly account: string; readonly userName: string }

/** Most application credentials of a user. */
export const APPLICATION_CREDENTIALS_MAX = 20

/**
 * The id under which revocations know a credential. Its tokens are derived from it: they have this id among
 * their ancestors. It is the id in another spelling, in the form of the ids of tokens.
 */
export function revocationIdOf(id: string): string {
  return Buffer.from(id, 'hex').toString('base64url')
}

/** The credential as a token that was issued when it was made: whether that is active decides. */
export function queryOfCredential(
  credential: ApplicationCredentialLogin,
  permissionScopes: readonly string[],
): IamTokenQuery {
  return {
    tokenId: revocationIdOf(credential.id),
    ancestors: [],
    subjectId: credential.userId,
    generation: credential.generation,
    changeNumber: credential.changeNumber,
    account: credential.account,
    projectId: credential.projectId,
    permissionScopes,
    revocationIsKept: true,
  }
}

/** Reads application credentials. */
export class ApplicationCredentialRecords {
  readonly #queries: Queries

  constructor(queries: Queries) {
    this.#queries = queries
  }

  /** For a login. Whether the credential still counts is not looked at. */
  async login(key: ApplicationCredentialKey): Promise<ApplicationCredentialLogin | undefined> {
    const condition =
      'id' in key
        ? 'application_credentials.id = :id'
        : `application_credentials.name = :name AND account = :account AND users.name = :user
           AND users.deleted_at_ms IS NULL AND accounts.deleted_at_ms IS NULL`
    const parameters =
      'id' in key ? { id: key.id } : { name: key.name, account: key.account, user: key.userName }
    const [row] = await this.#queries.all(`${CREDENTIALS} WHERE ${condition}`, parameters)
    return (
      row && {
        ...recordOf(row),
        secretHash: text(row.secret_hash),
        generation: number(row.generation),
        changeNumber: number(row.change_number),
      }
    )
  }

  /** The user's credential with that id, if the user's generation is still the one that it was made in. */
  async ofUser(userId: string, id: string): Promise<ApplicationCredentialRecord | undefined> {
    const [row] = await this.#queries.all(`${OF_USER} AND application_credentials.id = :id`, {
      user: userId,
      id,
    })
    return row && recordOf(row)
  }

  /** The user's credentials that were made in the user's present generation, ordered by name. */
  async list(userId: string, { after, size }: Page): Promise<ApplicationCredentialRecord[]> {
    const rows = await this.#queries.all(
      `${OF_USER} AND application_credentials.name > :after ORDER BY application_credentials.name LIMIT :size`,
      { user: userId, after, size },
    )
    return rows.map(recordOf)
  }
}

/** Writes within one transaction, and must not be used after it. */
export class ApplicationCredentialChange {
  readonly #change: DirectoryChange

  constructor(change: DirectoryChange) {
    this.#change = change
  }

  /**
   * Adds a credential. Those that ended with an earlier generation of the user are evicted.
   *
   * @throws TooManyCredentials
   */
  async add(user: UserRecord, credential: NewApplicationCredential): Promise<string> {
    const { writer, records } = this.#change
    const { queries, nowMs } = writer
    await queries.all(
      'DELETE FROM application_credentials WHERE user_id = :user AND generation <> :generation',
      { user: user.id, generation: user.generation },
    )
    const [counted] = await queries.all(
      'SELECT COUNT(*) AS credentials FROM application_credentials WHERE user_id = :user',
      { user: user.id },
    )
    if (number(counted?.credentials) >= APPLICATION_CREDENTIALS_MAX) throw new TooManyCredentials()
    const id = randomBytes(16).toString('hex')
    await writer.insert('application_credentials', {
      id,
      user_id: user.id,
      project_id: credential.projectId,
      name: credential.name,
      description: credential.description,
      secret_hash: credential.secretHash,
      generation: user.generation,
      change_number: await records.changeNumber(),
      roles: credential.roles.join(NEWLINE),
      limited: credential.limited ? 1 : 0,
      unrestricted: credential.unrestricted ? 1 : 0,
      created_at_ms: nowMs,
      expires_at_us: credential.expiresAt ? columnOf(credential.expiresAt) : null,
    })
    writer.record(
      'application_credential.create',
      { account: user.account, name: id },
      { user: user.name, name: credential.name, project_id: credential.projectId },
    )
    return id
  }

  /** Deletes a credential. It and its tokens are revoked for good. */
  async delete({ id, account, name, userName }: ApplicationCredentialRecord): Promise<void> {
    const { writer } = this.#change
    const { queries, nowMs } = writer
    const revocation = revocationIdOf(id)
    await queries.all('DELETE FROM application_credentials WHERE id = :id', { id })
    await queries.all(
      'INSERT INTO revocations (token_id, revoked_at_ms) VALUES (:token, :now) ON CONFLICT DO NOTHING',
      { token: revocation, now: nowMs },
    )
    writer.record(
      'application_credential.delete',
      { account, name: id, id: revocation },
      { user: userName, name },
    )
  }
}

/** The user has as many application credentials as a user may. */
export class TooManyCredentials extends Error {
  override readonly name = 'TooManyCredentials'
}

const CREDENTIALS = `
  SELECT application_credentials.id, application_credentials.name, description, account, user_id,
    users.name AS user_name, project_id, projects.name AS project, secret_hash, application_credentials.generation,
    change_number, roles, limited, unrestricted, application_credentials.created_at_ms,
    expires_at_us / 1000 AS expires_at_ms, expires_at_us % 1000 AS expires_at_rest
  FROM application_credentials
  JOIN users ON users.id = user_id
  JOIN accounts ON accounts.id = users.account_id
  JOIN projects ON projects.id = project_id`

const OF_USER = `${CREDENTIALS} WHERE user_id = :user AND application_credentials.generation = users.generation`

/** Microseconds since the epoch as digits: as a number they would be inexact from 2255 on. */
function columnOf({ ms, us }: WrittenTime): string {
  return `${ms}${String(us).padStart(3, '0')}`
}

function recordOf(row: Record<string, unknown>): ApplicationCredentialRecord {
  return {
    id: text(row.id),
    name: text(row.name),
    description: text(row.description),
    account: text(row.account),
    userId: text(row.user_id),
    userName: text(row.user_name),
    project: text(row.project),
    projectId: text(row.project_id),
    roles: lines(row.roles).filter((role) => role !== ''),
    limited: flag(row.limited),
    unrestricted: flag(row.unrestricted),
    createdAtMs: number(row.created_at_ms),
    expiresAt:
      row.expires_at_ms === null
        ? undefined
        : { ms: number(row.expires_at_ms), us: number(row.expires_at_rest) },
  }
}
