/** What `portcullis restore` says: what the restored directory no longer knows. */
import type { KeyDifference } from '../authority/keys-backup.ts'
import type { Restored } from '../directory/backup/restore.ts'
import { paint } from './terminal.ts'

/** What a person has to know, and may have to do again. */
export function warningsOf(
  { details, replaced, foreignStaticTokens }: Restored,
  {
    endTokens,
    newKeys,
    keys,
  }: { readonly endTokens: boolean; readonly newKeys: boolean; readonly keys: KeyDifference | undefined },
): string[] {
  const after = details.created_at
  return [
    endTokens || newKeys
      ? 'every IAM token that was issued before is denied; users obtain new ones with their passwords'
      : `IAM tokens that were issued after ${after} are revoked, where a change came between; users obtain new ones`,
    ...warningsOfReplaced(replaced, after),
    ...(foreignStaticTokens > 0
      ? [
          `${foreignStaticTokens} static tokens were hashed with another pepper and are denied; restore the pepper with --keys, or create them again`,
        ]
      : []),
    ...(keys?.returning ?? []).map(
      (id) =>
        `the signing key ${id} is back; if it was withdrawn, withdraw it again: portcullis keys withdraw ${id}`,
    ),
    ...(keys?.lost ?? []).map((id) => `the signing key ${id} is gone, and its tokens are denied`),
  ]
}

function warningsOfReplaced(replaced: Restored['replaced'], after: string): string[] {
  if (replaced === undefined || replaced.unreadable !== undefined) {
    const why = replaced === undefined ? '' : ` (the replaced one cannot be read: ${replaced.unreadable})`
    return [
      `what was revoked, disabled, deleted or replaced after ${after} is valid again${why}: do it again; --end-tokens ends every IAM token`,
    ]
  }
  const { undone, revocations } = replaced
  const kept = `revocations of the replaced directory were kept: ${revocations} that the backup did not have`
  const list = undone?.map(({ action, count }) => `${action} ${count}`).join(', ')
  if (list === '') return [kept]
  return [
    kept,
    list === undefined
      ? `the replaced directory has another history, so its changes cannot be compared with the backup of ${after}`
      : `undone, do again what took rights away: ${list}`,
  ]
}

export function describeRestored(
  headline: string,
  { change, keptAs }: Restored,
  warnings: readonly string[],
): string {
  return [
    headline,
    `recorded as change ${change}`,
    ...(keptAs === undefined ? [] : [`the directory of before is ${keptAs}`]),
    ...warnings.map((warning) => `${paint('yellow', 'warning:')} ${warning}`),
  ].join('\n')
}
