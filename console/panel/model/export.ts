/** The audit trail as a file: CSV for a spreadsheet, or a line of JSON for each record. */
import type { AuditRecord } from './iam-records.ts'

export type ExportFormat = 'csv' | 'jsonl'

/** A record without its wire: what both formats write. */
export interface ExportedRecord {
  readonly sequence: number
  /** ISO 8601, UTC. */
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly account: string
  readonly subject: string
  readonly details: object
}

const CSV_COLUMNS = ['sequence', 'at', 'actor', 'action', 'account', 'subject', 'details'] as const

/** A byte order mark tells a spreadsheet that the file is UTF-8. */
export const CSV_HEAD = `\ufeff${CSV_COLUMNS.join(',')}\r\n`

export function exportedOf({
  sequence,
  at,
  actor,
  action,
  account,
  subject,
  details,
}: AuditRecord): ExportedRecord {
  const ms = at === undefined ? 0 : Number(at.seconds) * 1_000 + Math.floor(at.nanos / 1_000_000)
  return {
    ...{ sequence: Number(sequence), at: new Date(ms).toISOString() },
    ...{ actor, action, account, subject, details: details ?? {} },
  }
}

/** A line of CSV (RFC 4180). */
function csvLine(record: ExportedRecord): string {
  const cells = CSV_COLUMNS.map((column) => {
    const value = record[column]
    if (typeof value === 'number') return String(value)
    return csvCell(
      typeof value === 'string' ? value : Object.keys(value).length > 0 ? JSON.stringify(value) : '',
    )
  })
  return `${cells.join(',')}\r\n`
}

/** With what a spreadsheet takes a cell for a formula; characters of full width, too. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u

/** A cell. Names are anybody's: what a spreadsheet would run gets an apostrophe in front, and is a text then. */
export function csvCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n']/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe
}

function jsonLine(record: ExportedRecord): string {
  return `${JSON.stringify(record)}\n`
}

interface Fetched {
  readonly records: readonly AuditRecord[]
  readonly nextPageToken: string
}

/**
 * Fetches everything that the filters find, page by page.
 *
 * @param progress is told how many records there are so far
 * @returns the parts of the file
 * @throws whatever a page throws, and when `signal` is aborted
 */
export async function exported(
  fetchPage: (pageToken: string) => Promise<Fetched>,
  format: ExportFormat,
  progress: (records: number) => void,
  signal: AbortSignal,
): Promise<string[]> {
  const line = format === 'csv' ? csvLine : jsonLine
  const parts = format === 'csv' ? [CSV_HEAD] : []
  let count = 0
  let pageToken = ''
  do {
    signal.throwIfAborted()
    const { records, nextPageToken } = await fetchPage(pageToken)
    count += records.length
    parts.push(records.map((record) => line(exportedOf(record))).join(''))
    progress(count)
    pageToken = nextPageToken
  } while (pageToken !== '')
  return parts
}
