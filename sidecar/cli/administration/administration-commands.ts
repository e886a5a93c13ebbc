/**
 * `portcullis account`, `project`, `service-user` …: the calls of `DirectoryService`, from the rows of
 * `administration-rows.ts`.
 */
import type { Command } from 'commander'
import { addConfirmOption, confirm } from '../terminal/confirm.ts'
import { addHelpParts } from '../terminal/help.ts'
import { addConnectionOptions, addIdentityOptions } from '../terminal/output.ts'
import { placeholderOf } from '../terminal/placeholders.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type AdministrationOptions, ROWS, type Row } from './administration-rows.ts'
import { addAuditExportCommand } from './audit-export.ts'
import { isListed } from './listed-pages.ts'

export function addAdministrationCommands(program: Command, terminal: Terminal): void {
  const groups = new Map<string, Command>()
  for (const row of ROWS) {
    const { group, verb, description, arguments: names, options, question } = row
    let parent = groups.get(group)
    if (parent === undefined) {
      parent = program.command(group).description(GROUPS[group]?.description ?? '')
      addHelpParts(parent, {
        examples: ROWS.filter((each) => each.group === group).map(exampleOf),
        notes: [OPERATOR_NOTE],
      })
      groups.set(group, parent)
    }
    const command = parent.command(verb).description(description)
    for (const name of names) command.argument(name, argumentText(group, name))
    for (const option of options) command.addOption(option)
    addConnectionOptions(addIdentityOptions(command))
    if (question !== undefined) addConfirmOption(command)
    addHelpParts(command, { examples: [exampleOf(row)] })
    command.action((...given: unknown[]) => administer(row, command, given, terminal))
  }
  const audit = groups.get('audit')
  if (audit !== undefined) addAuditExportCommand(audit)
}

/** The meaning of an operator; stated once in the help of each group. */
export const OPERATOR_NOTE =
  "An operator holds a caller token with rights over the directory, for example the data folder's administrator-token."

async function administer(
  { arguments: names, call, question }: Row,
  command: Command,
  given: readonly unknown[],
  terminal: Terminal,
): Promise<void> {
  const options = command.opts<AdministrationOptions>()
  const values = (given.slice(0, names.length) as (string | string[] | undefined)[]).flatMap(
    (value) => value ?? [],
  )
  const { readIdentity, withDirectory } = await import('../sidecar-connection.ts')
  const { printList, printRecords } = await import('./administration-output.ts')
  await withDirectory({ ...options, ...readIdentity(options) }, async (directory) => {
    await confirm(terminal, options, () => question?.(directory, values, options))
    const answer = await call(directory, values, options)
    if (isListed(answer)) await printList(answer, options)
    else printRecords(answer, options)
  })
}

const GROUPS: Readonly<Record<string, { readonly description: string; readonly name?: string }>> = {
  account: { description: 'Manage accounts.' },
  project: { description: 'Manage projects.', name: 'alpha' },
  'service-user': { description: 'Manage service users: machines that get IAM tokens.', name: 'worker' },
  'control-panel-user': { description: 'Manage control panel users: people.', name: 'olga' },
  session: { description: 'Show and end sessions of control panel users.' },
  'application-credential': { description: 'Show and delete application credentials of service users.' },
  'static-token': { description: 'Manage static tokens of control panel users.', name: 'reporting' },
  'address-restriction': { description: 'Restrict the tokens of an account to address ranges.' },
  revocation: { description: 'Show revocations.' },
  audit: { description: 'Show the audit trail.' },
}

/** A command line that does what the row says. */
function exampleOf({ group, verb, arguments: names, example = [] }: Row): string {
  const values = names.map((name) =>
    /name/.test(name) ? (GROUPS[group]?.name ?? '') : (placeholderOf(name)?.example ?? ''),
  )
  return [group, verb, ...values, ...example].join(' ')
}

function argumentText(group: string, name: string): string {
  if (/name/.test(name)) return `name of the ${group.replaceAll('-', ' ')}`
  return /user/.test(name) ? 'name of the control panel user' : (ARGUMENTS[name] ?? '')
}

const ARGUMENTS: Readonly<Record<string, string>> = {
  '<account>': 'account number',
  '[account]': 'account number',
  '<session>': 'id of the session',
  '<id>': 'id of the application credential',
  '<range...>': 'IPv4 or IPv6 addresses or ranges, for example 10.0.0.0/8',
  '[range...]': 'IPv4 or IPv6 addresses or ranges, for example 10.0.0.0/8',
}
