/** `portcullis revoke`: revokes a token by its value, or by its id. */
import { join } from 'node:path'
import type { Command } from 'commander'
import { ADMINISTRATOR_TOKEN_FILE } from '../data-folder.ts'
import { addConnectionOptions, type ConnectionOptions, collect, print, printJson } from './output.ts'

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
    .option('--data <dir>', 'data folder whose administrator token --token-id uses')
    .option('--caller-token-file <file>', 'file with the caller token that --token-id uses')
  addConnectionOptions(command).action(async (options: RevokeOptions) => {
    const { asking, readHeaders, readSecretLine } = await import('./connection.ts')
    const { header, tokenId, data } = options
    if ((header === undefined) === (tokenId === undefined))
      throw new Error('expected either --header or --token-id')
    const [[, value] = [], ...more] = header === undefined ? [] : readHeaders(header)
    if (more.length > 0) throw new Error('--header: expected one token')
    const file =
      options.callerTokenFile ?? (data === undefined ? undefined : join(data, ADMINISTRATOR_TOKEN_FILE))
    const callerToken =
      tokenId === undefined || file === undefined ? undefined : readSecretLine('--caller-token-file', file)
    const revoked = await asking({ ...options, callerToken }, (client) =>
      client.revoke(tokenId === undefined ? { value: (value ?? '').trim() } : { tokenId }),
    )
    if (options.json) printJson(revoked)
    else print(`revoked ${revoked.tokenId} at ${revoked.revokedAt?.toISOString()}`)
  })
}
