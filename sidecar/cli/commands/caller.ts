/** `portcullis caller`: callers of the configuration. */
import { createHash, randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { DNS_EXPECTED, dnsName, URI_EXPECTED, uriName } from '../../base/certificate-name.ts'
import { isName, NAME_EXPECTED } from '../../base/name.ts'
import { isRight, RIGHT_EXPECTED } from '../../config/caller-rights.ts'
import { usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { collect, print, printJson } from '../terminal/output.ts'

interface NewCallerOptions {
  readonly right?: readonly string[]
  readonly profile?: readonly string[]
  readonly expiresAt?: string
  readonly certificateDns?: string
  readonly certificateUri?: string
  readonly json?: boolean
}

export function addCallerCommand(program: Command): void {
  const caller = addHelpParts(
    program.command('caller').description('Make callers for the configuration of a sidecar.'),
    { examples: ['caller new helpdesk --right revoke'] },
  )
  const command = caller
    .command('new')
    .description(
      'Make a caller token, show it once, and print what to add to the configuration. A caller with a certificate gets no token.',
    )
    .argument('<name>', 'name of the caller in logs, errors and the audit trail')
    .option(
      '--right <right>',
      'revoke, read, follow, everything, or administer:ACCOUNT; repeat for several',
      collect,
    )
    .option('--profile <profile>', 'a profile that the caller may use; repeat for several', collect)
    .option(
      '--expires-at <time>',
      'when the caller expires, for example 2027-01-31T00:00:00Z (default: never)',
    )
    .option('--certificate-dns <name>', 'the DNS name in its client certificate, in place of a token')
    .option('--certificate-uri <uri>', 'the URI in its client certificate, in place of a token')
    .option('--json', 'print the token and the entry, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: [
      'caller new helpdesk --right revoke',
      'caller new billing --right administer:123456 --right read',
      'caller new worker --certificate-uri spiffe://example/worker --profile nightly-report',
    ],
    notes: [
      'Only the hash of the token is in the configuration. A running sidecar applies a change of its file.',
    ],
  }).action((name: string, options: NewCallerOptions) => {
    if (name === '') throw usageError('<name>: expected a name that is not empty')
    if (!isName(name)) throw usageError(`<name>: expected a name ${NAME_EXPECTED}`)
    for (const right of options.right ?? [])
      if (!isRight(right)) throw usageError(`--right: expected ${RIGHT_EXPECTED}`)
    const certificate = certificateOf(options)
    if (certificate !== undefined) {
      const entry = entryOf(name, { certificate }, options)
      if (options.json) printJson({ caller: entry })
      else print(`callers:\n${yamlOf(entry)}`)
      return
    }
    const token = `pcc_${randomBytes(32).toString('base64url')}`
    const entry = entryOf(name, { token_sha256: createHash('sha256').update(token).digest('hex') }, options)
    if (options.json) printJson({ token, caller: entry })
    else print(`token, shown this once: ${token}\n\ncallers:\n${yamlOf(entry)}`)
  })
}

function certificateOf({ certificateDns: dns, certificateUri: uri }: NewCallerOptions): Part | undefined {
  if (dns !== undefined && uri !== undefined)
    throw usageError('--certificate-uri: expected no --certificate-dns with it')
  if (dns !== undefined && dnsName(dns) === undefined)
    throw usageError(`--certificate-dns: expected ${DNS_EXPECTED}`)
  if (uri !== undefined && uriName(uri) === undefined)
    throw usageError(`--certificate-uri: expected ${URI_EXPECTED}`)
  return dns !== undefined ? { dns } : uri !== undefined ? { uri } : undefined
}

type Part = Readonly<Record<string, string>>
type Entry = Readonly<Record<string, string | readonly string[] | Part>>

/** @param identifiedBy the key that identifies the caller */
function entryOf(name: string, identifiedBy: Entry, { right, profile, expiresAt }: NewCallerOptions): Entry {
  return {
    name,
    ...identifiedBy,
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
