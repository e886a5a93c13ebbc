/** `portcullis matrix query`: which cells, APIs or kinds of token an expression fits. */
import type { Command } from 'commander'
import { addHelpParts } from '../../terminal/help.ts'
import type { QueryOptions } from './run-query.ts'

export function addQueryCommand(matrix: Command): void {
  const command = matrix
    .command('query')
    .description('Ask the matrix: which cells, APIs or kinds of token an expression fits.')
    .argument('<expression>', "for example 'opens balance and not opens iam'")
    .option('--matrix <file>', 'matrix file (default: the shipped matrix)')
    .option('--json', 'print the answer, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: ['matrix query contested', 'matrix query contested --matrix matrix.json --json'],
    exitCodes: '0 something fits, 1 nothing does, 2 no answer',
    notes: [
      'opens API (kinds of token), opened by KIND, opened only by KIND (APIs), allowed, contested, marked;',
      'api, title, section, kind, header, scheme, prefix, family, scope, holder, permission, reason, conflict,',
      '  statement with =, !=, ~ (contains) or in (A, B); and, or, not, ( ).',
      'strict.allowed, strict.reason, strict.opens and strict.opened are about strict mode.',
      'The same works in the search of the page. docs/use/matrix.md has examples.',
    ],
  }).action(async (expression: string, options: QueryOptions) =>
    (await import('./run-query.ts')).runQuery(expression, options),
  )
}
