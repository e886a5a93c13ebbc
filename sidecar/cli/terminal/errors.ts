/**
 * How a command ends: its exit codes, and what it says when it has no answer. People get a line of text; with
 * `--json` a program gets one line of JSON. Both go to standard error, so that standard output holds answers
 * alone.
 */
import { CommanderError } from 'commander'
import { PortcullisError } from '../../../clients/typescript/error.ts'
import type { Problem } from '../../../matrix/index.ts'
import { CallError } from '../../base/call-error.ts'
import { escaped, escapedJson } from '../../base/visible-text.ts'
import { forTerminal, paint } from './terminal.ts'

export const EXIT = { done: 0, denied: 1, noAnswer: 2 } as const

/** Why the command line itself refuses: reason → status code, as the calls of a sidecar have them. */
const COMMAND_REASONS = {
  /** An unknown option or command, a missing argument, a value that is not as expected. */
  USAGE: 'INVALID_ARGUMENT',
  CONFIGURATION_INVALID: 'INVALID_ARGUMENT',
  MATRIX_INVALID: 'INVALID_ARGUMENT',
  DIRECTORY_FILE_INVALID: 'INVALID_ARGUMENT',
  /** A document that a matrix is read from is not as expected. */
  DOCUMENT_INVALID: 'INVALID_ARGUMENT',
  /** A file of policy tests is not as expected. */
  TESTS_INVALID: 'INVALID_ARGUMENT',
  /** A file, a folder or the environment is not as the command needs it. */
  FAILED_PRECONDITION: 'FAILED_PRECONDITION',
  ADDRESS_IN_USE: 'FAILED_PRECONDITION',
  OUTPUT_FAILED: 'FAILED_PRECONDITION',
  /** A person was asked and did not say yes. Nothing was changed. */
  NOT_CONFIRMED: 'CANCELLED',
  /** Ctrl-C, and what was begun is removed. */
  INTERRUPTED: 'CANCELLED',
  /** A defect of this program. */
  INTERNAL: 'INTERNAL',
} as const

export type CommandReason = keyof typeof COMMAND_REASONS

/** An error that the command line finds, before or after the sidecar is asked. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly reason: CommandReason
  /** Places in a file that are not as expected. */
  readonly problems: readonly Problem[]

  constructor(reason: CommandReason, message: string, problems: readonly Problem[] = []) {
    super(message)
    this.reason = reason
    this.problems = problems
  }
}

/** The command was not given as expected. */
export function usageError(message: string): CommandError {
  return new CommandError('USAGE', message)
}

/** Whether the program ends by Ctrl-C, as the shell expects it. */
export function isInterruption(error: unknown): boolean {
  return error instanceof CommandError && error.reason === 'INTERRUPTED'
}

/** The error as `--json` prints it. */
interface ErrorShown {
  /** Name of a gRPC status. */
  readonly code: string
  /** Upper snake case; the same as `code` where there is nothing more to say. */
  readonly reason: string
  readonly message: string
  /** Fields that are not as expected. */
  readonly violations: readonly { readonly field: string; readonly description: string }[]
  /** Further facts of the sidecar, where there are any. */
  readonly metadata?: Readonly<Record<string, string>>
}

export interface FailureOptions {
  /** Whether `--json` was given. */
  readonly json: boolean
  /** Options that the command has, for what the sidecar calls otherwise. */
  readonly flags?: readonly string[]
  /** The remedy for a person; on a separate line. */
  readonly hint?: string | undefined
}

/**
 * Prints why there is no answer and sets the exit code. Never prints a stack: the message says what went
 * wrong.
 */
export function failWith(error: unknown, { json, flags = [], hint }: FailureOptions): void {
  if (json) process.stderr.write(`${escapedJson(JSON.stringify({ error: errorShown(error, flags) }))}\n`)
  else {
    const prefix = paint('red', 'portcullis:', process.stderr)
    const lines = [`${prefix} ${errorText(error, flags)}`, ...(hint === undefined ? [] : [hint])]
    process.stderr.write(`${forTerminal(lines.join('\n'))}\n`)
  }
  process.exitCode = EXIT.noAnswer
}

