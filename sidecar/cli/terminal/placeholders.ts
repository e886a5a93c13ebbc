/**
 * The values of options and arguments, by the name of their placeholder: `--api <api>` takes the id of an
 * API. Messages, completion and the examples of the help read this one table.
 */
import type { Command } from 'commander'
import { usageError } from './errors.ts'

/** Name of the hidden command that the scripts for completion run. */
export const COMPLETE = '__complete'

/** Where the shell finds what can stand in a place. */
export type Source = 'apis' | 'token kinds' | 'files' | 'folders' | readonly string[]

export interface Placeholder {
  /** The expected value, with an article. */
  readonly expected: string
  /** A value for examples. */
  readonly example: string
  readonly source?: Source
}

const PLACEHOLDERS: Readonly<Record<string, Placeholder>> = {
  account: { expected: 'the number of an account', example: '234567' },
  addr: { expected: 'an address', example: '127.0.0.1:50051' },
  api: { expected: 'the id of an API', example: 'balance', source: 'apis' },
  conflict: { expected: 'the id of a conflict', example: 'orders-api_key-omission' },
  dir: { expected: 'the path of a folder', example: './portcullis-data', source: 'folders' },
  document: { expected: 'the path of a document', example: 'tokens.md', source: 'files' },
  expression: { expected: 'a query', example: 'contested' },
  file: { expected: 'the path of a file', example: 'matrix.json', source: 'files' },
  fingerprint: {
    expected: 'a fingerprint of 32 hexadecimal digits',
    example: '540cb0c15984aad951276a9680c8feae',
  },
  format: {
    expected: 'text, json, sarif or github',
    example: 'sarif',
    source: ['text', 'json', 'sarif', 'github'],
  },
  header: { expected: "'NAME: VALUE', or @FILE with one a line", example: '@token.txt' },
  heading: { expected: 'the heading of a row or a column', example: 'Notes' },
  holder: { expected: 'the type of a holder', example: 'user' },
  id: { expected: 'the id of a token', example: 'q9Zk3vY0T1uB7xw2LmN4Rg' },
  ip: { expected: 'an IPv4 or IPv6 address', example: '10.1.2.3' },
  json: { expected: 'JSON', example: '{"type":"most","kind":"static_token"}' },
  kind: { expected: 'the id of a token kind', example: 'static_token', source: 'token kinds' },
  level: { expected: 'account or project', example: 'account', source: ['account', 'project'] },
  log: { expected: 'the path of a file or folder', example: 'decisions.log', source: 'files' },
  mark: { expected: 'TEXT=yes, TEXT=no or TEXT=note', example: 'Limited=note' },
  member: { expected: 'a member of a line', example: 'reason' },
  method: {
    expected: 'a method of HTTP, for example GET',
    example: 'GET',
    source: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  },
  ms: { expected: 'a time in milliseconds', example: '5000' },
  n: { expected: 'a whole number', example: '2' },
  name: { expected: 'a name', example: 'alpha' },
  new: { expected: 'a matrix file, or REVISION:PATH of git', example: 'matrix.json', source: 'files' },
  old: { expected: 'a matrix file, or REVISION:PATH of git', example: 'HEAD:matrix.json', source: 'files' },
  note: { expected: 'KIND=TEXT', example: 'api_key=read only' },
  page: { expected: 'the URL of the server with the page', example: 'https://panel.example' },
  place: { expected: 'a place of a token', example: 'Authorization: Bearer' },
  permission: {
    expected: 'account or project:NAME',
    example: 'project:alpha',
    source: ['account', 'project:'],
  },
  prefix: { expected: 'what tokens begin with', example: 'bdg_' },
  project: { expected: 'the name of a project', example: 'alpha' },
  range: {
    expected: 'an IPv4 or IPv6 address or range, for example 10.0.0.0/8',
    example: '10.0.0.0/8',
  },
  reason: { expected: 'a reason of a decision', example: 'CREDENTIAL_REVOKED' },
  role: {
    expected: 'the name of a role, for example iam.admin',
    example: 'iam.admin',
    source: ['iam.admin'],
  },
  scheme: { expected: 'a scheme of authentication', example: 'Bearer' },
  section: { expected: 'a section of the source', example: 'page 2' },
  session: { expected: 'the id of a session', example: 'q9Zk3vY0T1uB7xw2LmN4Rg' },
  shell: { expected: 'bash, zsh or fish', example: 'bash' },
  side: {
    expected: 'a side',
    example: 'columns',
    source: ['columns', 'rows', 'table', 'prose'],
  },
  table: { expected: 'the number of a table, or the heading above it', example: '2' },
  text: { expected: 'a text', example: 'the table is newer' },
  title: { expected: 'a title', example: 'Our APIs' },
  time: { expected: 'a time', example: '2d' },
  unit: {
    expected: 'operation, path or tag',
    example: 'tag',
    source: ['operation', 'path', 'tag'],
  },
  url: {
    expected: 'a URL, or a path with its query',
    example: 'https://api.example.com/billing/',
  },
  way: {
    expected: 'issue, control_panel or elsewhere',
    example: 'issue',
    source: ['issue', 'control_panel', 'elsewhere'],
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
