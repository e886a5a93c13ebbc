/**
 * `portcullis migrate`: brings a directory of an earlier version up to date, before a sidecar does it at its
 * start.
 */
import { join } from 'node:path'
import type { Command } from 'commander'
import { DIRECTORY_FILE } from '../../base/data-folder.ts'
import { EXIT } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { configOption, print, printJson } from '../terminal/output.ts'

interface MigrateOptions {
  readonly data?: string
  readonly config?: string
  readonly check?: boolean
  readonly json?: boolean
}

export function addMigrateCommand(program: Command): void {
  const command = program
    .command('migrate')
    .description(
      'Upgrade the directory to the version of this Portcullis. One of a newer version is refused.',
    )
    .option('--data <dir>', 'data folder of the embedded authority (default: as the configuration says)')
    .addOption(configOption('configuration file of the sidecar, which may name a shared directory'))
    .option('--check', 'say which version it has, and change nothing')
    .option('--json', 'print the versions, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: ['migrate --check', 'migrate --config portcullis.yaml --json'],
    exitCodes: '0 up to date, 1 with --check: an upgrade is due, 2 no answer',
    notes: [
      'An upgrade is one transaction, and cannot be taken back: back the directory up first.',
      'Stop sidecars of earlier versions first. They cannot use the upgraded directory.',
    ],
  }).action(migrate)
}

async function migrate(options: MigrateOptions): Promise<void> {
  const { readConfig, sharedDirectoryOf } = await import('../../config/config.ts')
  const { inspectDirectory } = await import('../../directory/inspect.ts')
  const { expectKnownVersion } = await import('../../directory/schema.ts')
  const { nameOf } = await import('../../directory/snapshot.ts')
  const config = readConfig({
    file: options.config,
    environment: process.env,
    flags: { data: options.data },
  })
  const shared = sharedDirectoryOf(config)
  const file = join(config.data, DIRECTORY_FILE)
  // It finds no directory where there is none; opening it would make one.
  const { version, expectedVersion } = await inspectDirectory({ file, shared })
  expectKnownVersion(version, nameOf({ file, shared }))
  const due = version < expectedVersion
  if (due && !options.check) {
    const { openDirectory } = await import('../../directory/open-directory.ts')
    const store = await openDirectory(file, shared, Date.now)
    await store.close()
  }
  if (options.json) printJson({ version: options.check ? version : expectedVersion, was: version })
  else if (!due) print(`version ${version}: up to date`)
  else print(`version ${version} ${options.check ? 'can be upgraded' : 'was upgraded'} to ${expectedVersion}`)
  process.exitCode = due && options.check ? EXIT.denied : EXIT.done
}
