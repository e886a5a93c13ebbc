/** The directory in one SQLite file. Every answer is read from the file, so that what one process changes holds in all. */
import { randomBytes } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { NoAnswer } from '../errors.ts'
import type {
  AccountListing,
  Directory,
  DirectoryAdministration,
  Grant,
  IamTokenGround,
  Permission,
  ServiceUser,
  StaticToken,
  UserType,
} from './directory.ts'
import { migrate } from './schema.ts'

/** How long a write waits for another process's, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000

/** Opens the file, or creates it for its owner alone. */
export class SqliteDirectory implements Directory, DirectoryAdministration {
  readonly #database: DatabaseSync
  readonly #now: () => number
  readonly #statements = new Map<string, StatementSync>()

  constructor(path: string, now: () => number) {
    // SQLite gives its side files the permissions of the main one.
    closeSync(openSync(path, 'a', 0o600))
    this.#database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true })
    this.#now = now
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
    migrate(this.#database, path)
  }

  iamTokenStands(ground: IamTokenGround): boolean {
    const row = this.#get(
      `SELECT 1 FROM users JOIN accounts USING (account)
       WHERE users.id = :user AND users.generation = :generation AND users.account = :account
         AND users.enabled AND accounts.enabled
         AND NOT EXISTS (SELECT 1 FROM revocations WHERE token_id = :token)
         AND (:project IS NULL OR EXISTS (SELECT 1 FROM projects WHERE id = :project AND enabled))
         AND (${permitted(':project')})`,
      {
        user: ground.subjectId,
        generation: ground.generation,
        account: ground.account,
        token: ground.tokenId,
        project: ground.projectId ?? null,
        ...permissionParameters(ground.permissionScopes),
      },
    )
    return row !== undefined
  }

