/** Edits a matrix file in place, and says which cells that opens and closes, and what it makes of kinds. */
import { readFileSync, realpathSync } from 'node:fs'
import type { Conflict, Matrix } from '../../../../engine/index.ts'
import { editJson } from '../../../../matrix/document/edit.ts'
import { yamlEditor } from '../../../../matrix/document/edit-yaml.ts'
import { type EditResult, editText } from '../../../../matrix/edit-file.ts'
import { type MatrixEdit, missingDeclarations, type Resolution } from '../../../../matrix/edits.ts'
import {
  type Comparison,
  type Direction,
  factTexts,
  flipsOfRenames,
  MatrixError,
  type Mode,
  parseMatrix,
} from '../../../../matrix/index.ts'
import { replaceFile } from '../../../base/data-folder.ts'
import { matrixForm, readMatrixFile, yamlLibrary } from '../../../rules/matrix-file/read.ts'
import { expectKnownId } from '../../read-rules.ts'
import { CommandError, usageError } from '../../terminal/errors.ts'
import { counted, print, printJson } from '../../terminal/output.ts'
import { paint } from '../../terminal/terminal.ts'
import { AS_IN_THE_MATRIX } from './diff-lines.ts'

/** The options of every command that edits. */
export interface EditOptions {
  readonly matrix: string
  readonly table?: boolean
  readonly prose?: boolean
  readonly reason?: string
  readonly dryRun?: boolean
  readonly json?: boolean
}

/**
 * Makes an edit, and prints what it opens and closes.
 *
 * @throws MatrixError where the file or the result is not valid; CommandError where conflicts are left open
 */
export function editMatrixFile(options: EditOptions, edit: MatrixEdit): void {
  const { matrix: path, dryRun = false, json = false } = options
  const form = matrixForm(path)
  const bytes = readMatrixFile(path)
  const editor = form.id === 'yaml' ? yamlEditor(yamlLibrary()) : editJson
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  const resolution = resolutionOf(options)
  const result = inFile(path, () => {
    refuseUnknown(parseMatrix(bytes, form), edit)
    return editText(text, { form, editor }, edit, edit.type === 'resolve' ? undefined : resolution)
  })
  if (edit.type !== 'resolve' && result.open.length > 0) throw unresolved(path, result)
  const changed = result.text !== text
  if (changed && !dryRun) writeChanged(path, bytes, result.text)
  const written = changed && !dryRun
  if (json) printJson({ file: path, written, ...shownAsJson(result) }, AS_IN_THE_MATRIX)
  else print(shown(path, result, changed, dryRun))
}

function inFile<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof MatrixError ? new MatrixError(error.problems, path) : error
  }
}

/** `--table` or `--prose` with `--reason`: all of it, or none. */
export function resolutionOf({
  table = false,
  prose = false,
  reason,
}: Pick<EditOptions, 'table' | 'prose' | 'reason'>): Resolution | undefined {
  if (!table && !prose && reason === undefined) return undefined
  if (table === prose) throw usageError('expected one of --table and --prose')
  if (reason === undefined) throw usageError('--reason: expected why the conflict is resolved so')
  return { resolution: table ? 'table' : 'prose', reason }
}

/** @throws CommandError that names the nearest ids */
function refuseUnknown(matrix: Matrix, edit: MatrixEdit): void {
  const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)
  if ('api' in edit) expectKnownId('API', edit.api, ids(matrix.apis))
  if (edit.type === 'rename') expectKnownId('API', edit.id, ids(matrix[edit.part]))
  if ('kind' in edit) expectKnownId('token kind', edit.kind, ids(matrix.tokenKinds))
  if (edit.type !== 'resolve') return
  const conflicts = [...ids(matrix.conflicts), ...ids(missingDeclarations(matrix))]
  if (conflicts.length === 0) throw usageError('the matrix has no conflict')
  expectKnownId('conflict', edit.conflict, conflicts)
}

