/** `portcullis matrix diff`: which cells a change of the matrix opens and closes. */
import { type Command, Option } from 'commander'
import { addHelpParts } from '../../terminal/help.ts'
import type { DiffOptions } from './run-diff.ts'

export function addDiffCommand(matrix: Command): void {
  const command = matrix
    .command('diff')
    .description(
      'Compare two matrices: exactly the cells that open and close in each mode, which facts of kinds are looser or tighter, and what else differs.',
    )
    .argument('<old>', 'matrix file, or a file in a revision of git, for example git:HEAD:matrix.json')
    .argument('[new]', 'the same of the other matrix')
    .option('--base <revision>', 'compare one file with what it was in a revision of git')
    .addOption(
      new Option('--format <format>', 'how to print it')
        .choices(['text', 'json', 'markdown'])
        .default('text'),
    )
    .option('--json', 'print the comparison, or the error, as one line of JSON')
    .addOption(
      new Option(
        '--fail-on <direction>',
        'exit with 1 where a cell or a fact of a kind flips so and was not signed off',
      ).choices([...['opened', 'closed', 'any']]),
    )
    .option('--allow <file>', 'YAML or JSON file of the flips that were signed off, each until a day')
  addHelpParts(command, {
    examples: [
      'matrix diff --base HEAD matrix.json',
      'matrix diff old.json new.json --fail-on opened --allow allowed.yaml',
      'matrix diff git:refs/heads/main:matrix.json next.json --format markdown',
    ],
    exitCodes:
      '0 done, 1 a flip that --fail-on names is not signed off, or with --fail-on NEW is not finished, 2 no answer',
    notes: [
      'A looser fact counts as opened, and a tighter one as closed. A fact of a kind that is neither counts as both.',
      'Mark a revision with `git:` or --base. A name that could be a file as well is refused, and so is a name that several branches and tags have.',
      'A matrix that does not declare its conflicts as it should is compared all the same, with its problems beside.',
      'Text and Markdown list the first 100 of each kind of change and count the others; JSON has all.',
    ],
  }).action(async (before: string, after: string | undefined, options: DiffOptions) =>
    (await import('./run-diff.ts')).runDiff(before, after, options),
  )
}
