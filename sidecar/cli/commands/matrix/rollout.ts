/**
 * `portcullis matrix shadow`, `promote` and `rollback`: what the shadow would change, and how it is put in
 * force and taken back.
 */
import type { Command } from 'commander'
import { OPERATOR_NOTE } from '../../administration/administration-commands.ts'
import { addConfirmOption } from '../../terminal/confirm.ts'
import { usageError } from '../../terminal/errors.ts'
import { addHelpParts } from '../../terminal/help.ts'
import { addConnectionOptions, addIdentityOptions, configOption } from '../../terminal/output.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { TIME_HINT, timeFor } from '../../terminal/times.ts'
import type { PromoteOptions, RollBackOptions, ShadowOptions } from './run-rollout.ts'

export function addRolloutCommands(matrix: Command, terminal: Terminal): void {
  addShadow(matrix)
  addPromote(matrix, terminal)
  addRollBack(matrix, terminal)
}

function addShadow(matrix: Command): void {
  const command = matrix
    .command('shadow')
    .description(
      'Show which matrix is in force, what its shadow would change and has changed so far, and the matrices before it, as an operator.',
    )
  addHelpParts(addConnectionOptions(addIdentityOptions(command)), {
    examples: ['matrix shadow', 'matrix shadow --json'],
    notes: [
      OPERATOR_NOTE,
      'The counts are of the process that answers; the metric `portcullis_shadow_differences_total` has all.',
    ],
  }).action(async (options: ShadowOptions) => (await import('./run-rollout.ts')).showShadow(options))
}

function addPromote(matrix: Command, terminal: Terminal): void {
  const command = matrix
    .command('promote')
    .description('Put the shadow in force in every process of the directory, as an operator.')
    .option('--reason <text>', 'why, for the audit trail; it must be given')
  addGateOptions(command)
    .option(
      '--since <time>',
      `only if the shadow is computed beside the matrix in force since then: ${TIME_HINT}`,
      timeFor('--since'),
    )
    .addOption(configOption(CONFIG_OF_SIDECAR))
  addHelpParts(addConfirmOption(addConnectionOptions(addIdentityOptions(command))), {
    examples: [
      'matrix promote --reason agreed --allow allowed.yaml --since 1d',
      'matrix promote --reason agreed --max-opened 2',
    ],
    exitCodes: '0 in force, 1 a cell would open without a sign-off, or the shadow is too young; 2 no answer',
    notes: [OPERATOR_NOTE, ...GATE_NOTES],
  }).action(async ({ reason, ...options }: Partial<PromoteOptions>) => {
    const given = { ...(options as PromoteOptions), reason: reasonOf(reason) }
    return (await import('./run-rollout.ts')).promote(given, terminal)
  })
}

function addRollBack(matrix: Command, terminal: Terminal): void {
  const command = matrix
    .command('rollback')
    .description(
      'Put the matrix before that in force again, in every process of the directory, as an operator.',
    )
    .option('--reason <text>', 'why, for the audit trail; it must be given')
    .option('--to <digest>', 'one of the last ten, by its digest or the beginning of it')
    .option('--to-configured', 'each process has the matrix of its configuration again')
  addGateOptions(command).option(
    '--unseen',
    'go back although the sidecar no longer has one of the two matrices, so that what opens is not known',
  )
  command
    .option(
      '--offline',
      'in the directory itself, without a sidecar: with --data, or as the configuration says',
    )
    .addOption(configOption(CONFIG_OF_SIDECAR))
    .option(
      '--matrix <file>',
      'matrix file of the sidecar, for --offline (default: as the configuration says)',
    )
  addHelpParts(addConfirmOption(addConnectionOptions(addIdentityOptions(command))), {
    examples: [
      'matrix rollback --reason incident-17 --max-opened 2',
      'matrix rollback --to sha256:4f1a --reason incident-17 --allow allowed.yaml',
      'matrix rollback --offline --config portcullis.yaml --reason incident-17',
    ],
    exitCodes: '0 in force, 1 a cell would open without a sign-off, or it is not known; 2 no answer',
    notes: [OPERATOR_NOTE, '`matrix shadow` shows the last ten.', ...GATE_NOTES],
  }).action(async ({ reason, ...options }: Partial<RollBackOptions>) => {
    if (options.to !== undefined && options.toConfigured)
      throw usageError('expected one of --to and --to-configured')
    const given = { ...(options as RollBackOptions), reason: reasonOf(reason) }
    return (await import('./run-rollout.ts')).rollBack(given, terminal)
  })
}

const CONFIG_OF_SIDECAR =
  'configuration file of the sidecar, to say which of its routes the matrix would deny'

const GATE_NOTES = [
  'A cell counts as opened if it opens in one of the modes.',
  'A changed fact of a kind that is neither looser nor tighter counts as loosened.',
]

/** The options for what may open. A promotion and the way back ask alike. */
function addGateOptions(command: Command): Command {
  return command
    .option('--allow <file>', 'YAML or JSON file of the flips that were signed off, each until a day')
    .option(
      '--max-opened <cells>',
      'how many cells may open without a sign-off (default: none)',
      countFor('--max-opened', 'cells'),
      0,
    )
    .option(
      '--max-loosened <facts>',
      'how many facts of kinds may be looser without a sign-off (default: none)',
      countFor('--max-loosened', 'facts'),
      0,
    )
}

/** An option that commander required would come before a mistake in another one. */
function reasonOf(reason: string | undefined): string {
  if (reason === undefined) throw usageError('--reason: expected why, for the audit trail')
  return reason
}

function countFor(option: string, of: string): (text: string) => number {
  return (text) => {
    if (!/^\d{1,7}$/.test(text)) throw usageError(`${option}: expected a number of ${of}, 0 or more`)
    return Number(text)
  }
}
