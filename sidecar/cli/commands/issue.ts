/**
 * `portcullis issue` and `portcullis token`: obtain a token from a sidecar, and print it for a person or for
 * a script.
 */

import type { Command } from 'commander'
import type { IssuedToken, IssueQuestion, PortcullisError } from '../../../clients/typescript/index.ts'
import { usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import {
  addConnectionOptions,
  type ConnectionOptions,
  collect,
  print,
  printJson,
} from '../terminal/output.ts'
import { forTerminal, paint } from '../terminal/terminal.ts'

interface IssueOptions extends ConnectionOptions {
  readonly account?: string
  readonly user?: string
  readonly passwordFile?: string
  readonly profile?: string
  readonly callerTokenFile?: string
  readonly rejectedFile?: string
  readonly project?: string
  readonly api?: readonly string[]
  readonly place?: string
  readonly value?: boolean
  readonly header?: boolean
  readonly execCredential?: boolean
}

/** For a person: the header, and what the token is on standard error. */
export function addIssueCommand(program: Command): void {
  const command = program
    .command('issue')
    .description('Obtain a token, and print the request header that carries it.')
  addRequestOptions(command).option('--value', 'print the bare token, without the name of the header')
  addHelpParts(addConnectionOptions(command), {
    examples: [
      'issue --account 234567 --user worker --password-file password.txt',
      'issue --account 234567 --user worker --project alpha --api cdn',
      'issue --profile deployer --caller-token-file caller-token.txt --api balance',
    ],
    exitCodes: '0 issued, 2 no answer',
  }).action(async (options: IssueOptions) => {
    const issued = await obtain(options)
    if (options.json) printJson(answerOf(issued))
    else {
      print(options.value ? issued.value : `${issued.header}: ${issued.headerValue}`)
      process.stderr.write(`${forTerminal(describe(issued))}\n`)
    }
  })
}

/** For a script: the token in the form that the next program takes, and nothing else. */
export function addTokenCommand(program: Command): void {
  const command = program.command('token').description('Obtain a token for a script, and print it alone.')
  addRequestOptions(command)
    .option('--header', 'print a request header, as `curl -H @-` takes it')
    .option('--exec-credential', 'print an ExecCredential, as Kubernetes clients take it')
  addHelpParts(addConnectionOptions(command), {
    examples: [
      'token --profile deployer --caller-token-file caller-token.txt --api cdn --project alpha',
      'token --profile deployer --caller-token-file caller-token.txt --api balance --header',
      'token --profile deployer --caller-token-file caller-token.txt --api balance --rejected-file -',
    ],
    exitCodes: '0 issued, 2 no answer',
    notes: ['For an application that runs longer than a token lives, see `portcullis help agent`.'],
  }).action(async (options: IssueOptions) => {
    const { header, execCredential, json } = options
    if ([header, execCredential, json].filter(Boolean).length > 1)
      throw usageError('expected one of --header, --exec-credential and --json')
    const issued = await obtain(options)
    if (json) return printJson(answerOf(issued))
    const { formatToken } = await import('../agent/formats.ts')
    process.stdout.write(
      formatToken(execCredential ? 'exec-credential' : header ? 'header' : 'value', issued),
    )
  })
}

/** The fields of the contract, without what the client makes of them. */
function answerOf({ headerValue: _, ...answer }: IssuedToken): object {
  return answer
}

/** The requester, and the scope of the token. */
function addRequestOptions(command: Command): Command {
  return command
    .option('--account <account>', 'account number of the service user')
    .option('--user <user>', 'name of the service user; the password is read from PORTCULLIS_PASSWORD')
    .option('--password-file <file>', 'file with the password in its first line; - is standard input')
    .option('--profile <name>', 'instead of a user: a credential of the configuration of the sidecar')
    .option('--caller-token-file <file>', 'file with the caller token that --profile needs')
    .option(
      '--rejected-file <file>',
      'with --profile: file with a token that an API has just refused, so that another one is given; - is standard input',
    )
    .option('--project <project>', 'obtain a token for this project (default: for the account)')
    .option('--api <api>', 'obtain a token that opens this API; repeat for several', collect)
    .option(
      '--place <place>',
      'send it in this place of its kind, as `matrix` writes it: "X-Api-Key" or "Authorization: Bearer" (default: the first)',
    )
}

async function obtain(options: IssueOptions): Promise<IssuedToken> {
  const { apisOf, withClient, ...readers } = await import('../sidecar-connection.ts')
  const { readTokenLine } = readers
  const question = questionOf(options, readers)
  const callerToken = options.callerTokenFile && readTokenLine('--caller-token-file', options.callerTokenFile)
  return withClient({ ...options, callerToken }, (client) =>
    client.issue(question).catch(async (error: unknown) => {
      throw namesApis(error) ? await unknownApi(options.api ?? [], await apisOf(client), error) : error
    }),
  )
}

function namesApis(error: unknown): boolean {
  const { violations = [] } = error as Partial<PortcullisError>
  return violations.some(({ field }) => field.startsWith('apis.apis['))
}

/** The sidecar names the field of the request. A person gave an option, and may have mistyped the id. */
async function unknownApi(
  given: readonly string[],
  apis: readonly string[],
  error: unknown,
): Promise<unknown> {
  const { expectKnownId } = await import('../read-rules.ts')
  try {
    if (apis.length > 0) for (const api of given) expectKnownId('API', api, apis)
  } catch (unknown) {
    return usageError(`--api: ${(unknown as Error).message}`)
  }
  return error
}

/** The readers of secrets: loaded with the first command that asks a sidecar. */
type Readers = Pick<
  typeof import('../sidecar-connection.ts'),
  'readSecretLine' | 'readTokenLine' | 'secretOfVariable'
>

function questionOf(options: IssueOptions, readers: Readers): IssueQuestion {
  const { account, user, profile, project, api, place, rejectedFile } = options
  if ((user === undefined) === (profile === undefined))
    throw usageError('expected either --user with --account, or --profile')
  if (account === undefined && (user !== undefined || api === undefined))
    throw usageError(user === undefined ? 'expected --account or --api' : 'expected --account')
  // A user with a password gets a new token anyway.
  if (user !== undefined && rejectedFile !== undefined)
    throw usageError('--rejected-file: expected --profile with it')
  const rejected =
    rejectedFile === undefined ? undefined : readers.readTokenLine('--rejected-file', rejectedFile)
  const placed = place === undefined ? {} : { place }
  const requester =
    user === undefined
      ? { profile: profile ?? '', ...(rejected !== undefined && { rejected }) }
      : {
          password: { userName: user, account: account ?? '', password: passwordOf(options, readers) },
        }
  if (api !== undefined)
    return { ...requester, ...placed, apis: api, ...(project !== undefined && { project }) }
  return {
    ...requester,
    ...placed,
    scope: { account: account ?? '', ...(project !== undefined && { project }) },
  }
}

function passwordOf({ passwordFile }: IssueOptions, { readSecretLine, secretOfVariable }: Readers): string {
  const password =
    passwordFile === undefined
      ? secretOfVariable('PORTCULLIS_PASSWORD')
      : readSecretLine('--password-file', passwordFile)
  if (!password) throw usageError('expected the password in PORTCULLIS_PASSWORD or in --password-file')
  return password
}

/** For people, on standard error: a pipe gets the token alone. */
function describe({ kind, scope, expiresAt, conflicts }: IssuedToken): string {
  const project = scope.project === undefined ? '' : `, project ${scope.project}`
  const expiry = expiresAt === undefined ? 'no expiry' : `expires ${expiresAt.toISOString()}`
  const contested = conflicts.filter((conflict) => conflict.cells.length > 0)
  return [
    `${kind}, account ${scope.account}${project}, ${expiry}`,
    ...contested.map(({ id, reason }) => `${paint('dim', 'conflict', process.stderr)} ${id}: ${reason}`),
  ].join('\n')
}
