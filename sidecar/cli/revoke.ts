/** `portcullis revoke`: revokes a token by its value, or by its id. */
import type { Command } from 'commander'
import {
  addConnectionOptions,
  type ConnectionOptions,
  collect,
  DATA_DEFAULT,
  print,
  printJson,
} from './output.ts'

interface RevokeOptions extends ConnectionOptions {
  readonly header?: readonly string[]
  readonly tokenId?: string
  readonly data?: string
  readonly callerTokenFile?: string
}

export function addRevokeCommand(program: Command): void {
  const command = program
    .command('revoke')
    .description('Revoke a token: your own by its value, any by its id as an administrator.')
    .option('-H, --header <header>', "'NAME: VALUE' with the token, or @FILE, @- for standard input", collect)
    .option('--token-id <id>', 'id of the token, as `check` names it')
    .option('--data <dir>', `data folder whose administrator token --token-id uses ${DATA_DEFAULT}`)
    .option('--caller-token-file <file>', 'file with the caller token that --token-id uses')
  addConnectionOptions(command).action(async (options: RevokeOptions) => {
    const { asking, readCallerToken, readHeaders } = await import('./connection.ts')
    const { header, tokenId } = options
    if ((header === undefined) === (tokenId === undefined))
      throw new Error('expected either --header or --token-id')
    const [[, value] = [], ...more] = header === undefined ? [] : readHeaders(header)
    if (more.length > 0) throw new Error('--header: expected one token')
    const callerToken =
      tokenId === undefined ? undefined : readCallerToken(options, '--data or --caller-token-file')
    const revoked = await asking({ ...options, callerToken }, (client) =>
      client.revoke(tokenId === undefined ? { value: (value ?? '').trim() } : { tokenId }),
    )
    if (options.json) printJson(revoked)
    else print(`revoked ${revoked.tokenId} at ${revoked.revokedAt?.toISOString()}`)
  })
}
