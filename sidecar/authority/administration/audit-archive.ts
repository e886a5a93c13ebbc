/**
 * Moves old records of the audit trail to files. A record is deleted only after the file that has it is on
 * the disk.
 */
import { join } from 'node:path'
import { makeFolder, writeWhole } from '../../base/data-folder.ts'
import { auditLine } from '../../directory/audit-line.ts'
import type { AuditRecord } from '../../directory/directory.ts'
import type { DirectoryStore } from '../../directory/store.ts'
import { trusted } from '../actor.ts'
import { changeDirectory } from './change-directory.ts'

/** Most records in one file, which are also deleted in one change. */
const RECORDS_PER_FILE = 2_000

const RETENTION = trusted('audit retention', 'users')

/**
 * Archives the records from the beginning of the trail up to the first one that is not older than `beforeMs`.
 * Each file holds one record in each line, as JSON, and is named by the numbers of its first and last record.
 *
 * @returns the files that were written
 * @throws Error if a file cannot be written; its records are kept then
 */
export async function archiveAudit(
  directory: DirectoryStore,
  folder: string,
  beforeMs: number,
): Promise<readonly string[]> {
  const files: string[] = []
  for (;;) {
    const records = await directory.records.audit('', { after: '0', size: RECORDS_PER_FILE })
    const young = records.findIndex(({ atMs }) => atMs >= beforeMs)
    const old = young < 0 ? records : records.slice(0, young)
    const [first, last] = [old[0], old.at(-1)]
    if (first === undefined || last === undefined) return files
    const file = join(folder, `audit-${numbered(first)}-${numbered(last)}.jsonl`)
    makeFolder(folder)
    // Another process may write the same file at the same time: it has the same content.
    writeWhole(file, old.map(auditLine).join(''))
    await changeDirectory(directory, RETENTION, (change) => change.forgetAudit(last.sequence, file))
    files.push(file)
    if (old.length < RECORDS_PER_FILE) return files
  }
}

/** So that a list of the files by name is in the order of their records. */
function numbered({ sequence }: AuditRecord): string {
  return String(sequence).padStart(12, '0')
}
