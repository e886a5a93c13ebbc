/** `portcullis backup` and `restore`: the directory as one file, and its keys as another. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { commandLine } from '../authority/actor.ts'
import { DIRECTORY_FILE, expectDataFolder, SIGNING_KEYS_FILE } from '../base/data-folder.ts'
import { packageVersion } from '../base/package.ts'
import { type Config, sharedDirectoryOf } from '../config/config.ts'
import type { BackupDetails } from '../directory/backup/content.ts'
import { addConfirmOption, type ConfirmOptions, confirm } from './confirm.ts'
import { CommandError, usageError } from './errors.ts'
import { addHelpParts } from './help.ts'
import { print, printJson } from './output.ts'
import { describeRestored, warningsOf } from './restored.ts'
import type { Terminal } from './terminal.ts'

/** Longest time of a statement on PostgreSQL, in milliseconds: it may read or write millions of rows. */
const STATEMENT_MS = 600_000

interface BackupOptions {
  readonly data?: string
  readonly config?: string
  readonly keys?: string
  readonly json?: boolean
}

interface RestoreOptions extends BackupOptions, ConfirmOptions {
  readonly newKeys?: boolean
  readonly replace?: boolean
  readonly endTokens?: boolean
  readonly check?: boolean
}

export function addBackupCommands(program: Command, terminal: Terminal): void {
  const backup = withPlace(program.command('backup'))
    .description('Back the directory up to a new file. A sidecar that serves goes on, and is not slowed.')
    .argument('<file>', 'the new file')
    .option('--keys <file>', 'a second new file for the signing keys and the pepper: keep it apart')
  addHelpParts(backup, {
    examples: ['backup directory.backup', 'backup directory.backup --keys keys.backup --json'],
    notes: [
      'The file has password hashes. With the second file, whoever has both can sign tokens.',
      'The configuration, the matrix, certificates and the files of the audit archive are files already: copy them yourself.',
    ],
  }).action(backUp)
  const restore = withPlace(program.command('restore'))
    .description(
      'Put a backup in the place of the directory, at once. Stop the sidecars of a data folder first.',
    )
    .argument('<file>', 'file that `portcullis backup` wrote')
    .option('--keys <file>', 'file with the keys that `portcullis backup --keys` wrote')
    .option('--new-keys', 'make new keys where the folder has none: every token is denied')
    .option('--replace', 'replace a directory that has records, and keys that are others')
    .option('--end-tokens', 'revoke every IAM token, and not only those that were issued after the backup')
    .option('--check', 'verify the files and change nothing')
  addHelpParts(addConfirmOption(restore), {
    examples: [
      'restore directory.backup',
      'restore directory.backup --keys keys.backup --replace',
      'restore directory.backup --check',
    ],
    notes: [
      'IAM tokens that were issued after the backup are revoked for good. Everything else that was changed after it is undone.',
      'Revocations of the directory that is replaced are kept, where it can be read.',
    ],
  }).action((file: string, options: RestoreOptions) => restoreBackup(file, options, terminal))
}

function withPlace(command: Command): Command {
  return command
    .option('--data <dir>', 'data folder of the embedded authority (default: as the configuration says)')
    .option('--config <file>', 'configuration file of the sidecar, which may name a shared directory')
    .option('--json', 'print the result, or the error, as one line of JSON')
}

async function placeOf(options: BackupOptions) {
  const { readConfig } = await import('../config/config.ts')
  const config: Config = readConfig({
    file: options.config,
    environment: process.env,
    flags: { data: options.data },
  })
  const shared = sharedDirectoryOf(config)
  return {
    data: config.data,
    place: {
      file: join(config.data, DIRECTORY_FILE),
      shared: shared && { ...shared, statementMs: STATEMENT_MS },
    },
  }
}

async function backUp(file: string, options: BackupOptions): Promise<void> {
  const { backUpDirectory } = await import('../directory/backup/write.ts')
  const { data, place } = await placeOf(options)
  if (place.shared === undefined || options.keys !== undefined) expectDataFolder(data)
  const at = { version: packageVersion, nowMs: Date.now() }
  if (options.keys === file) throw usageError('--keys: expected another file than that of the directory')
  if (options.keys !== undefined && existsSync(options.keys))
    throw new Error(`${options.keys} exists, and is not replaced`)
  const details = await backUpDirectory({ path: file, place, ...at })
  // After the directory: keys are added before they sign, so every token of the backup has its key here.
  const keys =
    options.keys === undefined
      ? undefined
      : await (await import('../authority/keys-backup.ts')).backUpKeys(options.keys, data, at)
  const keyIds = keys?.map(({ keyId }) => keyId)
  if (options.json) printJson({ file, ...details, ...(keys && { keys: options.keys, key_ids: keyIds }) })
  else
    print(
      [
        `${file}: ${described(details)}`,
        ...(keys ? [`${options.keys}: ${keys.length} signing keys and the pepper; keep it apart`] : []),
      ].join('\n'),
    )
}

function described({ last_change, rows, schema_version }: BackupDetails): string {
  const { accounts = 0, users = 0, revocations = 0 } = rows
  return `change ${last_change} of a directory of version ${schema_version}, with ${accounts} accounts, ${users} users, ${revocations} revocations`
}

async function restoreBackup(file: string, options: RestoreOptions, terminal: Terminal): Promise<void> {
  const { readBackup, restoreDirectory } = await import('../directory/backup/restore.ts')
  const { differenceTo, installKeys, pepperFingerprintIn, readBackedUpKeys } = await import(
    '../authority/keys-backup.ts'
  )
  const { json = false, newKeys = false, replace = false, endTokens = false } = options
  if (options.keys !== undefined && newKeys) throw usageError('--new-keys: expected no --keys with it')
  const { data, place } = await placeOf(options)
  const keys = options.keys === undefined ? undefined : await readBackedUpKeys(options.keys)
  if (options.check) {
    const details = await readBackup(file)
    if (json) printJson({ file, ...details })
    else print(`${file}: whole; ${described(details)}, of ${details.created_at}`)
    return
  }
  expectKeys(data, keys !== undefined || newKeys)
  const difference = keys && differenceTo(keys, data, replace)
  await confirm(terminal, options, () =>
    replace ? `Replace the directory by ${file}? What was changed after the backup is undone.` : undefined,
  )
  const restored = await restoreDirectory({
    path: file,
    place,
    folder: data,
    replace,
    endTokens,
    actor: commandLine().name,
    pepper: keys?.pepperFingerprint ?? pepperFingerprintIn(data),
    nowMs: Date.now(),
  })
  if (keys !== undefined) installKeys(keys, data)
  if (newKeys) (await import('../authority/keys.ts')).createKeys(join(data, SIGNING_KEYS_FILE), Date.now())
  const warnings = warningsOf(restored, { endTokens, newKeys, keys: difference })
  const { details, change, replaced, keptAs } = restored
  if (json) printJson({ file, ...details, change, replaced, kept_as: keptAs, warnings })
  else print(describeRestored(`${file}: restored ${described(details)}`, restored, warnings))
}

/** @throws CommandError where every token of the restored directory would be denied without a word */
function expectKeys(data: string, given: boolean): void {
  if (given || existsSync(join(data, SIGNING_KEYS_FILE))) return
  throw new CommandError(
    'FAILED_PRECONDITION',
    `${data}: expected ${SIGNING_KEYS_FILE}, without which every IAM token is denied; give --keys FILE, or --new-keys to begin with new ones`,
  )
}
