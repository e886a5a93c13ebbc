/** `portcullis decisions`: searches decision logs. */
import { type Command, Option } from 'commander'
import { REASONS } from '../../../engine/index.ts'
import { COUNTED } from '../../signals/decision-log/counts.ts'
import { SHADOW_DIRECTIONS } from '../../usecases/shadow.ts'
import { usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { configOption } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { LOG_TIMES } from './log-times.ts'
import type { DecisionsOptions } from './search-decisions.ts'

/** Most decisions that are printed with the newest first: they wait until the search has ended. */
const LIMIT_MAX = 100_000

export function addDecisionsCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('decisions')
    .description('Search decision logs: what was asked, what was decided and why.')
    .argument(
      '[log...]',
      'files, also compressed ones, folders, or - for standard input (default: the log of the configuration, with its replaced files)',
    )
  for (const option of LOG_TIMES) command.addOption(option)
  command
    .option('--user <user>', 'only decisions about tokens of this user: the name, or the id in the log')
    .option(
      '--token',
      'only decisions about the token whose value is in PORTCULLIS_HEADER, or is typed when it is asked for',
    )
    .option(
      '--token-file <file>',
      'the same, with the value in the first line of a file; - is standard input',
    )
    .option('--fingerprint <fingerprint>', 'the same, by the fingerprint in the log', fingerprintOf)
    .option('--api <api>', 'only decisions about this API')
    .addOption(new Option('--reason <reason>', 'only decisions with this reason').choices([...REASONS]))
    .addOption(
      new Option(
        '--shadow <difference>',
        'only decisions that matrix_shadow would have made otherwise',
      ).choices([...SHADOW_DIRECTIONS]),
    )
    .option('--allowed', 'only decisions that allow')
    .option('--denied', 'only decisions that deny')
    .option(
      '--account <account>',
      'only decisions about this account: of the token, the user or the resource',
    )
    .option('--project <project>', 'only decisions about this project: of the token or the resource')
    .option('--request-id <id>', 'only decisions of the request, or of the trace, with this id')
    .option('--client-address <ip>', 'only decisions about requests from this IP address')
    .option('--limit <n>', 'print so many decisions at most (default: 100; with --explain: 1)', limitOf)
    .option('--oldest-first', 'begin with the oldest decision (default: with the newest)')
    .addOption(
      new Option('--count [member]', 'print how many decisions there are, or how many of each value').choices(
        Object.keys(COUNTED),
      ),
    )
    .option('--explain', 'print decisions whole, with their sentence and what the rules decide now')
    .option('--matrix <file>', 'matrix for --explain (default: as the configuration says)')
    .option('--strict', 'with --explain: compare with strict mode')
    .option('--data <dir>', 'data folder, for names and fingerprints (default: as the configuration says)')
    .addOption(
      configOption('configuration file of the sidecar, which names its decision log and its directory'),
    )
    .option('--json', 'print each decision, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: [
      'decisions --denied --since 2d --user worker',
      'decisions --config portcullis.yaml --request-id 7f2504e0-4f89-41d3-9a0c-0305e82c3302 --explain',
      'decisions decisions.log decisions.log.1.gz --denied --count reason',
    ],
    exitCodes: '0 found, 1 nothing found, 2 no answer, or a part of a log cannot be read',
    notes: [
      'Times are UTC. A decision has the id of its user, and the name is looked up in the directory, if it can be read here.',
      'Only a data folder with the pepper of the sidecar can find a token by its value. The value is never an argument.',
    ],
  }).action(async (logs: string[], options: DecisionsOptions) =>
    (await import('./search-decisions.ts')).searchDecisions(logs, options, terminal),
  )
}

/** The given text may be the token itself, so it is not shown. */
function fingerprintOf(text: string): string {
  if (!/^[0-9a-f]{32}$/i.test(text))
    throw usageError('--fingerprint: expected 32 hexadecimal digits; --token takes the value of a token')
  return text.toLowerCase()
}

function limitOf(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text) || Number(text) > LIMIT_MAX)
    throw usageError(`--limit: expected a whole number from 1 to ${LIMIT_MAX}`)
  return Number(text)
}
