/**
 * Archives old records of the audit trail, where the configuration says so, and removes rows that no longer
 * decide anything.
 */
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Engine } from '../../engine/index.ts'
import { trusted } from '../authority/actor.ts'
import type { Administration } from '../authority/administration/administration.ts'
import type { archiveAudit } from '../authority/administration/audit-archive.ts'
import { changeDirectory } from '../authority/administration/change-directory.ts'
import { EXPIRED_TOKEN_MS_MAX } from '../authority/iam-claims.ts'
import { longestLifetimeMs } from '../authority/keys.ts'
import type { LeftToRemove } from '../directory/left-to-remove.ts'
import type { RemovalParts, removeRows } from '../directory/removal.ts'

export interface RetentionConfig {
  /** Data folder. */
  readonly data: string
  readonly audit?: { readonly keep_days?: number; readonly archive?: string }
  readonly directory: { readonly keep_deleted_days: number }
}

interface Retaining {
  readonly administration: Administration
  readonly engine: () => Engine
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Logger
}

interface Jobs {
  readonly archiveAudit: typeof archiveAudit
  readonly removeRows: typeof removeRows
}

/** Each is loaded when it is first used. */
const LOADED: Jobs = {
  archiveAudit: async (...given) =>
    (await import('../authority/administration/audit-archive.ts')).archiveAudit(...given),
  removeRows: async (...given) => (await import('../directory/removal.ts')).removeRows(...given),
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const REMOVAL = trusted('retention', 'users')

export class Retention implements AsyncDisposable {
  readonly #config: RetentionConfig
  readonly #services: Retaining
  readonly #jobs: Jobs
  readonly #timers: readonly NodeJS.Timeout[]
  #running: Promise<void>
  #isOpen = true
  #left: LeftToRemove | undefined

  /** Archives at once and every hour. Removes after a minute and every hour: no start waits for it. */
  constructor(config: RetentionConfig, services: Retaining, jobs = LOADED) {
    this.#config = config
    this.#services = services
    this.#jobs = jobs
    this.#running = this.#archive()
    const then = (job: () => Promise<void>) => () => {
      this.#running = this.#running.then(job)
    }
    const [archive, remove] = [then(() => this.#archive()), then(() => this.#remove())]
    this.#timers = [
      setInterval(archive, HOUR_MS).unref(),
      setInterval(remove, HOUR_MS).unref(),
      setTimeout(remove, MINUTE_MS).unref(),
    ]
  }

  /** Resolves when the files that are being written are there, and a transaction has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOpen = false
    for (const timer of this.#timers) clearTimeout(timer)
    await this.#running
  }

  /** As a removal said last; `undefined`: there was none yet. */
  get left(): LeftToRemove | undefined {
    return this.#left
  }

  async #archive(): Promise<void> {
    const { data, audit } = this.#config
    if (audit?.keep_days === undefined) return
    const { administration, now, log } = this.#services
    const folder = audit.archive ?? join(data, 'audit-archive')
    const beforeMs = now() - audit.keep_days * DAY_MS
    try {
      const files = await this.#jobs.archiveAudit(administration.directory, folder, beforeMs)
      if (files.length > 0) log.info({ files }, 'old records of the audit trail were archived')
    } catch (error) {
      log.error({ err: error }, 'old records of the audit trail cannot be archived, and are kept')
    }
  }

  async #remove(): Promise<void> {
    const { administration, engine, now, log } = this.#services
    const [nowMs, keptMs] = [now(), keptMsOf(this.#config)]
    // A caller may ask about an expired token for that long.
    const validMs = longestLifetimeMs(engine().tokenKinds.values()) + EXPIRED_TOKEN_MS_MAX
    // A token that never expires is from before no time.
    const expiredMs = Math.max(0, nowMs - Math.max(keptMs, validMs))
    try {
      const times = { nowMs, deletedMs: nowMs - keptMs, expiredMs }
      const { directory } = administration
      const parts: RemovalParts = {
        change: (work) => changeDirectory(directory, REMOVAL, work),
        shrink: () => directory.shrink(),
        proceed: () => this.#isOpen,
        queries: directory.records.queries,
        onLeft: (left) => {
          this.#left = left
        },
      }
      const removed = await this.#jobs.removeRows(parts, times)
      if (Object.keys(removed).length > 0)
        log.info({ removed }, 'rows that no longer decide anything were removed')
    } catch (error) {
      log.error({ err: error }, 'rows that no longer decide anything cannot be removed, and are kept')
    }
  }
}

/** How long deleted rows are kept, in milliseconds. */
export function keptMsOf({ directory }: Pick<RetentionConfig, 'directory'>): number {
  return directory.keep_deleted_days * DAY_MS
}
