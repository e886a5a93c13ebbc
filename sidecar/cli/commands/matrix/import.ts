/** `portcullis matrix import`, `source` and `export`: a matrix and the document that it is read from. */
import { type Command, Option } from 'commander'
import { addHelpParts } from '../../terminal/help.ts'
import { collect, print, printJson } from '../../terminal/output.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import type { ImportOptions } from './run-import.ts'
import type { SourceOptions } from './run-source.ts'

const MARKS_NOTE = [
  'Marks that it knows: ✓ ✔ ✅ Yes Y X • ● + and ✗ ✘ ❌ No N – — - and an empty cell. Another one is asked for',
  '  on a terminal, and otherwise refused: a mark is never guessed.',
]

export function addDocumentCommands(matrix: Command, terminal: Terminal): void {
  addImportCommand(matrix, terminal)
  addSourceCommand(matrix)
  addExportCommand(matrix)
}

function addImportCommand(matrix: Command, terminal: Terminal): void {
  const command = matrix
    .command('import')
    .description('Read a table of a document, or an OpenAPI description, as a matrix.')
    .argument('<document>', 'Markdown, HTML, CSV, TSV or OpenAPI, by the ending of its name')
    .option('--matrix <file>', 'matrix file: a new one, or one that takes what the document says')
    .option('--write', 'write the matrix file; without it nothing is written')
    .option('--title <title>', 'what a new matrix is called (default: the name of the document)')
    .option('--place <place>', 'where tokens travel: [KIND=]HEADER[: SCHEME]; may be repeated', collect)
    .addOption(
      new Option('--resolve <side>', 'who decides conflicts that the document causes').choices([
        ...['table', 'prose'],
      ]),
    )
    .option('--reason <text>', 'why they are resolved so')
    .option('--routes <file>', 'write the routes of an OpenAPI description to a new file')
  addReadingOptions(command).option('--json', 'print what was understood, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: [
      'matrix import tokens.md',
      'matrix import tokens.md --matrix matrix.yaml --place X-Api-Key --write',
      'matrix import openapi.yaml --by tag --matrix matrix.json --routes portcullis.yaml --write',
    ],
    notes: [
      'It prints the table as it is understood, with the lines of the document, and what it leaves out and why.',
      ...MARKS_NOTE,
      'PLACE is a header, a scheme, and the prefix of the tokens: `Authorization: Bearer bdg_…`,',
      '  `Authorization: Basic (password)`, or `X-Auth-Key with X-Auth-Email`.',
      'In an existing file the rows of the document change, those that came from it and are gone are removed,',
      '  and its kinds, statements and other rows stay.',
    ],
  }).action(async (document: string, options: ImportOptions) =>
    (await import('./run-import.ts')).runImport(document, options, terminal),
  )
}

function addSourceCommand(matrix: Command): void {
  const command = matrix
    .command('source')
    .description('Compare a matrix with the document that it was read from.')
    .argument('[document]', 'the document as it is today (default: the one that the matrix names)')
    .option('--matrix <file>', 'matrix file that `matrix import` has written (required)')
    .addOption(
      new Option('--format <format>', 'how the differences are printed (default: text)').choices([
        ...['text', 'json', 'markdown', 'sarif', 'github'],
      ]),
    )
    .option('--write', 'take over what the document says')
    .option('--mark <mark>', 'what a mark means: TEXT=yes, TEXT=no or TEXT=note; may be repeated', collect)
    .addOption(
      new Option('--resolve <side>', 'who decides conflicts that the document causes').choices([
        ...['table', 'prose'],
      ]),
    )
    .option('--reason <text>', 'why they are resolved so')
    .option('--json', 'as --format json: print the differences, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: [
      'matrix source --matrix matrix.yaml',
      'matrix source docs/tokens.md --matrix matrix.yaml --write',
    ],
    exitCodes: '0 the document says the same, or was taken over; 1 it says something else; 2 no answer',
    notes: [
      'Differences are cells, rows, columns, footnotes, rows that are printed twice, and quotes of statements.',
      'sarif is SARIF 2.1.0, which code hosts show beside the lines. github is the annotations of GitHub Actions.',
    ],
  }).action(async (document: string | undefined, options: SourceOptions) =>
    (await import('./run-source.ts')).runSource(document, options),
  )
}

function addExportCommand(matrix: Command): void {
  const command = matrix
    .command('export')
    .description('Write a matrix as a table, which `matrix import` reads again.')
    .option('--matrix <file>', 'matrix file (default: the shipped matrix)')
    .addOption(
      new Option('--format <format>', 'form of the table').choices(['markdown', 'csv']).default('markdown'),
    )
    .option('--json', 'print the text of the table, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: ['matrix export', 'matrix export --matrix matrix.yaml --format csv'],
    notes: ['In CSV a text that a spreadsheet would take for a formula begins with an apostrophe.'],
  }).action(async ({ matrix: path, format, json }: ExportOptions) => {
    const { tableText } = await import('../../../../matrix/import/index.ts')
    const { supportMatrix } = await import('../../../../matrix/index.ts')
    const { readMatrix } = await import('../../../rules/matrix-file/read.ts')
    const table = tableText(path === undefined ? supportMatrix : readMatrix(path), format)
    if (json) printJson({ format, table })
    else print(table.trimEnd())
  })
}

interface ExportOptions {
  readonly matrix?: string
  readonly format: 'markdown' | 'csv'
  readonly json?: boolean
}

/** How a document is read. */
function addReadingOptions(command: Command): Command {
  return command
    .option('--table <table>', 'number of the table in the document, or the heading above it')
    .addOption(
      new Option('--kinds <side>', 'the side of the table that has the kinds of token').choices([
        ...['columns', 'rows'],
      ]),
    )
    .option('--mark <mark>', 'what a mark means: TEXT=yes, TEXT=no or TEXT=note; may be repeated', collect)
    .option('--name <name>', 'the id of a row or a column: HEADING=ID; may be repeated', collect)
    .option(
      '--leave-out <heading>',
      'heading of a row or a column that is not read; may be repeated',
      collect,
    )
    .option('--public <heading>', 'heading of the column that says which APIs need no token')
    .addOption(
      new Option('--by <unit>', 'what becomes an API of an OpenAPI description (default: operation)').choices(
        [...['operation', 'path', 'tag']],
      ),
    )
}
