/** The tables of the SQLite directory, and the steps that bring an older file up to them. */
import type { DatabaseSync } from 'node:sqlite'

/** Each step takes the file from the version of its index to the next. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE accounts (
    account TEXT PRIMARY KEY,
    enabled INTEGER NOT NULL DEFAULT 1,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts,
    name TEXT NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (account, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE users (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts,
    name TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('service_user', 'control_panel_user')),
    password_hash TEXT CHECK ((type = 'service_user') = (password_hash IS NOT NULL)),
    generation INTEGER NOT NULL DEFAULT 1,
    enabled INTEGER NOT NULL DEFAULT 1,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (account, name)
  ) STRICT, WITHOUT ROWID;

  -- A permission whose scope is Account, and one row for each project selected in one whose scope is Projects (§5.1).
  CREATE TABLE account_permissions (
    user_id TEXT PRIMARY KEY REFERENCES users ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE project_permissions (
    user_id TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
    project_id TEXT NOT NULL REFERENCES projects ON DELETE CASCADE,
    PRIMARY KEY (user_id, project_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE static_tokens (
    hash BLOB PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (user_id, name)
  ) STRICT, WITHOUT ROWID;

  -- Kept until the token would have expired anyway; a static token's for good.
  CREATE TABLE revocations (
    token_id TEXT PRIMARY KEY,
    revoked_at_ms INTEGER NOT NULL,
    forget_at_ms INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX revocations_forget ON revocations (forget_at_ms);
  `,
]

/** Brings the file to the current version; several processes may try at once. */
export function migrate(database: DatabaseSync, path: string): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const row = database.prepare('PRAGMA user_version').get() as { user_version: number }
    if (row.user_version > MIGRATIONS.length)
      throw new Error(
        `${path}: expected a directory of version ${MIGRATIONS.length} or earlier, found ${row.user_version}; a newer Portcullis wrote it`,
      )
    for (const step of MIGRATIONS.slice(row.user_version)) database.exec(step)
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}
