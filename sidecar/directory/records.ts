/** Reads the directory's records for administration: single records, and lists by page. */
import { setImmediate as otherWork } from 'node:timers/promises'
import type { AuditTrail } from './audit-trail.ts'
import type { Queries } from './database.ts'
import type {
  AccountRecord,
  AuditPage,
  AuditQuery,
  AuditRecord,
  IamTokenQuery,
  KnownAddresses,
  Page,
  Permission,
  ProjectRecord,
  RevocationRecord,
  StaticTokenRecord,
  TokenHolder,
  UserRecord,
  UserType,
} from './directory.ts'
import { flag, lines, NEWLINE, number, optionalNumber, text } from './rows.ts'
import { ADDRESSES, iamTokenIsActive, iamTokenParameters } from './verification.ts'

type Row = Record<string, unknown>

/** Rows that one statement counts: some milliseconds of SQLite. */
const COUNTED_AT_ONCE = 10_000

/** Reads records. Deleted records are not returned, except in the audit trail. */
export class DirectoryRecords {
  readonly #queries: Queries
  #auditTrail: AuditTrail | undefined

  constructor(queries: Queries) {
    this.#queries = queries
  }

  /** For the files beside this one, which read other records. */
  get queries(): Queries {
    return this.#queries
  }

  async account(account: string): Promise<AccountRecord | undefined> {
    const [row] = await this.#queries.all(`${ACCOUNTS} AND account = :account`, { account })
    return row && accountOf(row)
  }

  async accountById(id: string): Promise<AccountRecord | undefined> {
    const [row] = await this.#queries.all(`${ACCOUNTS} AND id = :id`, { id })
    return row && accountOf(row)
  }

