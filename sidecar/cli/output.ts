/** What every command shares: exit codes, errors, and lines for people. */
import type { Command } from 'commander'
import { DEFAULT_DATA_FOLDER } from '../base/data-folder.ts'
import { PortcullisError } from '../client/error.ts'

export const EXIT = { done: 0, denied: 1, noAnswer: 2 } as const

/**
 * What happens where output cannot be written. A reader who has gone away has read enough: the command ends with the
 * answer's own exit code. Any other failure is no answer, whatever the command says. About standard error nobody can be told.
 */
export function guardOutput(): void {
  process.stderr.on('error', () => {})
  let failed = false
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (failed || code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return
    failed = true
    failWith(new Error(`standard output cannot be written (${code})`))
    // The command may be about to say how it ended.
    process.once('exit', () => {
      process.exitCode = EXIT.noAnswer
    })
  })
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Prints the value as one line of JSON, by the habits of `jsonOf`. */
export function printJson(value: unknown, fields?: FieldsShown): void {
  print(JSON.stringify(jsonOf(value, fields)))
}

/** How fields of a name are shown that are not shown as they come. */
export type FieldsShown = Readonly<Record<string, (value: never) => unknown>>

/** A value as its JSON has it: keys as the contract writes them (`created_at` for `createdAt`), times in ISO 8601. */
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

/** Says what is amiss though the command goes on. */
export function warn(text: string): void {
  process.stderr.write(`portcullis: warning: ${text}\n`)
}

/**
 * Prints why there is no answer and sets the exit code. Never prints a stack: what went wrong is in the message.
 *
 * @param flags the options of the command, for what the sidecar calls otherwise
 */
export function failWith(error: unknown, flags: readonly string[] = []): void {
  process.stderr.write(`portcullis: ${errorText(error, flags)}\n`)
  process.exitCode = EXIT.noAnswer
}

function errorText(error: unknown, flags: readonly string[]): string {
  if (error instanceof PortcullisError) {
    const reason = error.reason === '' || error.reason === error.code ? '' : ` ${error.reason}`
    const hint =
      error.code === 'UNAVAILABLE' && error.reason === '' ? '; start one with `portcullis serve`' : ''
    // Any other error is an answer of the sidecar: that there is none to the question.
    const prefix = ['UNAVAILABLE', 'DEADLINE_EXCEEDED'].includes(error.code) ? 'no answer, ' : ''
    return `${prefix}${error.code}${reason}: ${inOptions(error.message, flags)}${hint}`
  }
  return error instanceof Error ? error.message : String(error)
}

/** A sidecar speaks of gRPC's metadata; here a token is given by an option. */
function inOptions(message: string, flags: readonly string[]): string {
  const given = ['--caller-token-file', '--data'].filter((flag) => flags.includes(flag)).join(' or ')
  return message
    .replace(/metadata `authorization: Bearer …`/, given)
    .replace(/one `authorization: Bearer …`/, `another in ${given}`)
    .replace(/metadata `x-auth-token`/, '--iam-token-file')
}

/** What `--data` is where it is not given, for its description. */
export const DATA_DEFAULT = `(default: PORTCULLIS_DATA or ${DEFAULT_DATA_FOLDER})`

/** For an option that may be given several times. */
export function collect(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value]
}

/** The options of every command that asks a sidecar. */
export function addConnectionOptions(command: Command): Command {
  return command
    .option(
      '--address <addr>',
      'the sidecar: HOST:PORT or unix:PATH (default: PORTCULLIS_GRPC_ADDRESS or 127.0.0.1:50051)',
    )
    .option('--deadline <ms>', 'how long to wait for the answer, in milliseconds', wholeNumber, 5_000)
    .option('--json', 'print the answer as one line of JSON')
}

export interface ConnectionOptions {
  readonly address?: string
  readonly deadline: number
  readonly json?: boolean
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new Error('--deadline: expected a whole number of 1 or more, in milliseconds')
  return Number(text)
}
