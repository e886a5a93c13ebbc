/** `portcullis lint`: checks a matrix file and shows its conflicts. */
import type { Command } from 'commander'
import type { LintReport } from '../../../matrix/index.ts'
import { columns } from '../../base/text-table.ts'
import { EXIT } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { print, printJson } from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'

export function addLintCommand(program: Command): void {
  const command = program
    .command('lint')
    .description('Check a matrix file: its form, its ids, and that it declares exactly the conflicts it has.')
    .argument('[file]', 'matrix file (default: the shipped matrix)')
    .option('--json', 'print the report, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: ['lint', 'lint matrix.json'],
    exitCodes: '0 no problem, 1 problems, 2 the file cannot be read',
  }).action(async (file: string | undefined, options: { json?: boolean }) => {
    const { lintMatrix, MatrixError, PROBLEMS_MAX, parseMatrix, supportMatrix } = await import(
      '../../../matrix/index.ts'
    )
    const { readMatrixFile } = await import('../../rules/matrix-file/read.ts')
    const bytes = file === undefined ? undefined : readMatrixFile(file)
    let report: LintReport
    try {
      report = lintMatrix(bytes === undefined ? supportMatrix : parseMatrix(bytes))
    } catch (error) {
      if (!(error instanceof MatrixError)) throw error
      report = { conflicts: [], problems: error.problems }
    }
    if (options.json) printJson(report)
    else print(describe(file ?? 'the shipped matrix', report, PROBLEMS_MAX))
    process.exitCode = report.problems.length === 0 ? EXIT.done : EXIT.denied
  })
}

/** @param problemsMax how many problems are listed at most */
function describe(file: string, { conflicts, problems }: LintReport, problemsMax: number): string {
  const rows = conflicts.map(({ derived, declared }) => [
    declared?.id ?? paint('red', 'NOT DECLARED'),
    derived.type,
    [...derived.cells.map(({ api, kind }) => `${api} × ${kind}`), ...derived.apis, ...derived.kinds].join(
      ', ',
    ),
    declared === undefined ? '' : `the ${declared.resolution} decides`,
  ])
  const count = problems.length > problemsMax ? `more than ${problemsMax}` : `${problems.length}`
  const verdict =
    problems.length === 0
      ? paint('green', 'no problem')
      : paint('red', `${count} problem${problems.length > 1 ? 's' : ''}`)
  return [
    ...(rows.length > 0
      ? [paint('bold', 'conflicts between the rows and the statements:'), columns(rows)]
      : []),
    `${file}: ${verdict}`,
    ...problems.map(({ path, expected }) => `  ${path === '' ? '' : `${path}: `}${expected}`),
  ].join('\n')
}
