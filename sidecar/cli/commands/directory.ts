/**
 * `portcullis directory`: brings the embedded directory to what a file says, shows it, and replaces
 * passwords.
 */
import { join } from 'node:path'
import type { Command } from 'commander'
import { commandLine } from '../../authority/actor.ts'
import type { Administration } from '../../authority/administration/administration.ts'
import type { Applied, DirectoryFile } from '../../authority/administration/directory-file.ts'
import type { AccountListing, AccountPages } from '../../authority/administration/directory-listing.ts'
import type { NewSecret } from '../../authority/administration/secrets.ts'
import { expectDataFolder } from '../../base/data-folder.ts'
import { columns } from '../../base/text-table.ts'
import type { Config } from '../../config/config.ts'
import type { LeftToRemove } from '../../directory/left-to-remove.ts'
import { type Loss, lossesByFile } from '../administration/losses.ts'
import { addConfirmOption, type ConfirmOptions, confirm } from '../terminal/confirm.ts'
import { CommandError, usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { configOption, counted, jsonText, print, printJson, writePart } from '../terminal/output.ts'
import { Progress } from '../terminal/progress.ts'
import { forTerminal, paint, type Terminal } from '../terminal/terminal.ts'

interface DirectoryOptions extends ConfirmOptions {
  readonly data?: string
  readonly matrix?: string
  readonly config?: string
  readonly json?: boolean
}

export function addDirectoryCommand(program: Command, terminal: Terminal): void {
  const directory = addHelpParts(
    program
      .command('directory')
      .description(
        'Manage the directory in the data folder itself. A running sidecar sees every change at once.',
      ),
    { examples: ['directory apply directory.yaml', 'directory show'] },
  )
  addApplyCommand(directory, terminal)
  const show = withOptions(directory.command('show')).description(
    'Show accounts, projects, users, permissions and static tokens. Never shows a secret.',
  )
  addHelpParts(show, { examples: ['directory show', 'directory show --json'] }).action(
    async (options: DirectoryOptions) => {
      const { accountsIn } = await import('../../authority/administration/directory-listing.ts')
      const { leftToRemove } = await import('../../directory/left-to-remove.ts')
      const { keptMsOf } = await import('../../usecases/retention.ts')
      await administering(options, 'existing', ({ records }, config) => {
        const left = () => leftToRemove(records.queries, Date.now() - keptMsOf(config))
        return options.json
          ? printDirectoryAsJson(accountsIn(records), left)
          : printDirectory(accountsIn(records), left)
      })
    },
  )
  addReplacePasswordCommand(directory, terminal)
  addLostCommand(directory)
}

function addLostCommand(directory: Command): void {
  const lost = directory
    .command('lost')
    .description(
      'Show the changes that this host has made in the last seven days and a shared directory does not have. Changes nothing.',
    )
    .option('--data <dir>', 'data folder of this host (default: as the configuration says)')
    .addOption(configOption('configuration file of the sidecar'))
    .option('--json', 'print the result, or the error, as one line of JSON')
  addHelpParts(lost, { examples: ['directory lost', 'directory lost --json'] }).action(
    async (options: Pick<DirectoryOptions, 'data' | 'config' | 'json'>) => {
      const { knownFolderOf, readConfig, sharedDirectoryOf } = await import('../../config/config.ts')
      const { inspectLosses } = await import('../../directory/inspect.ts')
      const { KNOWN_CHANGE } = await import('../../directory/feed/known-position.ts')
      const config = readConfig({
        file: options.config,
        environment: process.env,
        flags: { data: options.data },
      })
      const shared = sharedDirectoryOf(config)
      if (shared === undefined)
        throw usageError(
          'directory.url: expected a directory in PostgreSQL; a file loses no change of its host',
        )
      const folder = join(knownFolderOf(config), KNOWN_CHANGE)
      const changes = await inspectLosses({ file: '', shared }, folder)
      if (options.json) printJson({ changes })
      else if (changes.length === 0) print('nothing that this host has made is missing')
      else
        print(
          columns(
            changes.map(({ sequence, at, actor, action, account, subject }) => [
              ...[String(sequence), at, action, account, subject, actor],
            ]),
          ),
        )
    },
  )
}

function addApplyCommand(directory: Command, terminal: Terminal): void {
  const apply = withOptions(directory.command('apply'))
    .description(
      'Create what the file names and the directory lacks, and set the permissions of its users. New secrets are shown once.',
    )
    .argument('<file>', 'directory file, YAML or JSON')
  addHelpParts(addConfirmOption(apply), {
    examples: ['directory apply directory.yaml', 'directory apply directory.yaml --yes --json'],
    notes: ['It asks for confirmation where the file takes something away from a user.'],
  }).action(async (file: string, options: DirectoryOptions) => {
    const wanted = await readDirectoryFile(file)
    const { applyFile } = await import('../../authority/administration/directory-file.ts')
    const applied = await administering(options, 'new or existing', async (administration) => {
      const { records } = administration
      await confirm(terminal, options, async () =>
        questionAbout(
          file,
          await lossesByFile(wanted, (account, name, type) => records.user(account, name, type)),
        ),
      )
      // Nothing is changed before all passwords are hashed.
      return applyFile(
        administration,
        commandLine(),
        wanted,
        (total) => new Progress({ done: 'hashed', unit: 'new passwords', total }),
      )
    })
    if (options.json) printJson({ ...applied, secrets: applied.secrets.map(revealed) })
    else print(describeApplied(applied))
  })
}

function addReplacePasswordCommand(directory: Command, terminal: Terminal): void {
  const replace = withOptions(directory.command('replace-password'))
    .description(
      'Replace the password of a service user and show the new one once. The tokens of the user stop working.',
    )
    .argument('<account>', 'account number')
    .argument('<user>', 'name of the service user')
  addHelpParts(addConfirmOption(replace), {
    examples: ['directory replace-password 234567 worker'],
  }).action(async (account: string, user: string, options: DirectoryOptions) => {
    const { run } = await import('../../usecases/administration/run.ts')
    const { password } = await administering(options, 'existing', async (administration) => {
      await confirm(
        terminal,
        options,
        () =>
          `Replace the password of service user ${user} of account ${account}? The tokens of the user stop working.`,
      )
      const request = { account, name: user }
      return run(administration, commandLine(), 'replaceServiceUserPassword', request)
    })
    const secret: NewSecret = { account, user, type: 'password', value: password }
    if (options.json) printJson(revealed(secret))
    else print(describeSecrets([secret]))
  })
}

function withOptions(command: Command): Command {
  return command
    .option('--data <dir>', 'data folder of the embedded authority (default: as the configuration says)')
    .addOption(configOption('configuration file of the sidecar, which may name a shared directory'))
    .option('--matrix <file>', 'matrix file (default: the shipped matrix)')
    .option('--json', 'print the result, or the error, as one line of JSON')
}

/**
 * Opens the directory for as long as `work` takes.
 *
 * @param folder whether the data folder must exist already
 */
async function administering<T>(
  options: DirectoryOptions,
  folder: 'existing' | 'new or existing',
  work: (administration: Administration, config: Config) => Promise<T>,
): Promise<T> {
  const { readConfig } = await import('../../config/config.ts')
  const { administerDirectory } = await import('../administration/administer-directory.ts')
  // The sidecar reads it in the same way, so both reach the same directory.
  const config = readConfig({
    file: options.config,
    environment: process.env,
    flags: { data: options.data, matrix: options.matrix },
  })
  if (folder === 'existing') expectDataFolder(config.data)
  return administerDirectory(config, (administration) => work(administration, config), options.json === true)
}

async function readDirectoryFile(path: string): Promise<DirectoryFile> {
  const { readTextFile } = await import('../../config/text-file.ts')
  const { problemsBy, problemText } = await import('../../../matrix/document/index.ts')
  const { validate } = await import('../../config/gen/directory.ts')
  const reading = readTextFile(path)
  const problems = reading.ok ? problemsBy(validate, reading.value) : reading.problems
  if (!reading.ok || problems.length > 0)
    throw new CommandError(
      'DIRECTORY_FILE_INVALID',
      problems.map((problem) => `${path}: ${problemText(problem)}`).join('\n'),
      problems,
    )
  return reading.value as DirectoryFile
}

/** The question before the file is applied; `undefined` where it takes nothing away. */
function questionAbout(path: string, losses: readonly Loss[]): string | undefined {
  if (losses.length === 0) return undefined
  const rows = losses.map(({ account, user, what }) => ['  ', account, user, what.join(', ')])
  return `${path} takes away from users:\n${columns(rows)}\nTokens based on that stop working. Apply it?`
}

function describeApplied({ created, changed, secrets }: Applied): string {
  const counts = Object.entries(created).map(([what, count]) => {
    const words = what.replaceAll('_', ' ')
    return `${count} ${count === 1 ? words.replace(/s$/, '') : words}`
  })
  const changes = changed.map(({ account, user, what }) => [account, user, `new ${what.join(', ')}`])
  const risen = changed.filter(({ credentialsEnded }) => credentialsEnded)
  return [
    `created ${counts.join(', ')}`,
    ...(changes.length > 0
      ? [`changed; tokens based on removed rights are no longer valid:\n${columns(changes)}`]
      : []),
    ...(risen.length > 0
      ? [
          `rights rose, so what these users logged in with before has ended; people need an invitation, service users a new password:\n${columns(risen.map(({ account, user }) => [account, user]))}`,
        ]
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
  return `${paint('bold', 'new secrets, shown this once:')}\n${columns(rows)}`
}

/** A new secret as it is shown, this once. */
function revealed({ value, ...secret }: NewSecret): object {
  return { ...secret, value: value.reveal() }
}

/** Prints each page of users and projects when it is there. A reader who has gone away has read enough. */
async function printDirectory(
  accounts: AsyncIterable<AccountPages>,
  left: () => Promise<LeftToRemove>,
): Promise<void> {
  const widths = [0, 'control panel user'.length]
  const printRows = (rows: string[][], known = widths) =>
    writePart(`${forTerminal(columns(rows, '  ', known))}\n`)
  for await (const { account, projects, serviceUsers, controlPanelUsers } of accounts) {
    // The names of projects are a long cell, and no column.
    const printProjects = (names: readonly string[]) =>
      printRows([[account, 'projects', names.join(', ')]], widths.slice(0, 2))
    let listed = 0
    for await (const page of projects) {
      listed += page.length
      if (!(await printProjects(page))) return
    }
    if (listed === 0 && !(await printProjects([]))) return
    for await (const page of serviceUsers)
      if (!(await printRows(page.map((user) => serviceUserRow(account, user))))) return
    for await (const page of controlPanelUsers)
      if (!(await printRows(page.map((user) => controlPanelUserRow(account, user))))) return
  }
  for (const line of leftLines(await left())) print(line)
}

function leftLines({ unmarked, due, kept }: LeftToRemove): string[] {
  return [
    { state: 'to mark', ...unmarked },
    { state: 'to remove', ...due },
    { state: 'kept for now', ...kept },
  ].flatMap(({ state, users, projects }) =>
    users + projects === 0
      ? []
      : `left of deletions: ${counted(users, 'user')} and ${counted(projects, 'project')} ${state}`,
  )
}

/** One line, with the names of the contract: the id of a static token is its `token_id`. */
async function printDirectoryAsJson(
  accounts: AsyncIterable<AccountPages>,
  left: () => Promise<LeftToRemove>,
): Promise<void> {
  let before = '{"accounts":['
  for await (const { account, projects, serviceUsers, controlPanelUsers } of accounts) {
    before += `{"account":${jsonText(account)}`
    for (const [key, pages] of [
      ['projects', projects],
      ['service_users', serviceUsers],
      ['control_panel_users', controlPanelUsers],
    ] as const) {
      before += `,"${key}":[`
      for await (const page of pages) {
        const texts = page.map((each) => jsonText(typeof each === 'string' ? each : shown(each)))
        if (!(await writePart(`${before}${texts.join(',')}`))) return
        before = ','
      }
      before = before === ',' ? ']' : `${before}]`
    }
    before += '},'
  }
  await writePart(`${before.replace(/,$/, '')}],"left":${jsonText(await left())}}\n`)
}

function shown(user: Listed<'serviceUsers'> | Listed<'controlPanelUsers'>): object {
  if (!('staticTokens' in user)) return user
  return { ...user, staticTokens: user.staticTokens.map(({ id, ...token }) => ({ tokenId: id, ...token })) }
}

type Listed<List extends 'serviceUsers' | 'controlPanelUsers'> = AccountListing[List][number]

function serviceUserRow(
  account: string,
  { name, enabled, permissions, validator }: Listed<'serviceUsers'>,
): string[] {
  return [
    ...[account, 'service user', name],
    permissions
      .map((permission) =>
        permission.scope === 'account' ? 'Account' : `Projects: ${permission.projects.join(', ')}`,
      )
      .join('; '),
    [...(validator ? ['validator'] : []), ...(enabled ? [] : ['disabled'])].join(', '),
  ]
}

function controlPanelUserRow(
  account: string,
  { name, enabled, staticTokens }: Listed<'controlPanelUsers'>,
): string[] {
  const tokens = staticTokens.map(staticTokenText).join(', ')
  return [account, 'control panel user', name, tokens, enabled ? '' : 'disabled']
}

/** `reporting (…Gk3x)`: by its end, a token that leaked is found among those of all accounts. */
function staticTokenText({ name, lastFour, revoked }: ListedStaticToken): string {
  const facts = [...(lastFour === '' ? [] : [`…${lastFour}`]), ...(revoked ? ['revoked'] : [])]
  return facts.length === 0 ? name : `${name} (${facts.join(', ')})`
}

type ListedStaticToken = Listed<'controlPanelUsers'>['staticTokens'][number]