/** The edit would leave the matrix refused, and one more option resolves that. */
function unresolved(path: string, { open }: EditResult): CommandError {
  const conflicts = open.map((conflict) => `  ${conflictText(conflict)}`)
  const message = [
    `${path} is unchanged, because the edit causes ${counted(open.length, 'conflict')} with the statements:`,
    ...conflicts,
    "add --table (the row decides) or --prose (the statement decides), and --reason 'why'",
  ].join('\n')
  const problems = open.map((conflict) => ({ path: 'conflicts', expected: conflictText(conflict) }))
  return new CommandError('MATRIX_INVALID', message, problems)
}

function conflictText({ id, type, cells, apis, kinds, statements }: Conflict): string {
  const about = [...cells.map(({ api, kind }) => `${api} × ${kind}`), ...apis, ...kinds].join(', ')
  return `${id}: ${type} about ${about}, by ${statements.join(', ')}`
}

/** Whole, or not at all. A link stays one. @throws CommandError where the file has changed meanwhile */
export function writeChanged(path: string, read: Buffer, text: string): void {
  const file = realpathSync(path)
  if (!readFileSync(file).equals(read))
    throw new CommandError('FAILED_PRECONDITION', `${path} has changed meanwhile, and is left as it is`)
  replaceFile(file, text)
}

/** With the cells of a renamed API: those of the old id close, and those of the new one open. */
const cellsOf = (comparison: Comparison, mode: Mode, direction: Direction) =>
  [...comparison.flips, ...flipsOfRenames(comparison)]
    .filter((flip) => flip.direction === direction && flip.modes.includes(mode))
    .map(({ api, kind }) => ({ api, kind }))

function shownAsJson({ comparison, declared, removed, open }: EditResult): object {
  const modeOf = (mode: Mode) => ({
    opened: cellsOf(comparison, mode, 'opened'),
    closed: cellsOf(comparison, mode, 'closed'),
  })
  const ids = (conflicts: readonly Conflict[]) => conflicts.map(({ id }) => id)
  return {
    lenient: modeOf('lenient'),
    strict: modeOf('strict'),
    kinds: comparison.kindFlips,
    declared: ids(declared),
    removed,
    open: ids(open),
  }
}

function shown(path: string, result: EditResult, changed: boolean, dryRun: boolean): string {
  const { comparison, declared, removed, open } = result
  if (!changed) return `${path}: nothing to do, it says so already`
  const list = (conflicts: readonly Conflict[]) => conflicts.map(({ id }) => id).join(', ')
  return [
    `${path}: ${dryRun ? 'would be changed' : 'changed'}`,
    ...changeLines(comparison),
    ...(declared.length > 0 ? [`declares ${list(declared)}`] : []),
    ...(removed.length > 0 ? [`removes ${removed.join(', ')}, which no longer follows`] : []),
    ...(open.length > 0 ? [paint('yellow', `still to be resolved: ${list(open)}`)] : []),
  ].join('\n')
}

/** The cells that open and close in each mode, and the changes of the kinds. */
export function changeLines(comparison: Comparison): string[] {
  return [
    ...modeLines('without strict mode', comparison, 'lenient'),
    ...modeLines('in strict mode', comparison, 'strict'),
    ...kindLines(comparison),
  ]
}

function modeLines(where: string, comparison: Comparison, mode: Mode): string[] {
  const lines = (['opened', 'closed'] as const).flatMap((type) =>
    cellsOf(comparison, mode, type).map(({ api, kind }) =>
      paint(
        type === 'opened' ? 'green' : 'red',
        `  ${type === 'opened' ? 'opens' : 'closes'} ${api} × ${kind}`,
      ),
    ),
  )
  return lines.length > 0 ? [`${where}:`, ...lines] : [`${where}: opens and closes nothing`]
}

/** The changes of the kinds themselves. */
function kindLines({ kindFlips }: Comparison): string[] {
  const lines = kindFlips.map((flip) => {
    const { direction, kind, field } = flip
    const text = `  ${direction} ${kind} ${field}: ${factTexts(flip).join(' → ')}`
    return paint(direction === 'tightened' ? 'red' : 'green', text)
  })
  return lines.length > 0 ? ['facts of kinds:', ...lines] : []
}
