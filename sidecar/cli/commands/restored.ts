/** The warnings of `portcullis restore`: the changes that the restored directory no longer has. */
import type { KeyDifference } from '../../authority/keys-backup.ts'
import type { Restored } from '../../directory/backup/restore.ts'

/** Facts for a person, and changes to repeat. @param ended whether no earlier IAM token is accepted */
export function warningsOf(
  { details, replaced, staticTokensEnded, foreignStaticTokens }: Restored,
  ended: boolean,
): string[] {
  const after = details.created_at
  return [
    ended
      ? 'every IAM token that was issued before is denied; users obtain new ones with their passwords'
      : `IAM tokens that were issued after ${after} are revoked, where a change came between; users obtain new ones`,
    ...(staticTokensEnded === undefined
      ? []
      : [`every static token is revoked, ${staticTokensEnded} that were active; users create new ones`]),
    ...warningsOfReplaced(replaced, after),
    ...(foreignStaticTokens > 0
      ? [
          `${foreignStaticTokens} static tokens were hashed with another pepper and are denied; restore the pepper with --keys, or create them again`,
        ]
      : []),
  ]
}

export function warningsOfKeys({ returning, lost }: KeyDifference = { returning: [], lost: [] }): string[] {
  return [
    ...returning.map(
      (id) =>
        `the signing key ${id} is back; if it was withdrawn, withdraw it again: portcullis keys withdraw ${id}`,
    ),
    ...lost.map((id) => `the signing key ${id} is missing, and its tokens are denied`),
  ]
}

function warningsOfReplaced(replaced: Restored['replaced'], after: string): string[] {
  if (replaced === undefined || replaced.unreadable !== undefined) {
    const why = replaced === undefined ? '' : ` (the replaced one cannot be read: ${replaced.unreadable})`
    return [
      `what was revoked, disabled, deleted or replaced after ${after} is valid again${why}: repeat it; --end-tokens ends every IAM token, and --end-static-tokens every static token`,
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
      : `undone; repeat the changes that took rights away: ${list}`,
  ]
}

export function describeRestored(file: string, what: string, { change, keptAs }: Restored): string[] {
  return [
    `${file}: restored ${what}`,
    `recorded as change ${change}`,
    ...(keptAs === undefined ? [] : [`the previous directory is kept as ${keptAs}`]),
  ]
}
