/**
 * The highest position of a directory that this host has known, where a restart does not forget it: a host
 * that does not know of a change cannot notice that it is lost.
 *
 * It is the name of an empty file, `NUMBER-TIME`, because a name is never half there. Every process of the
 * host renames its own file, so none takes back the position of another one, and the highest name counts.
 */
import { close, closeSync, fsync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeFolder } from '../../base/data-folder.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { SharedRun } from '../../base/shared-run.ts'
import type { AuditRecord } from '../directory.ts'
import { diskError } from '../write-ahead-log.ts'
import { MadeChanges } from './made-changes.ts'
import type { Position } from './touches.ts'

/** The folder of that file, in the data folder. */
export const KNOWN_CHANGE = 'known-change'

const NOTHING: Position = { sequence: 0, atMs: 0 }

export interface KnownPositionOptions {
  /** Made if it is missing; `undefined`: nothing outlives this process. */
  readonly folder?: string | undefined
  /** The folder cannot be written, for this reason, or can be again, with none. */
  readonly onUnwritten?: ((error: unknown) => void) | undefined
}

export class KnownPosition {
  readonly #folder: string | undefined
  readonly #onUnwritten: (error: unknown) => void
  readonly #syncs = new SharedRun(() => this.#sync())
  #descriptor: number | undefined
  #last = NOTHING
  /** The file of this process. */
  #own: string | undefined
  #failure: unknown
  /** Number of the change up to which everything is on the disk. */
  #durable = 0
  readonly #made: MadeChanges | undefined

  /** @throws Error that names the folder where it is there and cannot be read */
  constructor({ folder, onUnwritten = () => {} }: KnownPositionOptions = {}) {
    this.#folder = folder
    this.#onUnwritten = onUnwritten
    if (folder === undefined) return
    this.#made = new MadeChanges(folder)
    try {
      makeFolder(folder)
      this.#descriptor = openSync(folder, 'r')
    } catch (error) {
      this.#fail(error)
    }
    this.#last = lastIn(folder)
    this.#durable = this.#last.sequence
  }

  /** Before the first change it is 0. */
  get last(): Position {
    return this.#last
  }

  /** When this returns, a process that is killed has not forgotten it; after a power cut, `durable` is it. */
  note({ sequence, atMs }: Position): void {
    if (sequence <= this.#last.sequence) return
    this.#last = { sequence, atMs }
    this.#write()
    if (this.#descriptor !== undefined) this.#syncs.run().catch((error: unknown) => this.#fail(error))
  }

  /** Keeps what this host has made. @see MadeChanges */
  made(records: readonly AuditRecord[]): void {
    if (this.#descriptor === undefined) return
    try {
      this.#made?.append(records)
    } catch (error) {
      throw diskError(error)
    }
  }

  /**
   * Resolves when it is on the disk, with what was made.
   *
   * @throws CallError if it cannot be written; a folder that could not be opened keeps nothing
   */
  durable(): MaybePromise<void> {
    const isDurable = this.#durable >= this.#last.sequence && this.#made?.isDurable !== false
    if (this.#descriptor === undefined || isDurable) return undefined
    if (this.#failure !== undefined) this.#write()
    return this.#syncs.run()
  }

  async close(): Promise<void> {
    await this.#syncs.settled()
    this.#made?.close()
    if (this.#descriptor !== undefined) await promisify(close)(this.#descriptor)
    this.#descriptor = undefined
  }

  #write(): void {
    if (this.#folder === undefined || this.#descriptor === undefined) return
    const path = join(this.#folder, `${this.#last.sequence}-${this.#last.atMs}`)
    try {
      if (this.#own === undefined || !isRenamed(this.#own, path)) closeSync(openSync(path, 'a', 0o600))
      this.#own = path
      if (this.#failure !== undefined) this.#onUnwritten(undefined)
      this.#failure = undefined
    } catch (error) {
      this.#fail(error)
    }
  }

  async #sync(): Promise<void> {
    const { sequence } = this.#last
    if (this.#failure !== undefined) throw diskError(this.#failure)
    try {
      await Promise.all([promisify(fsync)(this.#descriptor as number), this.#made?.sync()])
    } catch (error) {
      throw diskError(error)
    }
    this.#durable = Math.max(this.#durable, sequence)
  }

  /** It is reported once. */
  #fail(error: unknown): void {
    if (this.#failure === undefined) this.#onUnwritten(error)
    this.#failure = error
  }
}

/** @returns false: the file is gone; another process has removed it for a higher one */
function isRenamed(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** The position in a folder with `known-change`; no file of it is removed; `undefined`: none. */
export function knownIn(folder: string): Position | undefined {
  const { last } = lastOf(join(folder, KNOWN_CHANGE))
  return last.sequence === 0 ? undefined : last
}

/** Reads what is there, and removes what processes that have ended left behind. */
function lastIn(folder: string): Position {
  const { last, lower } = lastOf(folder)
  for (const path of lower)
    try {
      rmSync(path, { force: true })
    } catch {
      // A folder that cannot be written is read anyway.
    }
  return last
}

function lastOf(folder: string): { readonly last: Position; readonly lower: readonly string[] } {
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return { last: NOTHING, lower: [] }
    throw new Error(`${folder} cannot be read (${code})`, { cause: error })
  }
  const found = names.flatMap((name) => {
    const [, sequence, atMs] = /^(\d{1,15})-(\d{1,15})$/.exec(name) ?? []
    return sequence === undefined
      ? []
      : [{ path: join(folder, name), sequence: Number(sequence), atMs: Number(atMs) }]
  })
  const [last, ...lower] = found.sort((a, b) => b.sequence - a.sequence)
  return {
    last: last === undefined ? NOTHING : { sequence: last.sequence, atMs: last.atMs },
    lower: lower.map(({ path }) => path),
  }
}