  async accounts({ after, size }: Page): Promise<AccountRecord[]> {
    const rows = await this.#queries.all(`${ACCOUNTS} AND account > :after ORDER BY account LIMIT :size`, {
      after,
      size,
    })
    return rows.map(accountOf)
  }

  async project(account: string, name: string): Promise<ProjectRecord | undefined> {
    const [row] = await this.#queries.all(`${PROJECTS} AND projects.name = :name`, { account, name })
    return row && projectOf(row)
  }

  /** Finds a project of any account by its id. */
  async projectById(id: string): Promise<ProjectRecord | undefined> {
    const [row] = await this.#queries.all(
      `${PROJECT_COLUMNS} WHERE projects.id = :id AND accounts.deleted_at_ms IS NULL AND projects.deleted_at_ms IS NULL`,
      { id },
    )
    return row && projectOf(row)
  }

  async projects(account: string, { after, size }: Page): Promise<ProjectRecord[]> {
    const rows = await this.#queries.all(
      `${PROJECTS} AND projects.name > :after ORDER BY projects.name LIMIT :size`,
      { account, after, size },
    )
    return rows.map(projectOf)
  }

  /** Finds a user of that type. A user of the other type with the same name is not returned. */
  async user(account: string, name: string, type: UserType): Promise<UserRecord | undefined> {
    const [row] = await this.#queries.all(`${USERS} AND users.name = :name`, {
      account,
      name,
      type,
      newline: NEWLINE,
    })
    return row && userOf(row)
  }

  async users(account: string, type: UserType, { after, size }: Page): Promise<UserRecord[]> {
    const rows = await this.#queries.all(`${USERS_OF_TYPE} LIMIT :size`, {
      account,
      type,
      after,
      size,
      newline: NEWLINE,
    })
    return rows.map(userOf)
  }

  /** Counts what an account has, a part at a time: SQLite blocks the process while it counts. */
  async count(table: 'projects' | 'users', account: string): Promise<number> {
    let [counted, after] = [0, '']
    for (;;) {
      const [part] = await this.#queries.all(
        `SELECT COUNT(*) AS names, MAX(name) AS last FROM (
           SELECT name FROM ${table} WHERE account_id = ${ACCOUNT_ID} AND deleted_at_ms IS NULL AND name > :after
           ORDER BY name LIMIT ${COUNTED_AT_ONCE}) AS part`,
        { account, after },
      )
      const names = number(part?.names)
      counted += names
      if (names < COUNTED_AT_ONCE) return counted
      after = text(part?.last)
      await otherWork()
    }
  }

  /** Finds a user of any type and account by their id, for example the holder of a token. */
  async userById(id: string): Promise<UserRecord | undefined> {
    const [row] = await this.#queries.all(
      `${USER_COLUMNS} WHERE users.id = :id AND users.deleted_at_ms IS NULL AND accounts.deleted_at_ms IS NULL`,
      { id, newline: NEWLINE },
    )
    return row && userOf(row)
  }

  /** Finds the holder of an IAM token in one statement; `undefined`: the token is not active. */
  async activeHolder(query: IamTokenQuery): Promise<TokenHolder | undefined> {
    const [row] = await this.#queries.all(
      `SELECT ${USER_VALUES}, ${ADDRESSES} AS addresses FROM ${USER_TABLES} WHERE ${iamTokenIsActive(query)}`,
      iamTokenParameters(query),
    )
    return row && { user: userOf(row), addresses: lines(row.addresses) }
  }

  /** Lists a user's static tokens, including revoked ones, ordered by id. */
  async staticTokens(userId: string, { after, size }: Page): Promise<StaticTokenRecord[]> {
    const rows = await this.#queries.all(
      `${STATIC_TOKENS} WHERE user_id = :user AND static_tokens.id > :after ORDER BY static_tokens.id LIMIT :size`,
      { user: userId, after, size },
    )
    return rows.map(staticTokenOf)
  }

  /** Finds the user's static token with that key name that is not revoked. There is at most one. */
  async activeStaticToken(userId: string, name: string): Promise<StaticTokenRecord | undefined> {
    const [row] = await this.#queries.all(
      `${STATIC_TOKENS} WHERE user_id = :user AND static_tokens.name = :name AND revoked_at_ms IS NULL`,
      { user: userId, name },
    )
    return row && staticTokenOf(row)
  }

  /**
   * Counts the static tokens that were hashed with another pepper than the one with this fingerprint. Revoked
   * tokens and tokens of deleted users do not count.
   */
  async staticTokensOfOtherPeppers(fingerprint: string): Promise<number> {
    const [row] = await this.#queries.all(
      `SELECT COUNT(*) AS tokens FROM (
         SELECT user_id FROM static_tokens WHERE revoked_at_ms IS NULL AND pepper < :fingerprint
         UNION ALL
         SELECT user_id FROM static_tokens WHERE revoked_at_ms IS NULL AND pepper > :fingerprint
       ) AS others
       WHERE (SELECT users.deleted_at_ms IS NULL AND accounts.deleted_at_ms IS NULL
              FROM users JOIN accounts ON accounts.id = account_id WHERE users.id = user_id)`,
      { fingerprint },
    )
    return number(row?.tokens)
  }

  /**
   * Finds the account of a token with a record: a static token, or one that a control panel user can copy,
   * with its holder.
   */
  async tokenById(
    tokenId: string,
  ): Promise<{ readonly account: string; readonly holderId?: string } | undefined> {
    const [staticToken] = await this.#queries.all(`${STATIC_TOKENS} WHERE static_tokens.id = :token`, {
      token: tokenId,
    })
    if (staticToken !== undefined) return { account: text(staticToken.account) }
    const [panelToken] = await this.#queries.all(
      `SELECT account, user_id FROM panel_tokens
       JOIN users ON users.id = user_id JOIN accounts ON accounts.id = users.account_id
       WHERE token_id = :token`,
      { token: tokenId },
    )
    return panelToken && { account: text(panelToken.account), holderId: text(panelToken.user_id) }
  }

  /** Number of the last change. Numbers only rise, whatever the clocks do. */
  async changeNumber(): Promise<number> {
    const [row] = await this.#queries.all('SELECT COALESCE(MAX(sequence), 0) AS change_number FROM audit')
    return number(row?.change_number)
  }

  /**
   * The claims of the token that a control panel user can copy. An empty project id means the account-scoped
   * token.
   */
  async panelToken(userId: string, projectId: string): Promise<string | undefined> {
    const [row] = await this.#queries.all(
      'SELECT claims FROM panel_tokens WHERE user_id = :user AND project_id = :project',
      { user: userId, project: projectId },
    )
    return row && text(row.claims)
  }

  async addressRules(accountId: string): Promise<string[]> {
    const rows = await this.#queries.all(
      'SELECT cidr FROM address_rules WHERE account_id = :account ORDER BY cidr',
      {
        account: accountId,
      },
    )
    return rows.map((row) => text(row.cidr))
  }

  /** Addresses that the users of an account came from lately. @param nowMs milliseconds since the epoch */
  async knownAddresses(account: AccountRecord, nowMs: number): Promise<KnownAddresses> {
    const { knownAddresses } = await import('./known-addresses.ts')
    return knownAddresses(this.#queries, account, nowMs)
  }

  async revocations({ after, size }: Page): Promise<RevocationRecord[]> {
    const rows = await this.#queries.all(
      'SELECT token_id, revoked_at_ms FROM revocations WHERE token_id > :after ORDER BY token_id LIMIT :size',
      { after, size },
    )
    return rows.map((row) => ({ tokenId: text(row.token_id), revokedAtMs: number(row.revoked_at_ms) }))
  }

  /** Lists the audit trail, oldest record first. @param account empty: all accounts */
  async audit(account: string, { after, size }: Page): Promise<readonly AuditRecord[]> {
    const { records } = await this.auditPage({ account, after: Number(after), size })
    return records
  }

  async auditPage(query: AuditQuery): Promise<AuditPage> {
    const { AuditTrail } = await import('./audit-trail.ts')
    this.#auditTrail ??= new AuditTrail(this.#queries)
    return this.#auditTrail.page(query)
  }
}

