/** The directory itself, in memory, asked without delay. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { Parameters } from '../../../sidecar/directory/database.ts'
import { NoSuchProject } from '../../../sidecar/directory/database.ts'
import type { FeedRecord } from '../../../sidecar/directory/feed/touches.ts'
import { numberParameters } from '../../../sidecar/directory/named-parameters.ts'
import { migrationsFrom } from '../../../sidecar/directory/schema.ts'
import { newFolder } from '../../support/suite/resources.ts'

export type Statement = [sql: string, parameters?: Parameters]

export class Truth {
  #database = new DatabaseSync(':memory:')
  #standby: string | undefined
  readonly #statements = new Map<string, StatementSync>()

  constructor() {
    for (const step of migrationsFrom(0, 'sqlite', 'a test')) this.#database.exec(step)
  }

  all(sql: string, parameters: Parameters = {}): Record<string, unknown>[] {
    const { text, values } = numberParameters('?', sql, parameters)
    const statement = this.#statements.get(text) ?? this.#database.prepare(text)
    this.#statements.set(text, statement)
    return statement.all(...values)
  }

  /** Returns what was recorded; nothing, where the change was refused. */
  async change(
    nowMs: number,
    work: (by: DirectoryChange) => Promise<unknown>,
  ): Promise<readonly FeedRecord[]> {
    const queries = { all: (...statement: Statement) => this.all(...statement) }
    const by = new DirectoryChange(queries, { author: { name: 'a test' }, nowMs, dialect: 'sqlite' })
    this.#database.exec('BEGIN')
    try {
      await work(by)
      this.#database.exec('COMMIT')
      return by.writer.records
    } catch (error) {
      this.#database.exec('ROLLBACK')
      if (!(error instanceof NoSuchProject)) throw error
      return []
    }
  }

  /** A standby has everything that was changed until now. */
  replicate(): void {
    this.#forgetStandby()
    this.#standby = join(newFolder(), 'standby.sqlite')
    this.#database.exec(`VACUUM INTO '${this.#standby}'`)
  }

  /**
   * The standby takes its place. What was changed since `replicate` is lost. @returns whether there was one
   */
  failOver(): boolean {
    if (this.#standby === undefined) return false
    this.#database.close()
    this.#statements.clear()
    this.#database = new DatabaseSync(this.#standby)
    this.#standby = undefined
    return true
  }

  #forgetStandby(): void {
    if (this.#standby !== undefined) rmSync(this.#standby)
    this.#standby = undefined
  }

  close(): void {
    this.#database.close()
  }
}
