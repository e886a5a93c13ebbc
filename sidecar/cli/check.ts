/** `portcullis check`: asks a sidecar whether a credential opens an API. */
import type { Command } from 'commander'
import type { Scope } from '../../engine/index.ts'
import { columns } from '../base/text-table.ts'
import type { Check, CheckAnswer } from '../client/index.ts'
import { addConnectionOptions, type ConnectionOptions, collect, EXIT, print, printJson } from './output.ts'

interface CheckOptions extends ConnectionOptions {
  readonly header?: readonly string[]
  readonly kind?: string
  readonly account?: string
  readonly project?: string
  readonly targetAccount?: string
  readonly targetProject?: string
  readonly clientAddress?: string
}

export function addCheckCommand(program: Command): void {
  const command = program
    .command('check')
    .description('Ask a sidecar whether a credential, or a token of a kind, opens an API.')
    .argument('<api>', 'id of the api, for example balance')
    .option(
      '-H, --header <header>',
      "'NAME: VALUE' as it arrived, or @FILE with one a line, @- for standard input",
      collect,
    )
    .option('--kind <kind>', 'instead of headers: a token kind, taken as given')
    .option('--account <account>', 'account that the token of that kind is bound to')
    .option('--project <project>', 'project that the token of that kind is bound to')
    .option('--target-account <account>', 'account that owns the resource asked for')
    .option('--target-project <project>', 'project that owns the resource asked for')
    .option('--client-address <ip>', 'IP address of the client')
    .addHelpText('after', '\nExit codes: 0 allowed, 1 denied, 2 no answer.')
  addConnectionOptions(command).action(async (api: string, options: CheckOptions) => {
    const { apisOf, asking } = await import('./connection.ts')
    const check = await checkOf(api, options)
    const { answer, apis } = await asking(options, async (client) => {
      const answer = await client.check(check)
      return { answer, apis: answer.reason === 'UNKNOWN_API' ? await apisOf(client) : [] }
    })
    if (options.json) printJson(answer)
    else {
      const hints = apis.length > 0 ? [(await import('./rules.ts')).nearestTo(api, apis)] : []
      print(describe(api, answer, hints))
    }
    process.exitCode = answer.allowed ? EXIT.done : EXIT.denied
  })
}

async function checkOf(api: string, options: CheckOptions): Promise<Check> {
  const { readHeaders } = await import('./connection.ts')
  const { header, kind, account, project, targetAccount, targetProject, clientAddress } = options
  if ((header === undefined) === (kind === undefined))
    throw new Error('expected either --header (a credential to verify) or --kind (a token taken as given)')
  if (targetProject !== undefined && targetAccount === undefined)
    throw new Error('--target-project: expected --target-account with it')
  if (kind === undefined)
    for (const [name, value] of Object.entries({ account, project }))
      if (value !== undefined)
        throw new Error(`--${name}: only with --kind; for the owner of the resource use --target-${name}`)
  const rest = {
    api,
    ...(targetAccount !== undefined && { target: scopeOf(targetAccount, targetProject) }),
    ...(clientAddress !== undefined && { clientAddress }),
  }
  return kind === undefined
    ? { ...rest, credentials: readHeaders(header ?? []) }
    : { ...rest, token: { kind, scope: scopeOf(account ?? '', project) } }
}

function scopeOf(account: string, project: string | undefined): Scope {
  return project === undefined ? { account } : { account, project }
}

function describe(api: string, answer: CheckAnswer, hints: readonly string[]): string {
  const { token } = answer
  const rows: string[][] = [
    [answer.allowed ? 'allowed' : 'denied', answer.allowed ? api : `${api}: ${answer.reason}`],
  ]
  for (const line of [answer.message, ...hints]) rows.push(['', line])
  if (token !== undefined) {
    const scope = token.scope.project === undefined ? '' : `, project ${token.scope.project}`
    const expiry = token.expiresAt === undefined ? 'no expiry' : `expires ${token.expiresAt.toISOString()}`
    rows.push([
      'token',
      `${token.kind} of ${token.subject.type} ${token.subject.name}, account ${token.scope.account}${scope}, ${expiry}`,
    ])
  }
  for (const { kind, header, issuable } of answer.accepted)
    rows.push([
      'accepted',
      `${kind} in ${header}${issuable ? ', from `portcullis issue`' : ', from the control panel'}`,
    ])
  for (const { id, reason } of answer.conflicts) rows.push(['conflict', `${id}: ${reason}`])
  for (const advice of answer.advice) rows.push(['advice', advice])
  return columns(rows)
}
