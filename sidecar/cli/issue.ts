/** `portcullis issue`: obtains a token from a sidecar and prints it as a request header. */
import type { Command } from 'commander'
import type { IssuedToken, IssueQuestion, PortcullisError } from '../client/index.ts'
import { addConnectionOptions, type ConnectionOptions, collect, print, printJson } from './output.ts'

interface IssueOptions extends ConnectionOptions {
  readonly account?: string
  readonly user?: string
  readonly passwordFile?: string
  readonly profile?: string
  readonly callerTokenFile?: string
  readonly project?: string
  readonly api?: readonly string[]
  readonly value?: boolean
}

export function addIssueCommand(program: Command): void {
  const command = program
    .command('issue')
    .description('Obtain a token, and print the request header that carries it.')
    .option('--account <account>', 'account number of the service user')
    .option('--user <name>', 'name of the service user; the password is read from PORTCULLIS_PASSWORD')
    .option('--password-file <file>', 'file with the password in its first line, - for standard input')
    .option('--profile <name>', 'instead of a user: a credential that the sidecar holds')
    .option('--caller-token-file <file>', 'file with the caller token that --profile needs')
    .option('--project <project>', 'a token for this project; without it, for the account')
    .option('--api <api>', 'a token that opens this api; repeat for several', collect)
    .option('--value', 'print the bare token, without the header name')
    .addHelpText('after', '\nExit codes: 0 issued, 2 no answer.')
  addConnectionOptions(command).action(async (options: IssueOptions) => {
    const { apisOf, asking, readSecretLine } = await import('./connection.ts')
    const question = questionOf(options, readSecretLine)
    const callerToken =
      options.callerTokenFile && readSecretLine('--caller-token-file', options.callerTokenFile)
    const issued = await asking({ ...options, callerToken }, (client) =>
      client.issue(question).catch(async (error: unknown) => {
        throw namesApis(error) ? await unknownApi(options.api ?? [], await apisOf(client), error) : error
      }),
    )
    if (options.json) printJson(issued)
    else {
      print(options.value ? issued.value : `${issued.header}: ${issued.value}`)
      process.stderr.write(`${describe(issued)}\n`)
    }
  })
}

function namesApis(error: unknown): boolean {
  const { violations = [] } = error as Partial<PortcullisError>
  return violations.some(({ field }) => field.startsWith('apis.apis['))
}

/** The sidecar names the field; here it is an option, and the id may be a slip of the finger. */
async function unknownApi(
  given: readonly string[],
  apis: readonly string[],
  error: unknown,
): Promise<unknown> {
  const { knownId } = await import('./rules.ts')
  try {
    if (apis.length > 0) for (const api of given) knownId('api', api, apis)
  } catch (unknown) {
    return new Error(`--api: ${(unknown as Error).message}`)
  }
  return error
}

function questionOf(
  options: IssueOptions,
  readSecretLine: (option: string, path: string) => string,
): IssueQuestion {
  const { account, user, profile, project, api } = options
  if ((user === undefined) === (profile === undefined))
    throw new Error('expected either --user with --account, or --profile')
  if (account === undefined && (user !== undefined || api === undefined))
    throw new Error(user === undefined ? 'expected --account, or --api' : 'expected --account')
  const requester =
    user === undefined
      ? { profile: profile ?? '' }
      : {
          password: { userName: user, account: account ?? '', password: passwordOf(options, readSecretLine) },
        }
  if (api !== undefined) return { ...requester, apis: api, ...(project !== undefined && { project }) }
  return { ...requester, scope: { account: account ?? '', ...(project !== undefined && { project }) } }
}

function passwordOf(
  { passwordFile }: IssueOptions,
  readSecretLine: (option: string, path: string) => string,
): string {
  const password =
    passwordFile === undefined
      ? process.env.PORTCULLIS_PASSWORD
      : readSecretLine('--password-file', passwordFile)
  if (!password) throw new Error('expected the password in PORTCULLIS_PASSWORD or in --password-file')
  return password
}

/** For people, on standard error: a pipe gets the token alone. */
function describe({ kind, scope, expiresAt, conflicts }: IssuedToken): string {
  const project = scope.project === undefined ? '' : `, project ${scope.project}`
  const expiry = expiresAt === undefined ? 'no expiry' : `expires ${expiresAt.toISOString()}`
  const cells = conflicts.filter((conflict) => conflict.cells.length > 0)
  return [
    `${kind}, account ${scope.account}${project}, ${expiry}`,
    ...cells.map(({ id, reason }) => `conflict ${id}: ${reason}`),
  ].join('\n')
}
