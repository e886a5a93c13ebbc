/** The work of `portcullis matrix source`. It is loaded when the command runs. */
import { dirname, join } from 'node:path'
import { differencesOf } from '../../../../matrix/import/index.ts'
import { compareMatrices } from '../../../../matrix/index.ts'
import { CommandError, EXIT, usageError } from '../../terminal/errors.ts'
import { print, printJson } from '../../terminal/output.ts'
import { AS_IN_THE_MATRIX } from './diff-lines.ts'
import {
  type DocumentOptions,
  mergedWith,
  readAs,
  readDocumentFile,
  readMatrixIfThere,
  readOptionsOf,
  refuseOpen,
  refuseUnknownMarks,
} from './read-document.ts'
import { writeMerged } from './run-import.ts'
import {
  type SourceReport,
  sourceAnnotations,
  sourceMarkdown,
  sourceSarif,
  sourceText,
} from './source-texts.ts'

export interface SourceOptions extends Pick<DocumentOptions, 'mark' | 'resolve' | 'reason'> {
  readonly matrix?: string
  readonly format?: 'text' | 'json' | 'markdown' | 'sarif' | 'github'
  readonly write?: boolean
  readonly json?: boolean
}

/** @throws CommandError or MatrixError that names the file */
export function runSource(given: string | undefined, options: SourceOptions): void {
  const { matrix: path, write = false, format = options.json ? 'json' : 'text' } = options
  if (options.json && format !== 'json') throw usageError('expected one of --json and --format')
  if (path === undefined) throw usageError('--matrix: expected the path of a file')
  const file = readMatrixIfThere(path)
  if (file === undefined) throw new CommandError('FAILED_PRECONDITION', `${path} cannot be read (ENOENT)`)
  const { source } = file.matrix
  if (source === undefined)
    throw new CommandError(
      'FAILED_PRECONDITION',
      `${path} does not say which document it was read from; \`portcullis matrix import\` writes that`,
    )
  const document = readDocumentFile(given ?? join(dirname(path), source.document))
  const read = readOptionsOf(options, file.matrix)
  const reading = readAs(document, read, file.matrix)
  refuseUnknownMarks(document, reading)
  const merged = mergedWith(document, reading, read, file, options)
  const differences = differencesOf(file.matrix, reading, merged)
  if (write) refuseOpen(path, merged)
  const { written } = write ? writeMerged(path, merged, file, true) : { written: false }
  const { flips } = compareMatrices(file.matrix, merged.matrix)
  const report: SourceReport = {
    ...{ document: document.path, matrix: path, differences, flips, written },
    moved: source.digest !== document.digest,
  }
  show(report, format)
  process.exitCode = differences.length === 0 || write ? EXIT.done : EXIT.denied
}

function show(report: SourceReport, format: NonNullable<SourceOptions['format']>): void {
  if (format === 'json') printJson(report, AS_IN_THE_MATRIX)
  else if (format === 'text') print(sourceText(report))
  else if (format === 'markdown') print(sourceMarkdown(report))
  else process.stdout.write(format === 'sarif' ? sourceSarif(report) : sourceAnnotations(report))
}
