/**
 * A new SQLite file that a backup is loaded into, upgraded in and completed in before anything of the
 * directory is touched. On SQLite it then becomes the directory; on PostgreSQL its rows do.
 */
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { restorationName } from '../../base/data-folder.ts'
import { linesOfSealed } from '../../base/sealed-file.ts'
import type { Position } from '../feed/touches.ts'
import { isThere, presenceQuery } from '../last-change.ts'
import { number } from '../rows.ts'
import { migrationsFrom, SCHEMA_VERSION } from '../schema.ts'
import {
  type BackupDetails,
  type BackupRow,
  decoded,
  detailsOf,
  type Follower,
  rowsOf,
  tablesOf,
  turnAfter,
} from './backup-content.ts'
import { removeLeftovers } from './leftovers.ts'

export class Scratch implements Disposable {
  readonly path: string
  readonly details: BackupDetails
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #open = true

  private constructor(path: string, details: BackupDetails, database: DatabaseSync) {
    this.path = path
    this.details = details
    this.#database = database
  }

  /** @param backup whose digest was compared @throws Error if it cannot be loaded */
  static async load(backup: string, folder: string, follow?: (rows: number) => Follower): Promise<Scratch> {
    const lines = linesOfSealed(backup)
    const details = detailsOf((await lines.next()).value, backup)
    removeLeftovers(folder)
    const path = join(folder, restorationName())
    closeSync(openSync(path, 'wx', 0o600))
    const database = new DatabaseSync(path, { enableForeignKeyConstraints: false })
    const scratch = new Scratch(path, details, database)
    using follower = follow?.(rowsOf(details))
    try {
      // The file is synchronised as a whole, when it is complete.
      database.exec(
        'PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN',
      )
      const { schema_version: version } = details
      for (const step of migrationsFrom(0, 'sqlite', backup, version)) database.exec(step)
      const counts = await scratch.#insertAll(lines, follower)
      for (const [table, expected] of Object.entries(details.rows))
        if ((counts.get(table) ?? 0) !== expected) throw new Error(`expected ${expected} rows of ${table}`)
      for (const step of migrationsFrom(version, 'sqlite', backup)) database.exec(step)
      database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
      if (database.prepare('PRAGMA foreign_key_check').get() !== undefined)
        throw new Error('expected rows that refer to each other')
      return scratch
    } catch (error) {
      scratch[Symbol.dispose]()
      if (follower?.signal.aborted) throw error
      // SQLite's text for its error code, because its messages may quote values.
      const { errstr, message } = error as { errstr?: string; message: string }
      if (message.startsWith(`${backup}: `)) throw error
      throw new Error(`${backup}: the backup cannot be loaded (${errstr ?? message})`)
    }
  }

  async #insertAll(
    lines: AsyncIterable<unknown>,
    follower: Follower | undefined,
  ): Promise<Map<string, number>> {
    let rows = 0
    const tables = new Set(tablesOf(this.details.schema_version))
    const counts = new Map<string, number>()
    for await (const line of lines) {
      const [table, row] = line as BackupRow
      const columns = Object.keys(row)
      // They become SQL.
      if (!tables.has(table) || !columns.every((column) => /^[a-z_]+$/.test(column)))
        throw new Error('expected rows of the tables of its version')
      const values = columns.map(() => '?').join(', ')
      this.#prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values})`).run(...decoded(row))
      counts.set(table, (counts.get(table) ?? 0) + 1)
      await turnAfter(++rows, follower)
    }
    return counts
  }

  /** Adds a revocation that came after the backup. Returns whether it is new. */
  revoke(tokenId: string, revokedAtMs: number): boolean {
    const values = { token: tokenId, at: revokedAtMs }
    const added = this.#prepare(
      'INSERT INTO revocations (token_id, revoked_at_ms) VALUES (:token, :at) ON CONFLICT DO NOTHING',
    ).run(values)
    this.#prepare(
      'UPDATE static_tokens SET revoked_at_ms = :at WHERE id = :token AND revoked_at_ms IS NULL',
    ).run(values)
    return added.changes > 0
  }

  /** IAM tokens that were issued before that change count as revoked. */
  addFloor(change: number): void {
    this.#prepare(
      `INSERT INTO revocation_marks (change_number, at_ms, floor) VALUES (:change, 0, 1)
       ON CONFLICT (change_number) DO UPDATE SET floor = 1`,
    ).run({ change })
  }

  /** Revokes every static token. Returns how many were active. */
  endStaticTokens(atMs: number): number {
    this.#prepare(
      `INSERT INTO revocations (token_id, revoked_at_ms)
       SELECT id, :at FROM static_tokens WHERE revoked_at_ms IS NULL ON CONFLICT DO NOTHING`,
    ).run({ at: atMs })
    const end = 'UPDATE static_tokens SET revoked_at_ms = :at WHERE revoked_at_ms IS NULL'
    return Number(this.#prepare(end).run({ at: atMs }).changes)
  }

  /**
   * Records the restoration as a change.
   *
   * @param change its number
   * @param after tokens of later changes are revoked
   */
  record(change: number, after: number, record: { atMs: number; actor: string; details: object }): void {
    this.#database
      .prepare(
        `INSERT INTO audit (sequence, at_ms, actor, action, account, subject, details)
         VALUES (:change, :at, :actor, 'directory.restore', '', :subject, :details)`,
      )
      .run({
        change,
        at: record.atMs,
        actor: record.actor,
        subject: this.details.created_at,
        details: JSON.stringify(record.details),
      })
    this.#database
      .prepare('INSERT INTO restorations (after_change, change) VALUES (:after, :change)')
      .run({ after, change })
  }

  has(known: Position): boolean {
    const [query, parameters] = presenceQuery(known)
    return isThere(this.#prepare(query).get(parameters)?.presence, known)
  }

  /** The audit trail's record of a change, to compare two directories. */
  recordOf(change: number): string {
    return JSON.stringify(this.#database.prepare(recordQuery(change)).get() ?? null)
  }

  /** Static tokens that were hashed with another pepper. */
  foreignStaticTokens(pepper: string): number {
    const query =
      'SELECT COUNT(*) AS count FROM static_tokens WHERE revoked_at_ms IS NULL AND pepper <> :pepper'
    return number(this.#database.prepare(query).get({ pepper })?.count)
  }

  rows(table: string): IterableIterator<Record<string, unknown>> {
    const statement = this.#database.prepare(`SELECT * FROM ${table}`)
    statement.setReadBigInts(true)
    return statement.iterate() as IterableIterator<Record<string, unknown>>
  }

  /** Completes the file. */
  finish(): void {
    this.#database.exec('COMMIT')
    this.#close()
    const descriptor = openSync(this.path, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  }

  [Symbol.dispose](): void {
    this.#close()
    rmSync(this.path, { force: true })
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #close(): void {
    this.#statements.clear()
    if (this.#open) this.#database.close()
    this.#open = false
  }
}

/** A record of the audit trail, by which two directories are known to have the same history up to it. */
export function recordQuery(change: number): string {
  return `SELECT at_ms, actor, action, account, subject, details FROM audit WHERE sequence = ${change}`
}
