/**
 * The queries of verifying and issuing, in SQL. Each one is a single statement and reads the current state of
 * the database.
 */
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Database, Queries } from './database.ts'
import {
  ANCESTORS_MAX,
  type Directory,
  type Grant,
  type IamTokenQuery,
  type ServiceUser,
  type StaticToken,
  type TokenStatus,
} from './directory.ts'
import type { Changes } from './feed/changes.ts'
import { flag, lines, NEWLINE, number, optionalNumber, text } from './rows.ts'
import { NO_PASSWORD } from './schema.ts'

export class DirectoryVerification implements Directory {
  readonly #database: Database
  readonly #queries: Queries

  constructor(database: Database) {
    this.#database = database
    this.#queries = database.verifying ?? database
  }

  get changes(): Changes {
    return this.#database.changes
  }

  iamTokenStatus(query: IamTokenQuery): MaybePromise<TokenStatus> {
    return this.#first(
      `SELECT ${ADDRESSES} AS addresses
       FROM users JOIN accounts ON accounts.id = users.account_id
       WHERE ${iamTokenIsActive(query)}`,
      iamTokenParameters(query),
      (row) => (row === undefined ? INACTIVE : status(row.addresses)),
    )
  }

  staticToken(hash: Buffer): MaybePromise<StaticToken | undefined> {
    return this.#first(
      `SELECT static_tokens.id, kind, static_tokens.created_at_ms, last_used_day, account, user_id, users.name,
              ${ADDRESSES} AS addresses,
              CASE WHEN static_tokens.revoked_at_ms IS NULL AND ${ENABLED}
                     AND NOT EXISTS (SELECT 1 FROM revocations WHERE token_id = static_tokens.id) THEN 1 ELSE 0 END AS active
       FROM static_tokens
       JOIN users ON users.id = user_id
       JOIN accounts ON accounts.id = users.account_id
       WHERE hash = :hash`,
      { hash, newline: NEWLINE },
      (row) =>
        row && {
          id: text(row.id),
          kind: text(row.kind),
          account: text(row.account),
          createdAtMs: number(row.created_at_ms),
          lastUsedDay: optionalNumber(row.last_used_day),
          holder: { id: text(row.user_id), name: text(row.name) },
          active: flag(row.active),
          addresses: lines(row.addresses),
        },
    )
  }

  serviceUser(account: string, name: string): MaybePromise<ServiceUser | undefined> {
    return this.#first(
      `SELECT users.id, users.name, account, password_hash, generation, ${ADDRESSES} AS addresses
       FROM users JOIN accounts ON accounts.id = users.account_id
       WHERE account = :account AND users.name = :name AND type = 'service_user' AND password_hash <> '${NO_PASSWORD}'
         AND ${ENABLED}`,
      { account, name, newline: NEWLINE },
      (row) =>
        row && {
          id: text(row.id),
          name: text(row.name),
          account: text(row.account),
          passwordHash: text(row.password_hash),
          generation: number(row.generation),
          addresses: lines(row.addresses),
        },
    )
  }

  permits(
    userId: string,
    account: string,
    project: string | undefined,
    scopes: readonly string[],
  ): MaybePromise<Grant | undefined> {
    return this.#first(
      `SELECT projects.id AS project_id, (SELECT COALESCE(MAX(sequence), 0) FROM audit) AS change_number
       FROM users JOIN accounts ON accounts.id = users.account_id
       LEFT JOIN projects ON projects.account_id = accounts.id AND projects.name = :name
                         AND projects.enabled = 1 AND projects.deleted_at_ms IS NULL
       WHERE users.id = :user AND account = :account AND ${ENABLED}
         AND (CAST(:name AS TEXT) IS NULL OR projects.id IS NOT NULL)
         AND (users.type = 'control_panel_user' OR ${hasPermission('projects.id')})`,
      {
        user: userId,
        account,
        name: project ?? null,
        change: Number.MAX_SAFE_INTEGER,
        ...permissionParameters(scopes),
      },
      (row) =>
        row && {
          projectId: row.project_id === null ? undefined : text(row.project_id),
          changeNumber: number(row.change_number),
        },
    )
  }

  /** Reads the first row. It is synchronous if the database is, so that a check on SQLite never yields. */
  #first<T>(
    sql: string,
    parameters: Parameters<Queries['all']>[1],
    read: (row: Record<string, unknown> | undefined) => T,
  ): MaybePromise<T> {
    const rows = this.#queries.all(sql, parameters)
    return rows instanceof Promise ? rows.then(([row]) => read(row)) : read(rows[0])
  }
}

