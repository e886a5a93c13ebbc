/** The work of `portcullis backup` and `restore`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { commandLine } from '../../authority/actor.ts'
import type { KeyDifference } from '../../authority/keys-backup.ts'
import {
  DIRECTORY_FILE,
  expectDataFolder,
  expectRestorable,
  giveToOwnerOf,
  SIGNING_KEYS_FILE,
} from '../../base/data-folder.ts'
import { packageVersion } from '../../base/package.ts'
import type { Config } from '../../config/config.ts'
import type { BackupDetails } from '../../directory/backup/backup-content.ts'
import type { Restored } from '../../directory/backup/restore.ts'
import { type ConfirmOptions, confirm } from '../terminal/confirm.ts'
import { CommandError, usageError } from '../terminal/errors.ts'
import { counted, print, printJson } from '../terminal/output.ts'
import { Progress } from '../terminal/progress.ts'
import { paint, type Terminal } from '../terminal/terminal.ts'
import { describeRestored, warningsOf, warningsOfKeys } from './restored.ts'

/** Longest time of a statement on PostgreSQL, in milliseconds: it may read or write millions of rows. */
const STATEMENT_MS = 600_000

export interface BackupOptions {
  readonly data?: string
  readonly config?: string
  readonly keys?: string
  readonly json?: boolean
}

export interface RestoreOptions extends BackupOptions, ConfirmOptions {
  readonly newKeys?: boolean
  readonly pepperOnly?: boolean
  readonly replace?: boolean
  readonly endTokens?: boolean
  readonly endStaticTokens?: boolean
  readonly check?: boolean
}

async function placeOf(options: BackupOptions) {
  const { knownFolderOf, readConfig, sharedDirectoryOf } = await import('../../config/config.ts')
  const config: Config = readConfig({
    file: options.config,
    environment: process.env,
    flags: { data: options.data },
  })
  const shared = sharedDirectoryOf(config)
  return {
    ...{ data: config.data, knownFolder: knownFolderOf(config) },
    place: {
      file: join(config.data, DIRECTORY_FILE),
      shared: shared && { ...shared, statementMs: STATEMENT_MS },
    },
  }
}

export async function backUp(file: string, options: BackupOptions): Promise<void> {
  const { backUpDirectory } = await import('../../directory/backup/write.ts')
  const { data, place } = await placeOf(options)
  if (place.shared === undefined || options.keys !== undefined) expectDataFolder(data)
  const at = { version: packageVersion, nowMs: Date.now() }
  if (options.keys === file) throw usageError('--keys: expected another file than that of the directory')
  if (options.keys !== undefined && existsSync(options.keys))
    throw new Error(`${options.keys} already exists, and is not replaced`)
  const follow = (total: number) =>
    new Progress({ done: 'written', unit: 'rows', total, leaves: 'no file was written' })
  const details = await backUpDirectory({ path: file, place, follow, ...at })
  // After the directory: keys are added before they sign, so every token of the backup has its key here.
  const keys =
    options.keys === undefined
      ? undefined
      : await (await import('../../authority/keys-backup.ts')).backUpKeys(options.keys, data, at)
  const keyIds = keys?.map(({ keyId }) => keyId)
  if (options.json) printJson({ file, ...details, ...(keys && { keys: options.keys, key_ids: keyIds }) })
  else
    print(
      [
        `${file}: ${described(details)}`,
        ...(keys ? [`${options.keys}: ${keys.length} signing keys and the pepper; keep it elsewhere`] : []),
      ].join('\n'),
    )
}

function described({ last_change, rows, schema_version }: BackupDetails): string {
  const { accounts = 0, users = 0, revocations = 0 } = rows
  const counts = [counted(accounts, 'account'), counted(users, 'user'), counted(revocations, 'revocation')]
  return `change ${last_change} of a directory of version ${schema_version}, with ${counts.join(', ')}`
}