  staticToken(hash: Buffer): StaticToken | undefined {
    const row = this.#get(
      `SELECT static_tokens.id, kind, static_tokens.created_at_ms, account, user_id, users.name,
              (users.enabled AND accounts.enabled AND token_id IS NULL) AS stands
       FROM static_tokens
       JOIN users ON users.id = user_id
       JOIN accounts USING (account)
       LEFT JOIN revocations ON token_id = static_tokens.id
       WHERE hash = :hash`,
      { hash },
    ) as
      | {
          id: string
          kind: string
          created_at_ms: number
          account: string
          user_id: string
          name: string
          stands: number
        }
      | undefined
    return (
      row && {
        id: row.id,
        kind: row.kind,
        account: row.account,
        createdAtMs: row.created_at_ms,
        holder: { id: row.user_id, name: row.name },
        stands: row.stands === 1,
      }
    )
  }

  serviceUser(account: string, name: string): ServiceUser | undefined {
    const row = this.#get(
      `SELECT users.id, users.name, account, password_hash, generation FROM users JOIN accounts USING (account)
       WHERE account = :account AND users.name = :name AND type = 'service_user'
         AND users.enabled AND accounts.enabled`,
      { account, name },
    ) as { id: string; name: string; account: string; password_hash: string; generation: number } | undefined
    if (row === undefined) return undefined
    const { password_hash: passwordHash, ...user } = row
    return { ...user, passwordHash }
  }

  permits(
    userId: string,
    account: string,
    project: string | undefined,
    scopes: readonly string[],
  ): Grant | undefined {
    const row = this.#get(
      `SELECT projects.id AS project_id FROM users
       LEFT JOIN projects ON projects.account = users.account AND projects.name = :name AND projects.enabled
       WHERE users.id = :user AND users.account = :account AND (:name IS NULL OR projects.id IS NOT NULL)
         AND (${permitted('projects.id')})`,
      { user: userId, account, name: project ?? null, ...permissionParameters(scopes) },
    ) as { project_id: string | null } | undefined
    return row && { projectId: row.project_id ?? undefined }
  }

  revoke(tokenId: string, atMs: number, forgetAtMs: number | undefined): number {
    return this.transaction(() => {
      this.#run('DELETE FROM revocations WHERE forget_at_ms < :now', { now: this.#now() })
      this.#run(
        `INSERT INTO revocations (token_id, revoked_at_ms, forget_at_ms) VALUES (:token, :at, :forget)
         ON CONFLICT DO NOTHING`,
        { token: tokenId, at: atMs, forget: forgetAtMs ?? null },
      )
      const row = this.#get('SELECT revoked_at_ms FROM revocations WHERE token_id = :token', {
        token: tokenId,
      })
      return (row as { revoked_at_ms: number }).revoked_at_ms
    })
  }

  transaction<T>(change: () => T): T {
    return this.#answering(() => {
      this.#database.exec('BEGIN IMMEDIATE')
      try {
        const result = change()
        this.#database.exec('COMMIT')
        return result
      } catch (error) {
        // Some failures (a full disk, for one) have rolled back already.
        if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
        throw error
      }
    })
  }

  listing(): AccountListing[] {
    const accounts = this.#all('SELECT account FROM accounts ORDER BY account') as { account: string }[]
    return accounts.map(({ account }) => {
      const projects = this.#all('SELECT name FROM projects WHERE account = :account ORDER BY name', {
        account,
      })
      const users = this.#all(
        'SELECT id, name, type, enabled FROM users WHERE account = :account ORDER BY name',
        {
          account,
        },
      ) as { id: string; name: string; type: UserType; enabled: number }[]
      const ofType = (type: UserType) => users.filter((user) => user.type === type)
      return {
        account,
        projects: projects.map((project) => (project as { name: string }).name),
        serviceUsers: ofType('service_user').map(({ id, name, enabled }) => ({
          name,
          enabled: enabled === 1,
          permissions: this.#permissionsOf(id),
        })),
        controlPanelUsers: ofType('control_panel_user').map(({ id, name, enabled }) => ({
          name,
          enabled: enabled === 1,
          staticTokens: this.#staticTokensOf(id),
        })),
      }
    })
  }

  ensureAccount(account: string): boolean {
    return this.#run(
      'INSERT INTO accounts (account, created_at_ms) VALUES (:account, :now) ON CONFLICT DO NOTHING',
      { account, now: this.#now() },
    )
  }

  ensureProject(account: string, name: string): boolean {
    return this.#run(
      `INSERT INTO projects (id, account, name, created_at_ms) VALUES (:id, :account, :name, :now)
       ON CONFLICT (account, name) DO NOTHING`,
      { id: newId(), account, name, now: this.#now() },
    )
  }

  userId(account: string, name: string, type: UserType): string | undefined {
    const row = this.#get('SELECT id, type FROM users WHERE account = :account AND name = :name', {
      account,
      name,
    }) as { id: string; type: UserType } | undefined
    if (row !== undefined && row.type !== type)
      throw new Error(`user \`${name}\` of account \`${account}\` is a ${row.type}, expected a ${type}`)
    return row?.id
  }

  addUser(account: string, name: string, type: UserType, passwordHash: string | undefined): string {
    const id = newId()
    this.#run(
      `INSERT INTO users (id, account, name, type, password_hash, created_at_ms)
       VALUES (:id, :account, :name, :type, :hash, :now)`,
      { id, account, name, type, hash: passwordHash ?? null, now: this.#now() },
    )
    return id
  }

  setPassword(userId: string, passwordHash: string): void {
    this.#run('UPDATE users SET password_hash = :hash, generation = generation + 1 WHERE id = :user', {
      user: userId,
      hash: passwordHash,
    })
  }

  setEnabled(userId: string, enabled: boolean): void {
    this.#run('UPDATE users SET enabled = :enabled WHERE id = :user', {
      user: userId,
      enabled: enabled ? 1 : 0,
    })
  }

  setPermissions(userId: string, account: string, permissions: readonly Permission[]): void {
    this.#run('DELETE FROM account_permissions WHERE user_id = :user', { user: userId })
    this.#run('DELETE FROM project_permissions WHERE user_id = :user', { user: userId })
    for (const permission of permissions) {
      if (permission.scope === 'account')
        this.#run('INSERT INTO account_permissions (user_id) VALUES (:user) ON CONFLICT DO NOTHING', {
          user: userId,
        })
      else
        for (const project of permission.projects) {
          const found = this.#get('SELECT id FROM projects WHERE account = :account AND name = :project', {
            account,
            project,
          }) as { id: string } | undefined
          if (found === undefined) throw new Error(`account \`${account}\` has no project \`${project}\``)
          this.#run(
            'INSERT INTO project_permissions (user_id, project_id) VALUES (:user, :project) ON CONFLICT DO NOTHING',
            { user: userId, project: found.id },
          )
        }
    }
  }

  hasStaticToken(userId: string, name: string): boolean {
    return (
      this.#get('SELECT 1 FROM static_tokens WHERE user_id = :user AND name = :name', {
        user: userId,
        name,
      }) !== undefined
    )
  }

  addStaticToken(userId: string, kind: string, name: string, hash: Buffer): void {
    this.#run(
      `INSERT INTO static_tokens (hash, id, user_id, kind, name, created_at_ms)
       VALUES (:hash, :id, :user, :kind, :name, :now)`,
      { hash, id: randomBytes(16).toString('base64url'), user: userId, kind, name, now: this.#now() },
    )
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }

  #permissionsOf(userId: string): Permission[] {
    const account = this.#get('SELECT 1 FROM account_permissions WHERE user_id = :user', { user: userId })
    const projects = this.#all(
      'SELECT name FROM project_permissions JOIN projects ON id = project_id WHERE user_id = :user ORDER BY name',
      { user: userId },
    ) as { name: string }[]
    return [
      ...(account === undefined ? [] : [{ scope: 'account' as const }]),
      ...(projects.length === 0
        ? []
        : [{ scope: 'projects' as const, projects: projects.map(({ name }) => name) }]),
    ]
  }

  #staticTokensOf(userId: string): { name: string; id: string; revoked: boolean }[] {
    const rows = this.#all(
      `SELECT name, id, token_id IS NOT NULL AS revoked FROM static_tokens
       LEFT JOIN revocations ON token_id = id WHERE user_id = :user ORDER BY name`,
      { user: userId },
    ) as { name: string; id: string; revoked: number }[]
    return rows.map((row) => ({ ...row, revoked: row.revoked === 1 }))
  }

  #get(sql: string, parameters: Parameters = {}): unknown {
    return this.#answering(() => this.#prepare(sql).get(parameters))
  }

  #all(sql: string, parameters: Parameters = {}): unknown[] {
    return this.#answering(() => this.#prepare(sql).all(parameters))
  }

  /** Whether a row was changed. */
  #run(sql: string, parameters: Parameters): boolean {
    return this.#answering(() => this.#prepare(sql).run(parameters).changes) > 0
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  /** A store that fails gives no answer; what it could not do is no business of the caller's. */
  #answering<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SQLITE_ERROR') throw error
      const full = (error as { errcode?: number }).errcode === SQLITE_FULL
      throw new NoAnswer(full ? 'RESOURCE_EXHAUSTED' : 'UNAVAILABLE', 'the directory does not answer', {
        reason: full ? 'DIRECTORY_FULL' : 'DIRECTORY_UNAVAILABLE',
        cause: error,
      })
    }
  }
}

type Parameters = Record<string, string | number | null | Buffer>

const SQLITE_FULL = 13

/** §5.1: a permission whose scope is Account, or one whose scope is Projects with the project selected. */
function permitted(project: ':project' | 'projects.id'): string {
  return `
    :needs_none
    OR (:account_counts AND EXISTS (SELECT 1 FROM account_permissions WHERE user_id = users.id))
    OR (:projects_count AND EXISTS
         (SELECT 1 FROM project_permissions WHERE user_id = users.id AND project_id = ${project}))`
}

function permissionParameters(scopes: readonly string[]) {
  return {
    needs_none: scopes.length === 0 ? 1 : 0,
    account_counts: scopes.includes('account') ? 1 : 0,
    projects_count: scopes.includes('projects') ? 1 : 0,
  }
}

/** As Keystone writes ids: 32 hex digits. */
function newId(): string {
  return randomBytes(16).toString('hex')
}
