/** `portcullis account`, `project`, `service-user` …: the calls of `DirectoryService`, from the rows of `administration-rows.ts`. */
import type { Command } from 'commander'
import { columns } from '../base/text-table.ts'
import type { Client } from '../client/index.ts'
import type { Scope } from '../gen/portcullis/v1/decision.ts'
import type { Permission, PermissionScope } from '../gen/portcullis/v1/directory.ts'
import { type AdministrationOptions, ROWS } from './administration-rows.ts'
import {
  addConnectionOptions,
  collect,
  DATA_DEFAULT,
  type FieldsShown,
  jsonOf,
  print,
  printJson,
} from './output.ts'

/** An answer with the keys of the contract: the same for people and for programs. */
type Shown = Readonly<Record<string, unknown>>

export function addAdministrationCommands(program: Command): void {
  const groups = new Map<string, Command>()
  for (const { group, verb, description, arguments: names, flags = [], run } of ROWS) {
    const parent = groups.get(group) ?? program.command(group).description(GROUPS[group] ?? '')
    groups.set(group, parent)
    const command = parent.command(verb).description(description)
    for (const name of names) command.argument(name)
    if (flags.includes('permission'))
      command.option('--permission <permission>', 'account, or project:NAME; repeat for several', collect)
    if (flags.includes('role'))
      command.option('--role <role>', 'a role, for example iam.admin; repeat for several', collect)
    if (flags.includes('owner'))
      command.option('--owner', 'the user owns the account').option('--no-owner', 'the user does not')
    if (flags.includes('project'))
      command.option('--project <project>', 'a token for this project; without it, for the account')
    if (flags.includes('none')) command.option('--none', 'lift the restriction')
    command
      .option('--data <dir>', `data folder whose administrator token is used ${DATA_DEFAULT}`)
      .option('--caller-token-file <file>', 'file with the caller token that is used')
      .option('--iam-token-file <file>', "file with a control panel user's IAM token that is used")
    addConnectionOptions(command).action(async (...given: unknown[]) => {
      const options = command.opts<AdministrationOptions>()
      const values = (given.slice(0, names.length) as (string | string[] | undefined)[]).flatMap(
        (value) => value ?? [],
      )
      const { asking } = await import('./connection.ts')
      const answer = await asking({ ...options, ...(await identityOf(options)) }, (client: Client) =>
        run(client.directory, values, options),
      )
      if (options.json) printJson(answer, SHOWN)
      else print(describe(jsonOf(answer, SHOWN) as Shown))
    })
  }
}

const GROUPS: Readonly<Record<string, string>> = {
  account: 'Administer accounts.',
  project: 'Administer projects.',
  'service-user': 'Administer service users: machines that get IAM tokens.',
  'control-panel-user': 'Administer control panel users: people.',
  'static-token': 'Administer static tokens.',
  'address-restriction': 'Restrict an account to address ranges.',
  revocation: 'Look at revocations.',
  audit: 'Look at the audit trail.',
}

async function identityOf(
  options: AdministrationOptions,
): Promise<{ callerToken?: string; iamToken?: string }> {
  const { readCallerToken, readSecretLine } = await import('./connection.ts')
  const { iamTokenFile, callerTokenFile } = options
  if (iamTokenFile === undefined)
    return { callerToken: readCallerToken(options, '--data, --caller-token-file or --iam-token-file') }
  if (callerTokenFile !== undefined)
    throw new Error('--iam-token-file: expected no --caller-token-file with it')
  // As `issue` prints it, or bare.
  return { iamToken: readSecretLine('--iam-token-file', iamTokenFile).replace(/^X-Auth-Token:\s*/i, '') }
}

/** The fields of the contract that are shown otherwise than they travel. */
const SHOWN: FieldsShown = {
  permissions: (permissions: readonly Permission[]) => permissions.map(permissionShown),
  // No project is the account's scope, as `issue` shows it.
  scope: (scope: Scope | undefined) => (scope?.project === '' ? { account: scope.account } : scope),
  // Data, not a message: its keys are what they are.
  details: (details: unknown) => details,
}

/** As a directory file has it: `{ scope: account }`, `{ scope: projects, projects: [alpha] }`. */
function permissionShown({ scope, projects }: Permission): object {
  // A newer sidecar may have a scope that this program does not know.
  const word = SCOPE_WORDS[scope] ?? SCOPE_WORDS[0]
  return projects.length === 0 ? { scope: word } : { scope: word, projects }
}

const SCOPE_WORDS: Readonly<Record<PermissionScope, string>> = {
  [-1]: 'unspecified',
  0: 'unspecified',
  1: 'account',
  2: 'projects',
}

/** A list as a table, a record as its fields. */
function describe(answer: Shown): string {
  const [[name, value] = ['', undefined], ...rest] = Object.entries(answer)
  if (Array.isArray(value) && rest.length === 0) {
    if (typeof value[0] !== 'object') return value.length === 0 ? `no ${name}` : value.join('\n')
    const header = Object.keys(value[0])
    return columns([header, ...value.map((record) => header.map((key) => cellOf(record[key])))])
  }
  const fields = Object.entries(answer).flatMap(([key, field]) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.entries(field)
      : [[key, field] as const],
  )
  return fields.length === 0 ? 'done' : columns(fields.map(([key, field]) => [String(key), cellOf(field)]))
}

function cellOf(value: unknown): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return value.map(cellOf).join(', ')
  if (typeof value === 'object' && value !== null) {
    const { scope, projects } = value as { scope?: string; projects?: string[] }
    if (scope === 'account') return 'Account'
    if (scope === 'projects' && projects !== undefined) return `Projects: ${projects.join(', ')}`
    return JSON.stringify(value)
  }
  return String(value)
}
