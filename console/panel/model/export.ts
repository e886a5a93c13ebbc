/** The audit trail as a file: CSV for a spreadsheet, or a line of JSON for each record. */
import type { AuditRecord } from './iam-records.ts'

export type ExportFormat = 'csv' | 'jsonl'

/** A record without its wire: the common fields of both formats. */
export interface ExportedRecord {
  readonly sequence: number
  /** ISO 8601, UTC. */
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly account: string
  readonly subject: string
  /** Empty: there is none, or it was not recorded. */
  readonly subject_id: string
  readonly details: object
}

const CSV_COLUMNS = [
  'sequence',
  'at',
  'actor',
  'action',
  'account',
  'subject',
  'subject_id',
  'details',
] as const

/** A byte order mark shows a spreadsheet that the file is UTF-8. */
export const CSV_HEAD = `\ufeff${CSV_COLUMNS.map((column) => `"${column}"`).join(',')}\r\n`

export function exportedOf({
  sequence,
  at,
  actor,
  action,
  account,
  subject,
  subjectId,
  details,
}: AuditRecord): ExportedRecord {
  return {
    ...{ sequence, at: (at ?? new Date(0)).toISOString() },
    ...{ actor, action, account, subject, subject_id: subjectId, details: details ?? {} },
  }
}

/** A line of CSV (RFC 4180). */
function csvLine(record: ExportedRecord): string {
  const cells = CSV_COLUMNS.map((column) => {
    const value = record[column]
    if (typeof value !== 'object') return csvCell(String(value))
    return csvCell(Object.keys(value).length > 0 ? JSON.stringify(value) : '')
  })
  return `${cells.join(',')}\r\n`
}

/**
 * Where a cell of some spreadsheet begins with what that takes for a formula. A cell begins with the text,
 * and behind each separator and each end of a line in it: a spreadsheet that splits at `;` does not know the
 * quotes of a cell that it finds behind `,`. Quotes, blanks and invisible characters in front of a sign hide
 * nothing, and signs have a full, a small and a raised form.
 */
const FORMULA =
  /(?<=^|[,;|\t\r\n\v\f\u0085\u2028\u2029])(?=["\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}]*[=+\-@\u207a\u207b\u207c\u208a-\u208c\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20]|"*[\t\r\n]|(?<!^)"*$)/gu

/**
 * A cell, quoted. Strangers choose names: an apostrophe before a formula makes a text of it for a
 * spreadsheet.
 */
export function csvCell(text: string): string {
  return `"${text.replace(FORMULA, "'").replaceAll('"', '""')}"`
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
 * @param progress called with the number of records so far
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
