/** The parts that the help of every command has: examples, exit codes, groups of commands. */
import { styleText } from 'node:util'
import type { Command } from 'commander'

/** Headings of the overview, in its order. */
export const GROUPS = {
  ask: 'Ask a sidecar:',
  matrix: 'Read the matrix (no sidecar needed):',
  run: 'Run a sidecar:',
  administer: 'Administer accounts through a sidecar:',
  shell: 'Shell and help:',
} as const

export interface HelpParts {
  /** Command lines without `portcullis`. */
  readonly examples: readonly string[]
  /** The meaning of the exit codes, where there is more to say than 0 and 2. */
  readonly exitCodes?: string
  /** Anything else that a reader must know. */
  readonly notes?: readonly string[]
}

/** Adds what follows the options in the help of a command. */
export function addHelpParts(command: Command, { examples, exitCodes, notes = [] }: HelpParts): Command {
  return command.addHelpText('after', () =>
    [
      '',
      title('Examples:'),
      ...examples.map((example) => `  portcullis ${example}`),
      ...(notes.length > 0 ? ['', ...notes] : []),
      '',
      `${title('Exit codes:')} ${exitCodes ?? '0 done, 2 no answer'}.`,
    ].join('\n'),
  )
}

/** Commander takes the style out again where the output shows none. */
export function title(text: string): string {
  return styleText('bold', text, { validateStream: false })
}
