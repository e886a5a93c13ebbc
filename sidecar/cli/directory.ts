/** `portcullis directory`: brings the embedded directory to what a file says, shows it, replaces passwords. */
import type { Command } from 'commander'
import { commandLine } from '../authority/actor.ts'
import type { Administration } from '../authority/administration/administration.ts'
import type { Applied, DirectoryFile } from '../authority/administration/directory-file.ts'
import type { AccountListing } from '../authority/administration/directory-listing.ts'
import type { NewSecret } from '../authority/administration/secrets.ts'
import { expectDataFolder } from '../base/data-folder.ts'
import { columns } from '../base/text-table.ts'
import { print, printJson } from './output.ts'

interface DirectoryOptions {
  readonly data?: string
  readonly matrix?: string
  readonly config?: string
  readonly json?: boolean
}

export function addDirectoryCommand(program: Command): void {
  const directory = program
    .command('directory')
    .description(
      'Administer the directory of the embedded authority: a running sidecar on the same data folder sees every change at once.',
    )
  withOptions(directory.command('apply'))
    .description(
      'Create what the file names and is not there yet, and set permissions. New secrets are shown once.',
    )
    .argument('<file>', 'directory file, YAML or JSON')
    .action(async (file: string, options: DirectoryOptions) => {
      const wanted = await readDirectoryFile(file)
      const applied = await administering(options, (administration) =>
        administration.apply(commandLine(), wanted),
      )
      if (options.json) printJson({ ...applied, secrets: applied.secrets.map(revealed) })
      else print(describeApplied(applied))
    })
  withOptions(directory.command('show'))
    .description('Show accounts, projects, users, permissions and static tokens. Never a secret.')
    .action(async (options: DirectoryOptions) => {
      const accounts = await administering({ ...options, there: true }, (administration) =>
        administration.listing(),
      )
      if (options.json) printJson({ accounts })
      else print(columns(accounts.flatMap(accountRows)))
    })
  withOptions(directory.command('replace-password'))
    .description("Give a service user a new password, shown once; the user's tokens no longer stand.")
    .argument('<account>', 'account number')
    .argument('<user>', 'name of the service user')
    .action(async (account: string, user: string, options: DirectoryOptions) => {
      const secret = await administering({ ...options, there: true }, (administration) =>
        administration.users.replacePassword(commandLine(), account, user),
      )
      if (options.json) printJson(revealed(secret))
      else print(describeSecrets([secret]))
    })
}

function withOptions(command: Command): Command {
  return command
    .option('--data <dir>', 'data folder of the embedded authority (default: as the configuration says)')
    .option('--config <file>', 'configuration file of the sidecar, which may name a shared directory')
    .option('--matrix <file>', 'matrix file (default: the shipped matrix)')
    .option('--json', 'print the result as one line of JSON')
}

async function administering<T>(
  options: DirectoryOptions & {
    /** Whether the data folder has to be there already. */ readonly there?: boolean
  },
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  const { readConfig } = await import('../config/config.ts')
  const { administerDirectory } = await import('./administer-directory.ts')
  // As the sidecar reads it, so that both reach the same directory.
  const config = readConfig({
    file: options.config,
    environment: process.env,
    flags: { data: options.data, matrix: options.matrix },
  })
  if (options.there) expectDataFolder(config.data)
  return administerDirectory(config, work)
}

async function readDirectoryFile(path: string): Promise<DirectoryFile> {
  const { readTextFile } = await import('../config/text-file.ts')
  const { problemsBy, problemText } = await import('../../matrix/document/index.ts')
  const { validate } = await import('../config/gen/directory.ts')
  const reading = readTextFile(path)
  const problems = reading.ok ? problemsBy(validate, reading.value) : reading.problems
  if (!reading.ok || problems.length > 0)
    throw new Error(problems.map((problem) => `${path}: ${problemText(problem)}`).join('\n'))
  return reading.value as DirectoryFile
}

function describeApplied({ created, changed, secrets }: Applied): string {
  const counts = Object.entries(created).map(([what, count]) => {
    const words = what.replaceAll('_', ' ')
    return `${count} ${count === 1 ? words.replace(/s$/, '') : words}`
  })
  const changes = changed.map(({ account, user, what }) => [account, user, `other ${what.join(', ')}`])
  return [
    `created ${counts.join(', ')}`,
    ...(changes.length > 0
      ? [`changed; tokens that rest on what is no longer so have ended:\n${columns(changes)}`]
      : []),
    ...(secrets.length > 0 ? [describeSecrets(secrets)] : []),
  ].join('\n')
}

function describeSecrets(secrets: readonly NewSecret[]): string {
  const rows = secrets.map(({ account, user, type, name, value }) => [
    account,
    user,
    type === 'password' ? 'password' : `static token ${name}`,
    value.reveal(),
  ])
  return `new secrets, shown this once:\n${columns(rows)}`
}

/** A new secret as it is shown, this once. */
function revealed({ value, ...secret }: NewSecret): object {
  return { ...secret, value: value.reveal() }
}

function accountRows({ account, projects, serviceUsers, controlPanelUsers }: AccountListing): string[][] {
  return [
    [account, 'projects', projects.join(', ')],
    ...serviceUsers.map(({ name, enabled, permissions }) => [
      account,
      'service user',
      name,
      permissions
        .map((permission) =>
          permission.scope === 'account' ? 'Account' : `Projects: ${permission.projects.join(', ')}`,
        )
        .join('; '),
      enabled ? '' : 'disabled',
    ]),
    ...controlPanelUsers.map(({ name, enabled, staticTokens }) => [
      account,
      'control panel user',
      name,
      staticTokens.map((token) => `${token.name}${token.revoked ? ' (revoked)' : ''}`).join(', '),
      enabled ? '' : 'disabled',
    ]),
  ]
}
