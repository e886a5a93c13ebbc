/** `portcullis profile`: the profiles of a configuration, and whether their logins work. */
import type { Command } from 'commander'
import { columns } from '../../base/text-table.ts'
import type { Config } from '../../config/config.ts'
import { EXIT, usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { configOption, print, printJson } from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'

interface ProfileOptions {
  readonly config?: string
  readonly project?: string
  readonly json?: boolean
}

export function addProfileCommand(program: Command): void {
  const profile = addHelpParts(
    program.command('profile').description('Show and try the profiles of a configuration.'),
    { examples: ['profile list --config portcullis.yaml', 'profile test nightly --config portcullis.yaml'] },
  )
  const list = addConfigOption(
    profile
      .command('list')
      .description('List the profiles, and who may use them. Shows and reads no secret.'),
  ).option('--json', 'print the profiles, or the error, as one line of JSON')
  addHelpParts(list, {
    examples: ['profile list --config portcullis.yaml', 'profile list --config portcullis.yaml --json'],
  }).action(listProfiles)
  const test = addConfigOption(
    profile
      .command('test')
      .description('Log in as a profile does, say which step fails, and revoke the token afterwards.')
      .argument('<name>', 'name of the profile'),
  )
    .option(
      '--project <project>',
      'log in for this project (default: the account, or the first of `projects`)',
    )
    .option('--json', 'print the steps, or the error, as one line of JSON')
  addHelpParts(test, {
    examples: [
      'profile test nightly --config portcullis.yaml',
      'profile test nightly --config portcullis.yaml --project web',
    ],
    exitCodes: '0 it works, 1 a step failed, 2 the configuration cannot be used',
    notes: ['No sidecar is needed. A running one may use the same data folder at the same time.'],
  }).action(testProfile)
}

function addConfigOption(command: Command): Command {
  return command.addOption(configOption('configuration file, YAML or JSON, as `serve` takes it'))
}

async function listProfiles({ config: file, json }: ProfileOptions): Promise<void> {
  const config = await configOf(file)
  const profiles = Object.entries(config.profiles ?? {}).map(
    ([name, { upstream, account, user_name: userName, projects, ...keys }]) => ({
      name,
      upstream,
      account,
      userName,
      applicationCredential: keys.application_credential_id ?? keys.application_credential_name,
      projects,
      callers: (config.callers ?? [])
        .filter((caller) => caller.profiles?.includes(name))
        .map((caller) => caller.name),
    }),
  )
  if (json) printJson({ profiles })
  else if (profiles.length === 0) print('no profiles')
  else
    print(
      columns([
        ['profile', 'upstream', 'account', 'user', 'projects', 'callers'],
        ...profiles.map(({ name, upstream = 'the directory', account, projects, callers, ...login }) => [
          ...[name, upstream, account, userOf(login), projects?.join(', ') ?? 'any'],
          callers.length > 0 ? callers.join(', ') : 'only the administrator',
        ]),
      ]),
    )
}

function userOf({
  userName,
  applicationCredential,
}: Readonly<Record<'userName' | 'applicationCredential', string | undefined>>): string {
  return [userName, applicationCredential && `application credential ${applicationCredential}`]
    .filter((part) => part !== undefined)
    .join(', ')
}

async function testProfile(
  name: string,
  { config: file, project, json = false }: ProfileOptions,
): Promise<void> {
  const config = await configOf(file)
  const known = Object.keys(config.profiles ?? {})
  if (!known.includes(name))
    throw usageError(`<name>: expected the name of a profile: ${known.join(', ') || 'there is none'}`)
  const { tryProfile } = await import('./try-profile.ts')
  const steps = await tryProfile(config, name, project, json)
  const works = steps.every(({ ok }) => ok)
  if (json) printJson({ profile: name, works, steps })
  else
    print(
      columns(
        steps.map(({ step, ok, says }) => [paint(ok ? 'green' : 'red', ok ? 'ok' : 'failed'), step, says]),
      ),
    )
  process.exitCode = works ? EXIT.done : EXIT.denied
}

/** As `serve` reads it. */
async function configOf(file: string | undefined): Promise<Config> {
  if (file === undefined) throw usageError('--config: expected the configuration file with the profiles')
  const { readConfig } = await import('../../config/config.ts')
  return readConfig({ file, environment: process.env })
}
