/** `portcullis keys`: the keys that sign IAM tokens. */
import { join } from 'node:path'
import type { Command } from 'commander'
import { DEFAULT_DATA_FOLDER, expectDataFolder, SIGNING_KEYS_FILE } from '../base/data-folder.ts'
import { columns } from '../base/text-table.ts'
import { DATA_DEFAULT, print, printJson } from './output.ts'
import type { RulesOptions } from './rules.ts'

interface KeysOptions extends RulesOptions {
  readonly data?: string
}

export function addKeysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .description('Look after the keys that sign IAM tokens. A running sidecar follows every change.')
  withOptions(keys.command('show'), 'json')
    .description('Show the keys and their states; never a private key.')
    .action(async (options: KeysOptions) => {
      const { readKeys } = await import('../authority/keys.ts')
      show(readKeys(keyFile(options)), options)
    })
  withOptions(keys.command('rotate'), 'json')
    .description(
      'The staged key becomes active, the active one retired, and a new one staged. Tokens of a retired key verify until they expire.',
    )
    .option('--matrix <file>', 'matrix file, which says how long tokens live (default: the shipped matrix)')
    .action(async (options: KeysOptions) => {
      const { longestLifetimeMs, rotateKeys } = await import('../authority/keys.ts')
      const { readRules } = await import('./rules.ts')
      const lifetimeMs = longestLifetimeMs(readRules(options).engine.tokenKinds.values())
      show(rotateKeys(keyFile(options), Date.now(), lifetimeMs), options)
    })
  withOptions(keys.command('public'))
    .description('Print the file of keys without their private halves, for a host that only checks.')
    .action(async (options: KeysOptions) => {
      const { publicKeysOf, readKeys } = await import('../authority/keys.ts')
      process.stdout.write(publicKeysOf(readKeys(keyFile(options))))
    })
}

/** @param json whether the result can be had as JSON; the file of public keys is JSON already */
function withOptions(command: Command, json?: 'json'): Command {
  command.option('--data <dir>', `data folder of the embedded authority ${DATA_DEFAULT}`)
  return json === undefined ? command : command.option('--json', 'print the result as one line of JSON')
}

function keyFile(options: KeysOptions): string {
  const data = options.data ?? process.env.PORTCULLIS_DATA ?? DEFAULT_DATA_FOLDER
  expectDataFolder(data)
  return join(data, SIGNING_KEYS_FILE)
}

function show(
  keys: readonly { keyId: string; state: string; sinceMs: number }[],
  { json }: KeysOptions,
): void {
  const rows = keys.map(({ keyId, state, sinceMs }) => ({
    key_id: keyId,
    state,
    since: new Date(sinceMs).toISOString(),
  }))
  if (json) printJson({ keys: rows })
  else print(columns(rows.map((row) => [row.key_id, row.state, `since ${row.since}`])))
}
