/**
 * The changes of a shared directory that this host has made, outside its database: each is on the disk before
 * it is acknowledged. After a failover that has lost changes, nothing else knows what they were.
 *
 * There is a file for each day, `made-DAY.jsonl`, with a record a line, as in the archive of the audit trail.
 * All processes of the host append to it.
 */
import { closeSync, existsSync, fsync, fsyncSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { linesOf } from '../../base/file-lines.ts'
import { type AuditLine, auditLine, readAuditLine } from '../audit-line.ts'
import type { AuditRecord } from '../directory.ts'

/** How many days are kept besides the current one. */
const DAYS_KEPT = 7
const DAY_MS = 86_400_000

const NAME = /^made-(\d{4}-\d\d-\d\d)\.jsonl$/

export class MadeChanges {
  readonly #folder: string
  #day: string | undefined
  #descriptor: number | undefined
  /** Of days before: a sync of them may be under way. */
  readonly #earlier: number[] = []
  /** Whether the file may end in the middle of a line. */
  #isTorn = true
  #appended = 0
  #durable = 0

  /** @param folder that is there */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Whether all of it is on the disk. */
  get isDurable(): boolean {
    return this.#durable === this.#appended
  }

  /** @throws Error if it cannot be written */
  append(records: readonly AuditRecord[]): void {
    const [first] = records
    if (first === undefined) return
    const descriptor = this.#open(first.atMs)
    const bytes = Buffer.from(`${this.#isTorn ? '\n' : ''}${records.map(auditLine).join('')}`)
    this.#isTorn = true
    this.#appended++
    if (writeSync(descriptor, bytes) < bytes.length) throw new Error('the disk is full')
    this.#isTorn = false
  }

  /** One at a time. @throws Error if it cannot be written */
  async sync(): Promise<void> {
    for (const descriptor of this.#earlier.splice(0)) closeSync(descriptor)
    if (this.isDurable || this.#descriptor === undefined) return
    const appended = this.#appended
    await promisify(fsync)(this.#descriptor)
    this.#durable = appended
  }

  /** No sync is under way. */
  close(): void {
    for (const descriptor of this.#earlier.splice(0)) closeSync(descriptor)
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #open(nowMs: number): number {
    const day = dayOf(nowMs)
    if (this.#descriptor !== undefined && day === this.#day) return this.#descriptor
    const descriptor = openSync(join(this.#folder, `made-${day}.jsonl`), 'a', 0o600)
    if (this.#descriptor !== undefined) {
      fsyncSync(this.#descriptor)
      this.#earlier.push(this.#descriptor)
    }
    this.#descriptor = descriptor
    this.#day = day
    this.#isTorn = true
    const oldest = dayOf(nowMs - DAYS_KEPT * DAY_MS)
    for (const name of readdirSync(this.#folder)) {
      const [, found] = NAME.exec(name) ?? []
      if (found !== undefined && found < oldest) rmSync(join(this.#folder, name), { force: true })
    }
    return descriptor
  }
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** The changes that were made, the oldest first, but for torn lines. @param folder as of `KnownPosition` */
export async function* madeIn(folder: string): AsyncGenerator<AuditLine> {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => NAME.test(name)) : []
  for (const name of names.sort())
    for await (const line of linesOf(join(folder, name))) {
      const made = readAuditLine(line)
      if (made !== undefined) yield made
    }
}
