/** `portcullis matrix diff`: which cells a change of the matrix opens and closes. */
import { type Command, Option } from 'commander'
import { addHelpParts } from '../../terminal/help.ts'
import type { DiffOptions } from './run-diff.ts'

export function addDiffCommand(matrix: Command): void {
  const command = matrix
    .command('diff')
    .description(
      'Compare two matrices: exactly the cells that open and close in each mode, and what else differs.',
    )
    .argument('<old>', 'matrix file, or a file in a revision of git, for example HEAD:matrix.json')
    .argument('<new>', 'the same of the other matrix')
    .addOption(
      new Option('--format <format>', 'how to print it')
        .choices(['text', 'json', 'markdown'])
        .default('text'),
    )
    .option('--json', 'print the comparison, or the error, as one line of JSON')
    .addOption(
      new Option(
        '--fail-on <direction>',
        'exit with 1 where a cell flips so and nobody signed it off',
      ).choices([...['opened', 'closed', 'any']]),
    )
    .option('--allow <file>', 'YAML or JSON file of the flips that somebody signed off, each until a day')
  addHelpParts(command, {
    examples: [
      'matrix diff HEAD:matrix.json matrix.json',
      'matrix diff old.json new.json --fail-on opened --allow allowed.yaml',
      'matrix diff main:matrix.json matrix.json --format markdown',
    ],
    exitCodes:
      '0 done, 1 a flip that --fail-on names is not signed off, or with --fail-on NEW is not finished, 2 no answer',
    notes: [
      'A path that exists as a file is never taken for a revision.',
      'A matrix that does not declare its conflicts as it should is compared all the same, with its problems beside.',
      'Text and Markdown list the first 100 of each kind of change and count the others; JSON has all.',
    ],
  }).action(async (before: string, after: string, options: DiffOptions) =>
    (await import('./run-diff.ts')).runDiff(before, after, options),
  )
}
