/** `portcullis replay`: what another matrix would have decided. */
import { type Command, Option } from 'commander'
import { addHelpParts } from '../terminal/help.ts'
import { LOG_TIMES } from './log-times.ts'
import type { FailOn, ReplayOptions } from './replay-logs.ts'

const FAIL_ON: readonly FailOn[] = ['opened', 'closed', 'any']

export function addReplayCommand(program: Command): void {
  const command = program
    .command('replay')
    .description('Run decision logs against another matrix, and print what would change.')
    .argument('<log...>', 'files, also compressed ones, folders, or - for standard input')
  for (const option of LOG_TIMES) command.addOption(option)
  command
    .option('--matrix <file>', 'the other matrix file (default: the shipped matrix)')
    .option('--strict', 'in strict mode (default: in the mode of each line)')
    .addOption(
      new Option('--fail-on <change>', 'end with 1 only if something would change so, or may').choices([
        ...FAIL_ON,
      ]),
    )
    .option('--html <file>', 'write the report as one HTML file, too')
    .option('--json', 'print the report, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: [
      'replay decisions.log --matrix matrix.json',
      'replay decisions.log --matrix matrix.json --fail-on opened --html report.html',
      'replay decisions.log --since 7d --strict --json',
    ],
    exitCodes:
      '0 nothing would change, 1 something would, or may, or a line is malformed, 2 no answer; with --fail-on: 1 only for that',
    notes: [
      '--html needs no server: the file sends no requests. It has accounts, addresses and ids of users, as the log does.',
      'The answers of the authorities about a credential, and the headers of a request, are taken from the log.',
    ],
  }).action(async (logs: string[], options: ReplayOptions) =>
    (await import('./replay-logs.ts')).replayLogs(logs, options),
  )
}