export async function restoreFiles(
  file: string | undefined,
  options: RestoreOptions,
  terminal: Terminal,
): Promise<void> {
  const { differenceTo, installKeys, readBackedUpKeys } = await import('../../authority/keys-backup.ts')
  const { newKeys = false, replace = false, pepperOnly = false } = options
  if (file === undefined && options.keys === undefined)
    throw usageError('expected the file of a backup, or --keys')
  if (options.keys !== undefined && newKeys) throw usageError('--new-keys: expected no --keys with it')
  if (options.keys === undefined && pepperOnly) throw usageError('--pepper-only: expected --keys with it')
  if (file === undefined && (options.endTokens || options.endStaticTokens))
    throw usageError('--end-tokens and --end-static-tokens: expected the file of a backup with them')
  const of = await placeOf(options)
  const { data } = of
  const keys = options.keys === undefined ? undefined : await readBackedUpKeys(options.keys)
  if (options.check) return checkFiles(file, options)
  expectRestorable(data)
  const installation = { folder: data, replace, pepperOnly }
  const difference = keys && differenceTo(keys, installation)
  if (file !== undefined) expectKeys(data, newKeys || (keys !== undefined && !pepperOnly))
  await confirm(terminal, options, () =>
    replace
      ? `Replace ${file === undefined ? 'the keys' : 'the directory'} by ${file ?? options.keys}? Changes after the backup are undone.`
      : undefined,
  )
  const restored =
    file === undefined ? undefined : await restoreInto(of, file, options, keys?.pepperFingerprint)
  if (keys !== undefined) installKeys(keys, installation)
  if (newKeys) {
    const file = join(data, SIGNING_KEYS_FILE)
    ;(await import('../../authority/keys.ts')).createKeys(file, Date.now())
    giveToOwnerOf(data, file)
  }
  printRestored(file, options, restored, difference)
}

async function checkFiles(file: string | undefined, { json, keys }: RestoreOptions): Promise<void> {
  const { readBackup } = await import('../../directory/backup/restore.ts')
  const details = file === undefined ? undefined : await readBackup(file)
  if (json) printJson({ file, ...details, keys })
  else
    print(
      [
        ...(details ? [`${file}: intact; ${described(details)}, of ${details.created_at}`] : []),
        ...(keys === undefined ? [] : [`${keys}: whole`]),
      ].join('\n'),
    )
}

async function restoreInto(
  { data, place, knownFolder }: Awaited<ReturnType<typeof placeOf>>,
  file: string,
  { replace = false, endTokens = false, endStaticTokens = false }: RestoreOptions,
  pepper: string | undefined,
): Promise<Restored> {
  const { restoreDirectory } = await import('../../directory/backup/restore.ts')
  const { pepperFingerprintIn } = await import('../../authority/keys-backup.ts')
  const { knownIn } = await import('../../directory/feed/known-position.ts')
  return restoreDirectory({
    path: file,
    place,
    folder: data,
    known: place.shared && knownIn(knownFolder),
    replace,
    endTokens,
    endStaticTokens,
    actor: commandLine().name,
    // Without a pepper the next start makes one, so no static token is recognised.
    pepper: pepper ?? pepperFingerprintIn(data) ?? '',
    nowMs: Date.now(),
    follow: (total) => new Progress({ done: 'loaded', unit: 'rows', total, leaves: 'nothing was changed' }),
  })
}

function printRestored(
  file: string | undefined,
  { json, endTokens = false, newKeys = false, keys }: RestoreOptions,
  restored: Restored | undefined,
  difference: KeyDifference | undefined,
): void {
  const warnings = [
    ...(restored === undefined ? [] : warningsOf(restored, endTokens || newKeys)),
    ...warningsOfKeys(difference),
  ]
  if (json) {
    const { details, change, replaced, keptAs, staticTokensEnded } = restored ?? {}
    const ended = { static_tokens_ended: staticTokensEnded }
    printJson({ file, ...details, change, replaced, kept_as: keptAs, ...ended, keys, warnings })
  } else
    print(
      [
        ...(restored === undefined ? [] : describeRestored(`${file}`, described(restored.details), restored)),
        ...(keys === undefined ? [] : [`${keys}: restored; restart the sidecar`]),
        ...warnings.map((warning) => `${paint('yellow', 'warning:')} ${warning}`),
      ].join('\n'),
    )
}

/** @throws CommandError where every token of the restored directory would be denied without a word */
function expectKeys(data: string, given: boolean): void {
  if (given || existsSync(join(data, SIGNING_KEYS_FILE))) return
  throw new CommandError(
    'FAILED_PRECONDITION',
    `${data}: expected ${SIGNING_KEYS_FILE}, without which every IAM token is denied; use --keys FILE, or --new-keys to begin with new keys`,
  )
}
