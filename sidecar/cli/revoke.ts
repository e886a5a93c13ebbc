/** `portcullis revoke`: revokes a token by its value, or by its id. */
import type { Command } from 'commander'
import { addConfirmOption, type ConfirmOptions, confirm } from './confirm.ts'
import { usageError } from './errors.ts'
import { addHelpParts } from './help.ts'
import {
  addConnectionOptions,
  type ConnectionOptions,
  collect,
  DATA_DEFAULT,
  print,
  printJson,
} from './output.ts'
import type { Terminal } from './terminal.ts'

interface RevokeOptions extends ConnectionOptions, ConfirmOptions {
  readonly header?: readonly string[]
  readonly tokenId?: string
  readonly data?: string
  readonly callerTokenFile?: string
}

export function addRevokeCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('revoke')
    .description('Revoke a token: by its value, or by its id as an operator.')
    .option(
      '-H, --header <header>',
      "'NAME: VALUE' with the token, @FILE, or @- for standard input: whoever holds a token may revoke it",
      collect,
    )
    .option('--token-id <id>', 'id of the token, as `portcullis check` shows it')
    .option('--data <dir>', `data folder with the operator's token for --token-id ${DATA_DEFAULT}`)
    .option('--caller-token-file <file>', 'file with the caller token for --token-id')
  addHelpParts(addConfirmOption(addConnectionOptions(command)), {
    examples: ['revoke -H @token.txt', 'revoke --token-id q9Zk3vY0T1uB7xw2LmN4Rg --yes'],
    exitCodes: '0 revoked, 2 no answer',
  }).action(async (options: RevokeOptions) => {
    const { readCallerToken, readHeaders, withClient } = await import('./connection.ts')
    const { header, tokenId } = options
    if ((header === undefined) === (tokenId === undefined))
      throw usageError('expected either --header or --token-id')
    const [[, value] = [], ...more] = header === undefined ? [] : readHeaders(header)
    if (more.length > 0) throw usageError('--header: expected one token')
    const callerToken =
      tokenId === undefined ? undefined : readCallerToken(options, '--data or --caller-token-file')
    const which = tokenId === undefined ? 'this token' : `token ${tokenId}`
    await confirm(terminal, options, () => `Revoke ${which}? It never works again.`)
    const revoked = await withClient({ ...options, callerToken }, (client) =>
      client.revoke(tokenId === undefined ? { value: (value ?? '').trim() } : { tokenId }),
    )
    if (options.json) printJson(revoked)
    else print(`revoked ${revoked.tokenId} at ${revoked.revokedAt?.toISOString()}`)
  })
}
