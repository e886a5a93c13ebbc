/** `portcullis backup` and `restore`: the directory as one file, and its keys as another. */
import type { Command } from 'commander'
import { addConfirmOption } from '../terminal/confirm.ts'
import { addHelpParts } from '../terminal/help.ts'
import { configOption } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { BackupOptions, RestoreOptions } from './backup-files.ts'

export function addBackupCommands(program: Command, terminal: Terminal): void {
  const backup = withPlace(program.command('backup'))
    .description('Back up the directory to a new file. A running sidecar continues to serve.')
    .argument('<file>', 'the new file')
    .option('--keys <file>', 'a second new file for the signing keys and the pepper: keep it elsewhere')
  addHelpParts(backup, {
    examples: ['backup directory.backup', 'backup directory.backup --keys keys.backup --json'],
    notes: [
      'The file contains password hashes. Both files together are enough to sign tokens.',
      'The configuration, the matrix, certificates and the files of the audit archive are files already: copy them yourself.',
    ],
  }).action(async (file: string, options: BackupOptions) => {
    const { backUp } = await import('./backup-files.ts')
    await backUp(file, options)
  })
  const restore = withPlace(program.command('restore'))
    .description(
      'Replace the directory with a backup, in one step. Stop the sidecars of a data folder first.',
    )
    .argument('[file]', 'file that `portcullis backup` wrote (default: the keys alone)')
    .option('--keys <file>', 'file with the keys that `portcullis backup --keys` wrote')
    .option('--pepper-only', 'restore only the pepper of --keys, and leave the signing keys as they are')
    .option('--new-keys', 'make new keys where the folder has none: every token is denied')
    .option('--replace', 'replace a directory that has records, and keys that differ')
    .option('--end-tokens', 'revoke every IAM token, and not only those that were issued after the backup')
    .option('--end-static-tokens', 'revoke every static token; their users create new ones')
    .option('--check', 'verify the files and change nothing')
  addHelpParts(addConfirmOption(restore), {
    examples: [
      'restore directory.backup',
      'restore directory.backup --keys keys.backup --replace',
      'restore directory.backup --end-tokens --end-static-tokens',
      'restore directory.backup --check',
      'restore --keys keys.backup --pepper-only',
    ],
    notes: [
      'IAM tokens that were issued after the backup are revoked for good. Everything else that was changed after it is undone.',
      'Revocations of the directory that is replaced are kept, where it can be read. Elsewhere, for example on a new machine, what was revoked after the backup is valid again, unless the two options end all tokens.',
    ],
  }).action(async (file: string | undefined, options: RestoreOptions) => {
    const { restoreFiles } = await import('./backup-files.ts')
    await restoreFiles(file, options, terminal)
  })
}

function withPlace(command: Command): Command {
  return command
    .option('--data <dir>', 'data folder of the embedded authority (default: as the configuration says)')
    .addOption(configOption('configuration file of the sidecar, which may name a shared directory'))
    .option('--json', 'print the result, or the error, as one line of JSON')
}