const INACTIVE: TokenStatus = { active: false, addresses: [] }
/** One shared object for all tokens of accounts without address restrictions, because many are cached. */
const ACTIVE_ANYWHERE: TokenStatus = { active: true, addresses: [] }

function status(addresses: unknown): TokenStatus {
  return addresses === null ? ACTIVE_ANYWHERE : { active: true, addresses: lines(addresses) }
}

/** The user and the account are there, and enabled. */
export const ENABLED = `users.enabled = 1 AND users.deleted_at_ms IS NULL AND accounts.enabled = 1 AND accounts.deleted_at_ms IS NULL`

/** A session ends for good with the user's generation, and when their account is disabled. */
export const SESSION_HOLDS =
  'users.generation = panel_sessions.generation AND accounts.since <= panel_sessions.change_number'

/** The address ranges of the account. */
export const ADDRESSES =
  '(SELECT string_agg(cidr, :newline) FROM address_rules WHERE account_id = accounts.id)'

/**
 * §5.1: a permission whose scope is Account, or one whose scope is Projects with the project selected; held
 * since the change `:change` or longer. Where both count, access may have passed from one to the other
 * meanwhile.
 */
function hasPermission(project: ':project' | 'projects.id'): string {
  return `(
    :needs_none = 1
    OR (:account_counts = 1 AND EXISTS
         (SELECT 1 FROM account_permissions WHERE user_id = users.id AND since <= :change))
    OR (:projects_count = 1 AND EXISTS
         (SELECT 1 FROM project_permissions WHERE user_id = users.id AND project_id = ${project}
          AND CASE WHEN :account_counts = 1 THEN access_since ELSE selected_since END <= :change)))`
}

/** The rest of the condition when no revocation is looked at. */
const IS_ACTIVE = `
  users.id = :user AND users.generation = :generation AND accounts.account = :account AND ${ENABLED}
  AND accounts.since <= :change
  AND NOT EXISTS (SELECT 1 FROM restorations WHERE after_change < :change AND change > :change)
  AND (:kept = 1 OR NOT EXISTS (SELECT 1 FROM revocation_marks WHERE floor = 1 AND change_number > :change))
  AND (CAST(:project AS TEXT) IS NULL OR EXISTS
        (SELECT 1 FROM projects WHERE id = :project AND enabled = 1 AND deleted_at_ms IS NULL AND since <= :change))
  AND (users.type = 'control_panel_user' OR ${hasPermission(':project')})`

const NOT_REVOKED = 'NOT EXISTS (SELECT 1 FROM revocations WHERE token_id = :token)'

/** One statement for derived tokens of any depth: databases keep statements, so there should be few. */
const NO_ANCESTOR_REVOKED = `NOT EXISTS (SELECT 1 FROM revocations WHERE token_id IN (${Array.from(
  { length: ANCESTORS_MAX },
  (_, index) => `:ancestor_${index}`,
).join(', ')}))`

const OF_A_LOGIN = `${IS_ACTIVE} AND ${NOT_REVOKED}`
const OF_A_TOKEN = `${OF_A_LOGIN} AND ${NO_ANCESTOR_REVOKED}`

/**
 * The condition under which an IAM token is active, on its holder (`users`) and their account (`accounts`).
 */
export function iamTokenIsActive({ ancestors }: IamTokenQuery): string {
  return ancestors.length === 0 ? OF_A_LOGIN : OF_A_TOKEN
}

/** The parameters of `iamTokenIsActive`, and the separator of lists. */
export function iamTokenParameters(query: IamTokenQuery) {
  return {
    user: query.subjectId,
    generation: query.generation,
    change: query.changeNumber,
    kept: query.revocationIsKept ? 1 : 0,
    account: query.account,
    token: query.tokenId,
    project: query.projectId ?? null,
    newline: NEWLINE,
    ...permissionParameters(query.permissionScopes),
    ...ancestorParameters(query),
  }
}

/** Where there are fewer ancestors, the token itself takes their places. */
function ancestorParameters({ tokenId, ancestors }: IamTokenQuery): Readonly<Record<string, string>> {
  if (ancestors.length === 0) return {}
  if (ancestors.length > ANCESTORS_MAX)
    throw new RangeError(`expected at most ${ANCESTORS_MAX} ancestors of a token`)
  return Object.fromEntries(
    Array.from({ length: ANCESTORS_MAX }, (_, index) => [`ancestor_${index}`, ancestors[index] ?? tokenId]),
  )
}

function permissionParameters(scopes: readonly string[]) {
  return {
    needs_none: scopes.length === 0 ? 1 : 0,
    account_counts: scopes.includes('account') ? 1 : 0,
    projects_count: scopes.includes('projects') ? 1 : 0,
  }
}
