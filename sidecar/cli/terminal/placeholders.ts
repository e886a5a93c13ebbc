/**
 * What options and arguments take, by the name of their placeholder: `--api <api>` takes the id of an API.
 * Messages, completion and the examples of the help read this one table.
 */
import type { Command } from 'commander'
import { usageError } from './errors.ts'

/** Name of the hidden command that the scripts for completion run. */
export const COMPLETE = '__complete'

/** Where the shell finds what can stand in a place. */
export type Source = 'apis' | 'token kinds' | 'files' | 'folders' | readonly string[]

export interface Placeholder {
  /** What is expected, with an article. */
  readonly expected: string
  /** A value for examples. */
  readonly example: string
  readonly source?: Source
}

const PLACEHOLDERS: Readonly<Record<string, Placeholder>> = {
  account: { expected: 'the number of an account', example: '234567' },
  addr: { expected: 'an address', example: '127.0.0.1:50051' },
  api: { expected: 'the id of an API', example: 'balance', source: 'apis' },
  dir: { expected: 'the path of a folder', example: './portcullis-data', source: 'folders' },
  file: { expected: 'the path of a file', example: 'matrix.json', source: 'files' },
  header: { expected: "'NAME: VALUE', or @FILE with one a line", example: '@token.txt' },
  id: { expected: 'the id of a token', example: 'q9Zk3vY0T1uB7xw2LmN4Rg' },
  ip: { expected: 'an IPv4 or IPv6 address', example: '10.1.2.3' },
  kind: { expected: 'the id of a token kind', example: 'static_token', source: 'token kinds' },
  method: {
    expected: 'a method of HTTP, for example GET',
    example: 'GET',
    source: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  },
  ms: { expected: 'a time in milliseconds', example: '5000' },
  n: { expected: 'a whole number', example: '2' },
  name: { expected: 'a name', example: 'alpha' },
  page: { expected: 'the URL of the server with the page', example: 'https://panel.example' },
  permission: {
    expected: 'account or project:NAME',
    example: 'project:alpha',
    source: ['account', 'project:'],
  },
  project: { expected: 'the name of a project', example: 'alpha' },
  range: {
    expected: 'an IPv4 or IPv6 address or range, for example 10.0.0.0/8',
    example: '10.0.0.0/8',
  },
  role: {
    expected: 'the name of a role, for example iam.admin',
    example: 'iam.admin',
    source: ['iam.admin'],
  },
  session: { expected: 'the id of a session', example: 'q9Zk3vY0T1uB7xw2LmN4Rg' },
  shell: { expected: 'bash, zsh or fish', example: 'bash' },
  url: {
    expected: 'a URL, or a path with its query',
    example: 'https://api.example.com/billing/',
  },
  user: { expected: 'the name of a user', example: 'olga' },
}

/**
 * The placeholder of an option's flags or of an argument.
 *
 * @param text `--api <api>`, `<api...>`, or the name alone
 */
export function placeholderOf(text: string): Placeholder | undefined {
  const name = /[<[](\w+)/.exec(text)?.[1] ?? text
  return Object.hasOwn(PLACEHOLDERS, name) ? PLACEHOLDERS[name] : undefined
}

/**
 * Refuses empty values. `--project "$PROJECT"` with a variable that is not set would otherwise be a different
 * command, often one that reaches further.
 *
 * @throws CommandError that names the option or the argument
 */
export function refuseEmptyValues(command: Command): void {
  for (const option of command.options)
    if ([command.getOptionValue(option.attributeName())].flat().includes(''))
      throw usageError(`${option.long}: expected ${expectedOf(option.flags)}`)
  for (const [index, argument] of command.registeredArguments.entries())
    if ([command.processedArgs[index]].flat().includes(''))
      throw usageError(`${argument.name()}: expected ${expectedOf(argument.name())}`)
}

function expectedOf(text: string): string {
  return placeholderOf(text)?.expected ?? 'a value that is not empty'
}
