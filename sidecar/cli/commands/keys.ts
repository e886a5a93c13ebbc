/** `portcullis keys`: the keys that sign IAM tokens, and the administrator token. */
import { join } from 'node:path'
import type { Command } from 'commander'
import {
  ADMINISTRATOR_TOKEN_FILE,
  DEFAULT_DATA_FOLDER,
  expectDataFolder,
  SIGNING_KEYS_FILE,
} from '../../base/data-folder.ts'
import { columns } from '../../base/text-table.ts'
import type { RulesOptions } from '../read-rules.ts'
import { addConfirmOption, type ConfirmOptions, confirm } from '../terminal/confirm.ts'
import { addHelpParts } from '../terminal/help.ts'
import { DATA_DEFAULT, print, printJson } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface KeysOptions extends RulesOptions, ConfirmOptions {
  readonly data?: string
}

export function addKeysCommand(program: Command, terminal: Terminal): void {
  const keys = addHelpParts(
    program
      .command('keys')
      .description('Manage the keys that sign IAM tokens. A running sidecar applies every change.'),
    { examples: ['keys show', 'keys rotate', 'keys withdraw 0123456789abcdef'] },
  )
  const show = addDataOption(keys.command('show'))
    .description('Show the keys and their states. Never shows a private key.')
    .option('--json', 'print the keys, or the error, as one line of JSON')
  addHelpParts(show, { examples: ['keys show', 'keys show --data ./portcullis-data --json'] }).action(
    async (options: KeysOptions) => {
      const { readKeys } = await import('../../authority/keys.ts')
      printKeys(readKeys(keyFile(options)), options)
    },
  )
  addRotateCommand(keys, terminal)
  addWithdrawCommand(keys, terminal)
  addRotateAdministratorTokenCommand(keys, terminal)
  const publish = addDataOption(keys.command('public')).description(
    'Print the key file without private keys, for a host that only checks tokens. The file is JSON.',
  )
  addHelpParts(publish, { examples: ['keys public > signing-keys.json'] }).action(
    async (options: KeysOptions) => {
      const { publicKeysOf, readKeys } = await import('../../authority/keys.ts')
      process.stdout.write(publicKeysOf(readKeys(keyFile(options))))
    },
  )
}

function addRotateCommand(keys: Command, terminal: Terminal): void {
  const rotate = addDataOption(keys.command('rotate'))
    .description(
      'Rotate the keys: the staged key becomes active, the active key retires, and a new one is staged.',
    )
    .option('--matrix <file>', 'matrix file, which says how long tokens live (default: the shipped matrix)')
    .option('--json', 'print the keys, or the error, as one line of JSON')
  addHelpParts(addConfirmOption(rotate), {
    examples: ['keys rotate', 'keys rotate --yes --json'],
    notes: ['Tokens of a retired key stay valid until they expire.'],
  }).action(async (options: KeysOptions) => {
    const { longestLifetimeMs, rotateKeys } = await import('../../authority/keys.ts')
    const { readRules } = await import('../read-rules.ts')
    const lifetimeMs = longestLifetimeMs(readRules(options).engine.tokenKinds.values())
    const file = keyFile(options)
    await confirm(
      terminal,
      options,
      () => `Rotate the keys in ${file}? The active key retires and signs no new token.`,
    )
    printKeys(rotateKeys(file, Date.now(), lifetimeMs), options)
  })
}

function addWithdrawCommand(keys: Command, terminal: Terminal): void {
  const withdraw = addDataOption(keys.command('withdraw'))
    .argument('<key-id>', 'id of the key, as `keys show` prints it')
    .description('Withdraw a key, for example after a leak: every IAM token that it signed is denied.')
    .option('--json', 'print the keys, or the error, as one line of JSON')
  addHelpParts(addConfirmOption(withdraw), {
    examples: ['keys withdraw 0123456789abcdef', 'keys withdraw 0123456789abcdef --yes --json'],
    notes: [
      'If it is the active key, the keys are rotated first, so the staged key must not be too new.',
      'A running sidecar applies the change within a second.',
    ],
  }).action(async (keyId: string, options: KeysOptions) => {
    const { withdrawKey } = await import('../../authority/keys.ts')
    const file = keyFile(options)
    await confirm(
      terminal,
      options,
      () =>
        `Withdraw the key ${keyId} from ${file}? All of its tokens are denied, and the key cannot be restored.`,
    )
    printKeys(withdrawKey(file, keyId, Date.now()), options)
  })
}

function addRotateAdministratorTokenCommand(keys: Command, terminal: Terminal): void {
  const rotate = addDataOption(keys.command('rotate-administrator-token')).description(
    'Replace the administrator token of the data folder. Running sidecars refuse the earlier one within a second.',
  )
  addHelpParts(addConfirmOption(rotate), {
    examples: [
      'keys rotate-administrator-token',
      'keys rotate-administrator-token --data ./portcullis-data --yes',
    ],
    notes: ['`administrator_token: false` in the configuration switches the token off.'],
  }).action(async (options: KeysOptions) => {
    const { rotateAdministratorToken } = await import('../../config/administrator-token.ts')
    const folder = dataFolder(options)
    await confirm(
      terminal,
      options,
      () => `Replace the administrator token in ${folder}? The earlier token stops working.`,
    )
    rotateAdministratorToken(folder)
    print(`replaced ${join(folder, ADMINISTRATOR_TOKEN_FILE)}`)
  })
}

function addDataOption(command: Command): Command {
  return command.option('--data <dir>', `data folder of the embedded authority ${DATA_DEFAULT}`)
}

function keyFile(options: KeysOptions): string {
  return join(dataFolder(options), SIGNING_KEYS_FILE)
}

function dataFolder(options: KeysOptions): string {
  const data = options.data ?? process.env.PORTCULLIS_DATA ?? DEFAULT_DATA_FOLDER
  expectDataFolder(data)
  return data
}

function printKeys(
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
