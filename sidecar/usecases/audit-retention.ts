/** Archives the audit trail as the configuration says: at the start, and every hour. */
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Administration } from '../authority/administration/administration.ts'
import type { archiveAudit } from '../authority/administration/audit-archive.ts'

interface RetentionOptions {
  readonly administration: Administration
  readonly archiveAudit: typeof archiveAudit
  /** Data folder. */
  readonly data: string
  /** Where the files go; `undefined`: a folder in the data folder. */
  readonly archive: string | undefined
  readonly keepDays: number
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Logger
}

/** Loaded when it is first used. */
const loadedArchiveAudit: typeof archiveAudit = async (...given) =>
  (await import('../authority/administration/audit-archive.ts')).archiveAudit(...given)

/** Archives old records, if the configuration says so. */
export function openRetention(
  {
    audit,
    data,
  }: {
    readonly data: string
    readonly audit?: { readonly keep_days?: number; readonly archive?: string }
  },
  services: Pick<RetentionOptions, 'administration' | 'now' | 'log'>,
  archive = loadedArchiveAudit,
): AsyncDisposable | undefined {
  if (audit?.keep_days === undefined) return undefined
  return new AuditRetention({
    ...{ ...services, archiveAudit: archive, data },
    ...{ archive: audit.archive, keepDays: audit.keep_days },
  })
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

class AuditRetention implements AsyncDisposable {
  readonly #options: RetentionOptions
  readonly #timer: NodeJS.Timeout
  #archiving: Promise<void>

  constructor(options: RetentionOptions) {
    this.#options = options
    this.#archiving = this.#archive()
    this.#timer = setInterval(() => {
      this.#archiving = this.#archiving.then(() => this.#archive())
    }, HOUR_MS).unref()
  }

  /** Resolves when the files that are being written are there. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#archiving
  }

  async #archive(): Promise<void> {
    const { administration, archiveAudit, data, archive, keepDays, now, log } = this.#options
    const folder = archive ?? join(data, 'audit-archive')
    try {
      const files = await archiveAudit(administration.directory, folder, now() - keepDays * DAY_MS)
      if (files.length > 0) log.info({ files }, 'old records of the audit trail were archived')
    } catch (error) {
      log.error({ err: error }, 'old records of the audit trail cannot be archived, and are kept')
    }
  }
}
