/** The output of every command, and the options that every command with a connection has. */
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { DEFAULT_DATA_FOLDER } from '../../base/data-folder.ts'
import { escapedJson } from '../../base/visible-text.ts'
import { usageError } from './errors.ts'
import { forTerminal } from './terminal.ts'

/** Prints a text for people. */
export function print(text: string): void {
  process.stdout.write(`${forTerminal(text)}\n`)
}

/** Whether the reader of standard output has left. Node does not keep that of the streams of a process. */
let isGone: boolean | undefined

/**
 * Writes a part of a long output, and waits for a slow reader.
 *
 * @returns whether there is a reader; one who has gone away has read enough
 */
export async function writePart(text: string): Promise<boolean> {
  const { stdout } = process
  if (isGone === undefined) {
    isGone = false
    stdout.once('error', () => {
      isGone = true
    })
  }
  if (!stdout.write(text) && !isGone) await once(stdout, 'drain').catch(() => {})
  // Where all that is printed is read at once, a reader who leaves is noticed in a turn of the event loop.
  await setImmediate()
  return !isGone
}

/** A value in a line of JSON, as `jsonOf` makes it. */
export function jsonText(value: unknown, fields?: FieldsShown): string {
  return escapedJson(JSON.stringify(jsonOf(value, fields)))
}

/** Prints the value as one line of JSON, as `jsonOf` makes it. */
export function printJson(value: unknown, fields?: FieldsShown): void {
  process.stdout.write(`${jsonText(value, fields)}\n`)
}

/** How to show the fields that JSON shows in another form. By their names in the JSON. */
export type FieldsShown = Readonly<Record<string, (value: never) => unknown>>

/** A value as JSON: keys as the contract writes them (`created_at` for `createdAt`), times in ISO 8601. */
export function jsonOf(value: unknown, fields: FieldsShown = {}): unknown {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map((each) => jsonOf(each, fields))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const key = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      const shown = Object.hasOwn(fields, key) ? fields[key] : undefined
      return [key, shown === undefined ? jsonOf(field, fields) : shown(field as never)]
    }),
  )
}

/** `1 account`, `2 accounts`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

/** A duration as the JSON of protobuf writes it: `86400s`, `0.5s`. */
export function durationText(ms: number): string {
  return `${ms / 1000}s`
}

/** Said wherever an answer comes from strict mode. */
export const STRICT_MODE = 'strict: every contested cell is denied'

/** The default of `--data`, for its description. */
export const DATA_DEFAULT = `(default: PORTCULLIS_DATA or ${DEFAULT_DATA_FOLDER})`

/**
 * The option for the configuration file of a sidecar. A variable names one file for all commands, as in a
 * container.
 */
export function configOption(description: string): Option {
  return new Option('--config <file>', description).env('PORTCULLIS_CONFIG')
}

/** For an option that may be given several times. */
export function collect(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value]
}

/** The options of every command that asks a sidecar, and prints its answer as text or as JSON. */
export function addConnectionOptions(command: Command): Command {
  return addAddressOptions(command).option('--json', 'print the answer, or the error, as one line of JSON')
}

/** The options for the requester. */
export function addIdentityOptions(command: Command): Command {
  return command
    .option('--data <dir>', `data folder with the operator's token ${DATA_DEFAULT}`)
    .option('--caller-token-file <file>', "file with a caller token, instead of the operator's")
    .option(
      '--iam-token-file <file>',
      "file with a user's account-scoped IAM token, instead of a caller token",
    )
}

/** The options for the address of the sidecar. */
export function addAddressOptions(command: Command): Command {
  return command
    .option(
      '--address <addr>',
      'address of the sidecar: HOST:PORT or unix:PATH (default: PORTCULLIS_GRPC_ADDRESS or 127.0.0.1:50051)',
    )
    .option('--deadline <ms>', 'how long to wait for the answer, in milliseconds', millisecondsOf, 5_000)
    .option('--tls', 'use TLS, with the authorities of this machine (default: PORTCULLIS_TLS)')
    .option('--ca <file>', 'authorities of the sidecar in PEM, for TLS (default: PORTCULLIS_TLS_CA)')
    .option('--cert <file>', 'client certificate in PEM, for TLS (default: PORTCULLIS_TLS_CERT)')
    .option('--key <file>', 'private key of the certificate (default: PORTCULLIS_TLS_KEY)')
    .option(
      '--server-name <name>',
      'name in the certificate of the sidecar, where it is not the host (default: PORTCULLIS_TLS_SERVER_NAME)',
    )
    .option('--allow-plaintext', 'send tokens and passwords in plaintext to a sidecar on another machine')
}

/** Paths of PEM files, and a name. Any of them asks for TLS. */
export interface TlsOptions {
  readonly tls?: boolean
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly serverName?: string
}

export interface ConnectionOptions extends TlsOptions {
  readonly allowPlaintext?: boolean
  readonly address?: string
  readonly deadline: number
  readonly json?: boolean
}

function millisecondsOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw usageError('--deadline: expected a whole number of 1 or more, in milliseconds')
  return Number(text)
}