const ACCOUNTS = 'SELECT id, account, enabled, created_at_ms FROM accounts WHERE deleted_at_ms IS NULL'

const PROJECT_COLUMNS = `
  SELECT projects.id, projects.name, account, projects.enabled, projects.created_at_ms
  FROM projects JOIN accounts ON accounts.id = projects.account_id`

/** As a value: PostgreSQL sorts what it joins, and does not list it in the order of an index. */
const ACCOUNT_ID = '(SELECT id FROM accounts WHERE account = :account AND deleted_at_ms IS NULL)'

const PROJECTS = `${PROJECT_COLUMNS} WHERE projects.account_id = ${ACCOUNT_ID} AND projects.deleted_at_ms IS NULL`

/** The columns that `userOf` reads. */
export const USER_VALUES = `
  users.id, users.name, account, users.type, users.enabled, users.generation, owner, validator, users.created_at_ms,
    (SELECT string_agg(role, :newline) FROM user_roles WHERE user_id = users.id) AS roles,
    (SELECT COUNT(*) FROM account_permissions WHERE user_id = users.id) AS account_wide,
    (SELECT string_agg(projects.name, :newline) FROM project_permissions JOIN projects ON projects.id = project_id
     WHERE user_id = users.id AND selected_since IS NOT NULL AND projects.deleted_at_ms IS NULL) AS selected`

const USER_TABLES = 'users JOIN accounts ON accounts.id = users.account_id'

const USER_COLUMNS = `SELECT ${USER_VALUES} FROM ${USER_TABLES}`

const USERS = `${USER_COLUMNS}
  WHERE users.account_id = ${ACCOUNT_ID} AND users.type = :type AND users.deleted_at_ms IS NULL`

/**
 * Those that come after a name. Nothing is equal to a value: PostgreSQL would walk users of both types in the
 * order of their names, where most of them have this type.
 */
const USERS_OF_TYPE = `${USER_COLUMNS}
  WHERE (users.account_id, users.type, users.name) > (${ACCOUNT_ID}, :type, :after)
    AND (users.account_id, users.type) <= (${ACCOUNT_ID}, :type) AND users.deleted_at_ms IS NULL
  ORDER BY users.account_id, users.type, users.name`

const STATIC_TOKENS = `
  SELECT static_tokens.id, static_tokens.name, users.name AS user_name, account, static_tokens.created_at_ms, revoked_at_ms,
    last_used_day, last_four, note, kind
  FROM static_tokens JOIN users ON users.id = user_id JOIN accounts ON accounts.id = users.account_id`

function accountOf(row: Row): AccountRecord {
  return {
    account: text(row.account),
    id: text(row.id),
    enabled: flag(row.enabled),
    createdAtMs: number(row.created_at_ms),
  }
}

function projectOf(row: Row): ProjectRecord {
  return { ...accountOf(row), name: text(row.name) }
}

export function userOf(row: Row): UserRecord {
  const selected = lines(row.selected)
  const permissions: Permission[] = [
    ...(number(row.account_wide) > 0 ? [{ scope: 'account' as const }] : []),
    ...(selected.length > 0 ? [{ scope: 'projects' as const, projects: selected }] : []),
  ]
  return {
    ...projectOf(row),
    type: text(row.type) as UserType,
    generation: number(row.generation),
    permissions,
    owner: flag(row.owner),
    roles: lines(row.roles),
    validator: flag(row.validator),
  }
}

function staticTokenOf(row: Row): StaticTokenRecord {
  return {
    id: text(row.id),
    account: text(row.account),
    userName: text(row.user_name),
    name: text(row.name),
    lastFour: text(row.last_four ?? ''),
    note: text(row.note ?? ''),
    kind: text(row.kind),
    createdAtMs: number(row.created_at_ms),
    revokedAtMs: optionalNumber(row.revoked_at_ms),
    lastUsedDay: optionalNumber(row.last_used_day),
  }
}
