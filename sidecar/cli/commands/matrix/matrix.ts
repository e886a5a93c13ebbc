/** `portcullis matrix`: which API accepts which kind of token. */
import type { Command } from 'commander'
import type { Engine } from '../../../../engine/index.ts'
import { addRulesOptions, type RulesOptions } from '../../read-rules.ts'
import { usageError } from '../../terminal/errors.ts'
import { addHelpParts } from '../../terminal/help.ts'
import { durationText, print, printJson } from '../../terminal/output.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { addDiffCommand } from './diff.ts'
import { addMatrixEditCommands } from './edit.ts'
import { addDocumentCommands } from './import.ts'
import { addMatrixInitCommand } from './init.ts'
import { addMatrixLintCommand } from './lint.ts'
import { addQueryCommand } from './query.ts'
import { addRolloutCommands } from './rollout.ts'
import { addMatrixTestCommand } from './test.ts'

export function addMatrixCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('matrix')
    .description('Show which API accepts which kind of token, and where the source contradicts itself.')
    .hook('preSubcommand', handDown)
  for (const add of [addMatrixLintCommand, addDiffCommand, addQueryCommand, addMatrixTestCommand])
    add(command)
  addRulesOptions(command).option('--html <file>', 'write the matrix explorer as one HTML file instead')
  addHelpParts(command, {
    examples: ['matrix', 'matrix --matrix matrix.json --strict --json', 'matrix --html matrix.html'],
    notes: [
      '--json prints the message `Matrix` of the gRPC contract, as GetMatrix returns it.',
      '--html needs no server: the file sends no requests, and can be attached to a pull request.',
    ],
  }).action(async (options: RulesOptions & { readonly html?: string }) => {
    const { html, json } = options
    if (html !== undefined && json) throw usageError('expected one of --html and --json')
    const { readRules } = await import('../../read-rules.ts')
    const { matrix, engine } = readRules(options)
    if (html !== undefined) {
      const { writeExplorer } = await import('./html.ts')
      writeExplorer(html, matrix, engine.strict)
      print(`${html}: the explorer of ${engine.digest}`)
    } else if (json) printJson(await matrixMessage(engine), DURATIONS)
    else {
      const { matrixPage } = await import('./table.ts')
      print(matrixPage(engine))
    }
  })
  addMatrixInitCommand(command, terminal)
  addDocumentCommands(command, terminal)
  addMatrixEditCommands(command)
  addRolloutCommands(command, terminal)
}

/**
 * Commander takes an option that this command has as well for one of this command, wherever it stands. Behind
 * the name of a subcommand it is one of that.
 */
function handDown(command: Command, subcommand: Command): void {
  for (const option of command.options) {
    const name = option.attributeName()
    if (command.getOptionValueSource(name) !== 'cli') continue
    // Of a group, one of its commands is run.
    const having = [subcommand, ...subcommand.commands].filter((each) =>
      each.options.some((has) => has.attributeName() === name),
    )
    if (having.length === 0)
      subcommand.error(`error: unknown option '${option.long}'`, { code: 'commander.unknownOption' })
    for (const each of having) each.setOptionValueWithSource(name, command.getOptionValue(name), 'cli')
  }
}

/** The message of a sidecar with these rules, so that both commands and calls have the same fields. */
async function matrixMessage(engine: Engine): Promise<object | undefined> {
  const { GetMatrixResponse } = await import('../../../../proto/gen/portcullis/v1/authorization.ts')
  const { matrixResponse } = await import('../../../contract/matrix-messages.ts')
  return GetMatrixResponse.decode(matrixResponse(engine)).matrix
}

const DURATIONS = {
  lifetime: (duration: { readonly seconds: number; readonly nanos: number } | undefined) =>
    duration && durationText(duration.seconds * 1000 + duration.nanos / 1e6),
}
