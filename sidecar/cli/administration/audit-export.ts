/** `portcullis audit export`: the audit trail as lines of JSON, for an archive or another system. */
import type { Command } from 'commander'
import type { AuditRecord } from '../../../proto/gen/portcullis/v1/directory.ts'
import { escapedJson } from '../../base/visible-text.ts'
import { usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import {
  addAddressOptions,
  addIdentityOptions,
  type ConnectionOptions,
  writePart,
} from '../terminal/output.ts'
import { AUDIT_FILTERS, type AuditFilters, filtersOf } from './audit-filters.ts'

interface ExportOptions extends ConnectionOptions, AuditFilters {
  readonly after?: number
  readonly data?: string
  readonly callerTokenFile?: string
  readonly iamTokenFile?: string
}

/** Records that are asked for at once. */
const PAGE_SIZE = 1_000

export function addAuditExportCommand(audit: Command): void {
  const command = audit
    .command('export')
    .description('Print the audit trail, oldest first, one record a line as JSON.')
    .argument('[account]', 'account number (default: all accounts, as an operator)')
    .option(
      '--after <sequence>',
      'only records after this one, for example the last of an earlier export',
      sequenceOf,
    )
  for (const option of AUDIT_FILTERS) command.addOption(option)
  addHelpParts(addAddressOptions(addIdentityOptions(command)), {
    examples: [
      'audit export > audit.jsonl',
      'audit export 234567 --after 1000',
      'audit export 234567 --action token.revoke --since 2026-11-01',
    ],
    notes: [
      'Records that `audit.keep_days` has moved are in the files of the audit archive, in the same form.',
    ],
  }).action(exportAudit)
}

async function exportAudit(account = '', options: ExportOptions): Promise<void> {
  const { readIdentity, withDirectory } = await import('../sidecar-connection.ts')
  await withDirectory({ ...options, ...readIdentity(options) }, async (directory) => {
    let pageToken = tokenAfter(options.after)
    do {
      const page = await directory.listAuditRecords({
        account,
        pageSize: PAGE_SIZE,
        pageToken,
        ...filtersOf(options),
      })
      if (!(await writePart(page.records.map(lineOf).join('')))) return
      pageToken = page.nextPageToken
    } while (pageToken !== '')
  })
}

/** Page tokens of the trail are the number of the last record before. */
function tokenAfter(sequence: number | undefined): string {
  return sequence === undefined ? '' : Buffer.from(String(sequence)).toString('base64url')
}

function sequenceOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw usageError('--after: expected the sequence of a record')
  return Number(text)
}

/** As the files of the audit archive have it. */
function lineOf({ sequence, at, actor, action, account, subject, subjectId, details }: AuditRecord): string {
  const named = { subject, ...(subjectId !== '' && { subject_id: subjectId }) }
  return `${escapedJson(JSON.stringify({ sequence, at, actor, action, account, ...named, details }))}\n`
}
