/** `portcullis check`: asks a sidecar whether a credential opens an API. */

import type { Command } from 'commander'
import type { Check, CheckAnswer } from '../../../clients/typescript/index.ts'
import type { Scope } from '../../../engine/index.ts'
import { carriageOf } from '../../../engine/places.ts'
import { columns } from '../../base/text-table.ts'
import { EXIT, usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { obtainedText } from '../terminal/obtained.ts'
import {
  addConnectionOptions,
  type ConnectionOptions,
  collect,
  durationText,
  print,
  printJson,
  STRICT_MODE,
} from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'

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
    .description('Ask whether a credential, or a token of a given kind, opens an API.')
    .argument('<api>', 'id of the API, for example balance')
    .option(
      '-H, --header <header>',
      "request header with the credential: 'NAME: VALUE', @FILE with one a line, or - for standard input (default: PORTCULLIS_HEADER)",
      collect,
    )
    .option('--kind <kind>', 'instead of headers: a token kind, which is taken as given')
    .option('--account <account>', 'account of the token of that kind')
    .option('--project <project>', 'project of the token of that kind')
    .option('--target-account <account>', 'account that owns the resource')
    .option('--target-project <project>', 'project that owns the resource')
    .option('--client-address <ip>', 'IP address of the client')
  addHelpParts(addConnectionOptions(command), {
    examples: [
      'check balance -H @token.txt',
      'check reports --kind static_token --account 234567 --target-account 234567',
    ],
    exitCodes: '0 allowed, 1 denied, 2 no answer',
  }).action(async (api: string, options: CheckOptions) => {
    const { apisOf, withClient } = await import('../sidecar-connection.ts')
    const check = await checkOf(api, options)
    const { answer, apis } = await withClient(options, async (client) => {
      const answer = await client.check(check)
      return { answer, apis: answer.reason === 'UNKNOWN_API' ? await apisOf(client) : [] }
    })
    if (options.json) printJson(shown(answer))
    else {
      const hints = apis.length > 0 ? [(await import('../read-rules.ts')).suggestion(api, apis)] : []
      print(describe(api, answer, hints))
    }
    process.exitCode = answer.allowed ? EXIT.done : EXIT.denied
  })
}

/** With the fields of `CheckResponse`. */
function shown({ cacheForMs, ...answer }: CheckAnswer): object {
  return { ...answer, ...(cacheForMs > 0 && { cacheFor: durationText(cacheForMs) }) }
}

async function checkOf(api: string, options: CheckOptions): Promise<Check> {
  const { readHeaders, secretOfVariable } = await import('../sidecar-connection.ts')
  const { kind, account, project, targetAccount, targetProject, clientAddress } = options
  const ofVariable =
    options.header === undefined && kind === undefined ? secretOfVariable('PORTCULLIS_HEADER') : undefined
  const header = options.header ?? (ofVariable === undefined ? undefined : [ofVariable])
  if ((header === undefined) === (kind === undefined))
    throw usageError(
      'expected either --header or PORTCULLIS_HEADER (a credential to verify), or --kind (a token that is taken as given)',
    )
  if (targetProject !== undefined && targetAccount === undefined)
    throw usageError('--target-project: expected --target-account with it')
  if (kind === undefined)
    for (const [name, value] of Object.entries({ account, project }))
      if (value !== undefined)
        throw usageError(
          `--${name}: expected only with --kind; the owner of the resource is --target-${name}`,
        )
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
    answer.allowed ? [paint('green', 'allowed'), api] : [paint('red', 'denied'), `${api}: ${answer.reason}`],
  ]
  for (const line of [answer.message, ...hints]) rows.push(['', line])
  if (token !== undefined) {
    const scope = token.scope.project === undefined ? '' : `, project ${token.scope.project}`
    const expiry = token.expiresAt === undefined ? 'no expiry' : `expires ${token.expiresAt.toISOString()}`
    const authority = token.authority === undefined ? '' : `, verified by ${token.authority}`
    rows.push([
      paint('dim', 'token'),
      `${token.kind} of ${token.subject.type} ${token.subject.name}, account ${token.scope.account}${scope}, ${expiry}${authority}`,
    ])
  }
  for (const { kind, obtained, link, ...place } of answer.accepted) {
    const from = obtained === 'issue' ? 'from `portcullis issue`' : obtainedText({ by: obtained, link })
    rows.push([paint('dim', 'accepted'), `${kind} in ${carriageOf(place)}, ${from}`])
  }
  for (const { id, reason } of answer.conflicts) rows.push([paint('dim', 'conflict'), `${id}: ${reason}`])
  for (const advice of answer.advice) rows.push([paint('dim', 'advice'), advice])
  if (answer.strict) rows.push([paint('dim', 'mode'), STRICT_MODE])
  return columns(rows)
}
