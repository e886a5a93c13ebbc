/** `portcullis lint`: checks a matrix file and shows its conflicts. */
import type { Command } from 'commander'
import type { LintReport } from '../../matrix/index.ts'
import { columns } from '../base/text-table.ts'
import { EXIT, print, printJson } from './output.ts'

export function addLintCommand(program: Command): void {
  program
    .command('lint')
    .description(
      'Check a matrix file: its form, its ids, and that it declares every conflict it has and no other.',
    )
    .argument('[file]', 'matrix file (default: the shipped matrix)')
    .option('--json', 'print the report as one line of JSON')
    .addHelpText('after', '\nExit codes: 0 no problem, 1 problems, 2 the file cannot be read.')
    .action(async (file: string | undefined, options: { json?: boolean }) => {
      const { lintMatrix, MatrixError, parseMatrix, supportMatrix } = await import('../../matrix/index.ts')
      const { readMatrixFile } = await import('../rules.ts')
      const bytes = file === undefined ? undefined : readMatrixFile(file)
      let report: LintReport
      try {
        report = lintMatrix(bytes === undefined ? supportMatrix : parseMatrix(bytes))
      } catch (error) {
        if (!(error instanceof MatrixError)) throw error
        report = { conflicts: [], problems: error.problems }
      }
      if (options.json) printJson(report)
      else print(describe(file ?? 'the shipped matrix', report))
      process.exitCode = report.problems.length === 0 ? EXIT.done : EXIT.denied
    })
}

function describe(file: string, { conflicts, problems }: LintReport): string {
  const rows = conflicts.map(({ derived, declared }) => [
    declared?.id ?? 'NOT DECLARED',
    derived.type,
    [...derived.cells.map(({ api, kind }) => `${api} × ${kind}`), ...derived.apis, ...derived.kinds].join(
      ', ',
    ),
    declared === undefined ? '' : `the ${declared.resolution} rules`,
  ])
  return [
    ...(rows.length > 0 ? ['conflicts that follow from rows and statements:', columns(rows)] : []),
    problems.length === 0
      ? `${file}: no problem`
      : `${file}: ${problems.length} problem${problems.length > 1 ? 's' : ''}`,
    ...problems.map(({ path, expected }) => `  ${path === '' ? '' : `${path}: `}${expected}`),
  ].join('\n')
}