/** Says that something is wrong although the command goes on. */
export function warn(text: string, json: boolean): void {
  process.stderr.write(
    json
      ? `${escapedJson(JSON.stringify({ warning: { message: text } }))}\n`
      : `${forTerminal(`${paint('yellow', 'portcullis: warning:', process.stderr)} ${text}`)}\n`,
  )
}

/** Says why there is no output although nothing is wrong. For people: a program has the answer. */
export function note(text: string): void {
  process.stderr.write(`${forTerminal(text)}\n`)
}

/**
 * Decides what happens where output cannot be written. A reader who has gone away has read enough: the
 * command ends with the exit code of its answer. Any other failure means that there is no answer, whatever
 * the command says. A failure of standard error cannot be reported.
 */
export function guardOutput(json: boolean): void {
  process.stderr.on('error', () => {})
  let failed = false
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (failed || code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return
    failed = true
    failWith(new CommandError('OUTPUT_FAILED', `standard output cannot be written (${code})`), { json })
    // The command may set its own exit code after this.
    process.once('exit', () => {
      process.exitCode = EXIT.noAnswer
    })
  })
}

function errorText(error: unknown, flags: readonly string[]): string {
  const { code, reason, message, metadata } = errorShown(error, flags)
  if (!(error instanceof PortcullisError)) return message
  // By which the operator of the sidecar finds the line of its log.
  const request = metadata?.request_id === undefined ? '' : ` (request ${metadata.request_id})`
  // Any other error is an answer of the sidecar: it says why it cannot answer the question.
  const prefix = ['UNAVAILABLE', 'DEADLINE_EXCEEDED'].includes(code) ? 'no answer, ' : ''
  return `${prefix}${code}${reason === code ? '' : ` ${reason}`}: ${message.replaceAll('\n', escaped('\n'))}${request}`
}

function errorShown(error: unknown, flags: readonly string[]): ErrorShown {
  if (error instanceof PortcullisError) {
    const { code, reason, message, violations, metadata } = error
    const hint = code === 'UNAVAILABLE' && reason === '' ? '; start one with `portcullis serve`' : ''
    return {
      code,
      reason: reason === '' ? code : reason,
      message: `${inOptions(message, flags)}${hint}`,
      violations,
      ...(Object.keys(metadata).length > 0 && { metadata }),
    }
  }
  if (error instanceof CallError) {
    const { code, reason, message } = error
    const violations = error.violations.map(({ field, expected }) => ({
      field,
      description: `expected ${expected}`,
    }))
    return { code, reason, message, violations }
  }
  const reason = commandReasonOf(error)
  const message = error instanceof Error ? error.message : String(error)
  return {
    code: COMMAND_REASONS[reason],
    reason,
    message: error instanceof CommanderError ? usageText(message) : message,
    violations: problemsOf(error),
  }
}

/**
 * Commander's message on one line: `error: unknown command 'a'`, with a line `(Did you mean b?)` where it has
 * an idea.
 */
function usageText(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (.*)\)$/, '; did you mean $1')
    .replace(/^unknown option '-[^-].+'$/, '$&; put an argument that begins with `-` after `--`')
}

function commandReasonOf(error: unknown): CommandReason {
  if (error instanceof CommandError) return error.reason
  if (error instanceof CommanderError) return 'USAGE'
  if (!(error instanceof Error)) return 'INTERNAL'
  // By name, because most commands do not need the code that defines these classes.
  if (error.name === 'ConfigError') return 'CONFIGURATION_INVALID'
  if (error.name === 'MatrixError') return 'MATRIX_INVALID'
  return error.name === 'Error' ? 'FAILED_PRECONDITION' : 'INTERNAL'
}

/** The problems that a `CommandError` or a `MatrixError` lists, as violations. */
function problemsOf(error: unknown): ErrorShown['violations'] {
  const { problems = [] } = error as { readonly problems?: readonly Problem[] }
  return problems.map(({ path, expected }) => ({ field: path, description: expected }))
}

/** A sidecar names the header or metadata; on the command line a token is given by an option. */
function inOptions(message: string, flags: readonly string[]): string {
  const given = ['--caller-token-file', '--data'].filter((flag) => flags.includes(flag)).join(' or ')
  return message
    .replace(/one `authorization: Bearer …`/, `another in ${given}`)
    .replace(/`authorization: Bearer …`/, given)
    .replace(/(?<=\()`x-auth-token`/, '--iam-token-file')
}
