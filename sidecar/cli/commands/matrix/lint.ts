/** `portcullis matrix lint`: checks a matrix file, and shows its conflicts. */
import { type Command, Option } from 'commander'
import { EXIT, usageError } from '../../terminal/errors.ts'
import { addHelpParts } from '../../terminal/help.ts'
import { print, printJson } from '../../terminal/output.ts'

const FORMATS = ['text', 'json', 'sarif', 'github'] as const

interface LintOptions {
  readonly format?: (typeof FORMATS)[number]
  readonly json?: boolean
}

export function addMatrixLintCommand(matrix: Command): void {
  const command = matrix
    .command('lint')
    .description('Check a matrix file: its form, its ids, and that it declares exactly the conflicts it has.')
    .argument('[file]', 'matrix file (default: the shipped matrix)')
    .addOption(
      new Option('--format <format>', 'how the findings are printed (default: text)').choices(FORMATS),
    )
    .option('--json', 'as --format json: print the report, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: ['matrix lint', 'matrix lint matrix.yaml', 'matrix lint matrix.json --format sarif'],
    exitCodes: '0 no problem (there may be warnings), 1 problems, 2 the file cannot be read',
    notes: [
      'sarif is SARIF 2.1.0, which code hosts show beside the lines. github is the annotations of GitHub Actions.',
    ],
  }).action(async (file: string | undefined, options: LintOptions) => {
    const { format = options.json ? 'json' : 'text' } = options
    if (options.json && format !== 'json') throw usageError('expected one of --json and --format')
    const { findingsOf, lintFile, supportMatrix } = await import('../../../../matrix/index.ts')
    const { matrixForm, readMatrixFile } = await import('../../../rules/matrix-file/read.ts')
    const report =
      file === undefined ? findingsOf(supportMatrix) : lintFile(readMatrixFile(file), matrixForm(file))
    process.exitCode = report.problems.length === 0 ? EXIT.done : EXIT.denied
    if (format === 'json') return printJson(report)
    const texts = await import('./lint-texts.ts')
    if (format === 'text') return print(texts.reportText(file, report))
    const found = [...report.problems, ...report.warnings]
    const text = format === 'sarif' ? texts.sarifText(file, found) : texts.annotations(file, found)
    process.stdout.write(text)
  })
}
