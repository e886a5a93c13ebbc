/** `portcullis replay`: what another matrix would have decided. */
import type { Command } from 'commander'
import { addHelpParts } from '../terminal/help.ts'
import type { ReplayOptions } from './replay-logs.ts'

export function addReplayCommand(program: Command): void {
  const command = program
    .command('replay')
    .description('Run decision logs against another matrix, and print what would change.')
    .argument('<log...>', 'files of a decision log, or - for standard input')
    .option('--matrix <file>', 'the other matrix file (default: the shipped matrix)')
    .option('--strict', 'in strict mode (default: in the mode of each line)')
    .option('--json', 'print the report, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: ['replay decisions.log --matrix matrix.json', 'replay decisions.log --strict --json'],
    exitCodes: '0 nothing would change, 1 something would, or may, or a line is malformed, 2 no answer',
    notes: [
      'What the authorities said about a credential, and which headers a request had, is taken from the log.',
    ],
  }).action(async (logs: string[], options: ReplayOptions) =>
    (await import('./replay-logs.ts')).replayLogs(logs, options),
  )
}
