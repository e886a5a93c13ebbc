/** `portcullis caller`: callers of the configuration. */
import { createHash, randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { isRight, RIGHT_EXPECTED } from '../config/caller-rights.ts'
import { usageError } from './errors.ts'
import { addHelpParts } from './help.ts'
import { collect, print, printJson } from './output.ts'

interface NewCallerOptions {
  readonly right?: readonly string[]
  readonly profile?: readonly string[]
  readonly expiresAt?: string
  readonly json?: boolean
}

export function addCallerCommand(program: Command): void {
  const caller = addHelpParts(
    program.command('caller').description('Make callers for the configuration of a sidecar.'),
    { examples: ['caller new helpdesk --right revoke'] },
  )
  const command = caller
    .command('new')
    .description('Make a caller token, show it once, and print what to add to the configuration.')
    .argument('<name>', 'name of the caller in logs, errors and the audit trail')
    .option('--right <right>', 'revoke, read, everything, or administer:ACCOUNT; repeat for several', collect)
    .option('--profile <profile>', 'a profile that the caller may use; repeat for several', collect)
    .option(
      '--expires-at <time>',
      'when the token expires, for example 2027-01-31T00:00:00Z (default: never)',
    )
    .option('--json', 'print the token and the entry, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: [
      'caller new helpdesk --right revoke',
      'caller new billing --right administer:123456 --right read',
    ],
    notes: [
      'The configuration gets the hash of the token alone. A running sidecar follows the change of its file.',
    ],
  }).action((name: string, options: NewCallerOptions) => {
    if (name.trim() === '') throw usageError('<name>: expected a name that is not empty')
    for (const right of options.right ?? [])
      if (!isRight(right)) throw usageError(`--right: expected ${RIGHT_EXPECTED}`)
    const token = `pcc_${randomBytes(32).toString('base64url')}`
    const entry = entryOf(name, token, options)
    if (options.json) printJson({ token, caller: entry })
    else print(`token, shown this once: ${token}\n\ncallers:\n${yamlOf(entry)}`)
  })
}

type Entry = Readonly<Record<string, string | readonly string[]>>

function entryOf(name: string, token: string, { right, profile, expiresAt }: NewCallerOptions): Entry {
  return {
    name,
    token_sha256: createHash('sha256').update(token).digest('hex'),
    ...(right && { rights: right }),
    ...(profile && { profiles: profile }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  }
}

/** JSON is YAML too, so every value is written as JSON. */
function yamlOf(entry: Entry): string {
  return Object.entries(entry)
    .map(([key, value], index) => `${index === 0 ? '  - ' : '    '}${key}: ${JSON.stringify(value)}`)
    .join('\n')
}
