/** `portcullis matrix test`: policy tests, which say what a matrix must answer. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { addRulesOptions } from '../../read-rules.ts'
import { usageError } from '../../terminal/errors.ts'
import { addHelpParts } from '../../terminal/help.ts'
import { configOption } from '../../terminal/output.ts'
import type { TestOptions } from './policy-tests/test-options.ts'

export function addMatrixTestCommand(matrix: Command): void {
  const command = matrix
    .command('test')
    .description('Run policy tests: questions to a matrix, and the answers that they must get.')
    .argument(
      '[path...]',
      'files of tests, or folders with files named policy-tests.yaml (default: this folder)',
    )
  addRulesOptions(command)
    .addOption(configOption('configuration with the matrix, the mode and the routes'))
    .option('--filter <text>', 'run the tests alone whose name, API or kind contains the text')
    .option('--coverage', 'say which cells, conflicts, reasons and routes the tests have asked about')
    .addOption(
      new Option('--coverage-min <percent>', 'fail where any of these is covered less').argParser(percentOf),
    )
    .addOption(
      new Option('--format <format>', 'form of the report').choices(['text', 'json', 'junit', 'tap']),
    )
    .option('--output <file>', 'write the report to a file, and print the text')
    .option('--watch', 'run again on every change of a file, until Ctrl-C')
    .option('--init [file]', 'write tests that hold the matrix as it is (default: policy-tests.yaml)')
  addHelpParts(command, {
    examples: [
      'matrix test policy-tests.yaml --matrix matrix.json --coverage-min 100',
      'matrix test --format junit --output report.xml',
      'matrix test --init policy-tests.yaml',
    ],
    exitCodes: '0 every test passes, 1 a test fails or too little is covered, 2 the tests cannot be run',
    notes: [
      'In a folder, files are tests whose names end with policy-tests.yaml, .yml or .json.',
      '--strict is the mode of the tests that name none. --json is short for --format json.',
      'A run has at most 1000 files, 2 MiB each and 16 MiB in all, and 10 million questions.',
    ],
  }).action(async (paths: string[], options: TestOptions) => {
    if (options.json && options.format !== undefined && options.format !== 'json')
      throw usageError('expected one of --json and --format')
    if (options.init === undefined)
      await (await import('./policy-tests/run-tests.ts')).testMatrix(paths, options)
    else (await import('./policy-tests/first-tests.ts')).writeTests(paths, options)
  })
}

function percentOf(text: string): number {
  if (!/^\d{1,3}(\.\d+)?$/.test(text) || Number(text) > 100)
    throw new InvalidArgumentError('expected a number from 0 to 100')
  return Number(text)
}
