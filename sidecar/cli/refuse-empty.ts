/** What was given to a command: nothing of it may be empty. */
import type { Command } from 'commander'

/**
 * Refuses empty values: from a variable that is not set (`--project "$PROJECT"`) the command would be another one,
 * often with wider reach.
 *
 * @throws Error naming the option or the argument
 */
export function refuseEmpty(command: Command): void {
  for (const option of command.options)
    if ([command.getOptionValue(option.attributeName())].flat().includes(''))
      throw new Error(`${option.long}: expected ${expectedOf(option.flags)}`)
  for (const [index, argument] of command.registeredArguments.entries())
    if ([command.processedArgs[index]].flat().includes(''))
      throw new Error(`${argument.name()}: expected ${expectedOf(argument.name())}`)
}

/** By the name of the placeholder. @param text `--api <api>`, or the name alone */
function expectedOf(text: string): string {
  const name = /<(\w+)>/.exec(text)?.[1] ?? text
  return EXPECTED[name] ?? 'something, not an empty text'
}

const EXPECTED: Readonly<Record<string, string>> = {
  account: 'the number of an account',
  addr: 'an address',
  api: 'the id of an api',
  dir: 'the path of a folder',
  file: 'the path of a file',
  header: "'NAME: VALUE', or @FILE with one a line",
  id: 'the id of a token',
  ip: 'an IPv4 or IPv6 address',
  kind: 'the id of a token kind',
  name: 'a name',
  permission: 'account or project:NAME',
  project: 'the name of a project',
  range: 'an IPv4 or IPv6 address or range, for example 10.0.0.0/8',
  role: 'the name of a role, for example iam.admin',
  user: 'the name of a user',
}
