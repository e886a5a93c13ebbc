/**
 * The file of a directory on the disk of its host, which an operator may replace. The truth reads it as
 * another process would.
 */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { Rows } from './postgres-server.ts'
import { rowsOf } from './postgres-server.ts'

export class DirectoryFile {
  /** Called after something was committed, or the file was replaced. */
  onCommit: () => void = () => {}
  readonly #path: string
  readonly #folder: string
  #copies = 0
  /** `undefined`: the file cannot be read. */
  #reader: DatabaseSync | undefined
  #statements = new Map<string, StatementSync>()
  #version: unknown

  /** @param content a file that becomes the directory */
  constructor(path: string, folder: string, content: string) {
    this.#path = path
    this.#folder = mkdtempSync(join(folder, 'backups-'))
    copyFileSync(content, path)
    this.#open()
  }

  close(): void {
    this.#reader?.close()
    rmSync(this.#folder, { recursive: true })
  }

  #open(): void {
    this.#reader?.close()
    this.#statements = new Map()
    const reader = new DatabaseSync(this.#path)
    this.#reader = reader
    try {
      reader.exec('PRAGMA journal_mode = WAL')
      if (reader.prepare('PRAGMA quick_check').get()?.quick_check !== 'ok') throw new Error('it is torn')
      this.#version = this.#readVersion()
    } catch {
      reader.close()
      this.#reader = undefined
    }
  }

  #readVersion(): unknown {
    return this.#statement('PRAGMA data_version')?.get()?.data_version
  }

  #statement(text: string): StatementSync | undefined {
    const statement = this.#statements.get(text) ?? this.#reader?.prepare(text)
    if (statement !== undefined) this.#statements.set(text, statement)
    return statement
  }

  /** Whether it can be read. */
  get isWhole(): boolean {
    return this.#reader !== undefined
  }

  /** Nothing where it cannot be read. */
  all(text: string, values: readonly SQLInputValue[] = []): Rows {
    const statement = this.#statement(text)
    return statement === undefined ? [] : rowsOf(statement, values)
  }

  /** Something happened, which may have been a commit. */
  look(): void {
    if (this.#reader === undefined) return
    const version = this.#readVersion()
    if (version === this.#version) return
    this.#version = version
    this.onCommit()
  }

  /** Changes something as if time had passed for it. Returns whether it did. */
  alter(text: string, values: readonly SQLInputValue[]): boolean {
    try {
      this.#reader?.prepare(text).run(...values)
      return this.#reader !== undefined
    } catch {
      return false
    }
  }

  /** A file with all that is in it; `undefined`: it cannot be read. */
  copy(): string | undefined {
    const file = join(this.#folder, `${this.#copies++}.sqlite`)
    this.#reader?.exec(`VACUUM INTO '${file}'`)
    return existsSync(file) ? file : undefined
  }

  /** Puts a file in its place at once. The log of the one before goes away with it. */
  install(file: string): void {
    for (const end of ['-wal', '-shm']) rmSync(`${this.#path}${end}`, { force: true })
    const copy = `${this.#path}.new`
    copyFileSync(file, copy)
    renameSync(copy, this.#path)
    this.#open()
    this.onCommit()
  }
}

const PAGE_BYTES = 4_096

/** A copy of a file of which not all has come: it ends early, or some pages are empty. */
export function torn(file: string, part: number, isCutOff: boolean): string {
  const bytes = readFileSync(file)
  const page = PAGE_BYTES * (1 + Math.floor(part * (bytes.length / PAGE_BYTES - 2)))
  const copy = `${file}.torn`
  writeFileSync(copy, isCutOff ? bytes.subarray(0, page) : bytes.fill(0, page, page + 2 * PAGE_BYTES))
  return copy
}
