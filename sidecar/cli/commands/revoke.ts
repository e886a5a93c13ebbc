/** `portcullis revoke`: revokes a token by its value, or by its id. */
import type { Command } from 'commander'
import { COPIED_TOKEN_EXPECTED, copiedTokens } from '../../base/copied-token.ts'
import { addConfirmOption, type ConfirmOptions, confirm } from '../terminal/confirm.ts'
import { usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import {
  addConnectionOptions,
  type ConnectionOptions,
  collect,
  DATA_DEFAULT,
  print,
  printJson,
} from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface RevokeOptions extends ConnectionOptions, ConfirmOptions {
  readonly header?: readonly string[]
  readonly tokenId?: string
  readonly data?: string
  readonly callerTokenFile?: string
  readonly iamTokenFile?: string
}

export function addRevokeCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('revoke')
    .description('Revoke a token: by its value, or by its id as an operator.')
    .option(
      '-H, --header <header>',
      "'NAME: VALUE' with the token, @FILE, or - for standard input: an IAM token revokes itself",
      collect,
    )
    .option('--token-id <id>', 'id of the token, as `portcullis check` shows it')
    .option(
      '--data <dir>',
      `data folder with the operator's token, for --token-id and static tokens ${DATA_DEFAULT}`,
    )
    .option('--caller-token-file <file>', "file with a caller token, instead of the operator's")
    .option(
      '--iam-token-file <file>',
      'file with an IAM token of the holder, or of an administrator of the account',
    )
  addHelpParts(addConfirmOption(addConnectionOptions(command)), {
    examples: ['revoke -H @token.txt', 'revoke --token-id q9Zk3vY0T1uB7xw2LmN4Rg --yes'],
    exitCodes: '0 revoked, 2 no answer',
  }).action(async (options: RevokeOptions) => {
    const { readCallerToken, readHeaders, readIdentity, withClient } = await import(
      '../sidecar-connection.ts'
    )
    const { header, tokenId } = options
    if ((header === undefined) === (tokenId === undefined))
      throw usageError('expected either --header or --token-id')
    const [[, text = ''] = [], ...more] = header === undefined ? [] : readHeaders(header)
    if (more.length > 0) throw usageError('--header: expected one token')
    const [value = ''] = copiedTokens(text)
    if (header !== undefined && value === '') throw usageError(`--header: expected ${COPIED_TOKEN_EXPECTED}`)
    const identity =
      tokenId !== undefined
        ? { callerToken: readCallerToken(options, '--data or --caller-token-file') }
        : revokesItself(await ownPart(value), options)
          ? {}
          : readIdentity(options)
    const which = tokenId === undefined ? 'this token' : `token ${tokenId}`
    await confirm(terminal, options, () => `Revoke ${which}? It never works again.`)
    const revoked = await withClient({ ...options, ...identity }, (client) =>
      client.revoke(tokenId === undefined ? { value } : { tokenId }),
    )
    if (options.json) printJson(revoked)
    else print(`revoked ${revoked.tokenId} at ${revoked.revokedAt?.toISOString()}`)
  })
}

/** The token without the prefix that a matrix gives its kind. */
async function ownPart(value: string): Promise<string> {
  const { ownTokenIn } = await import('../../authority/own-form.ts')
  return ownTokenIn(value) ?? value
}

/** An IAM token, where no option says who asks. IAM tokens begin like every compact JWS. */
function revokesItself(value: string, { data, callerTokenFile, iamTokenFile }: RevokeOptions): boolean {
  return (data ?? callerTokenFile ?? iamTokenFile) === undefined && value.startsWith('eyJ')
}
