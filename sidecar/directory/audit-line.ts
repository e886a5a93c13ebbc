/** A record of the audit trail as a line of JSON, in files and as `audit export` prints it. */
import type { AuditRecord } from './directory.ts'

export function auditLine(record: AuditRecord): string {
  const { sequence, atMs, actor, action, account, subject, subjectId, details } = record
  const at = new Date(atMs).toISOString()
  const named = { subject, ...(subjectId !== '' && { subject_id: subjectId }) }
  return `${JSON.stringify({ sequence, at, actor, action, account, ...named, details })}\n`
}

/** The fields of such a line that say which record it is, and the action with its subject. */
export type AuditLine = Readonly<
  Record<'at' | 'actor' | 'action' | 'account' | 'subject', string> & { sequence: number }
>

/** @returns undefined: the line is not whole */
export function readAuditLine(line: string): AuditLine | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
