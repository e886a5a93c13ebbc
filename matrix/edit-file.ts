/** Editing a matrix file: the text after an edit, and exactly what that opens and closes. */
import type { Conflict, Matrix } from '../engine/index.ts'
import { type Comparison, compareMatrices } from './compare.ts'
import type { DocumentChange, Editor } from './document/edit.ts'
import type { DocumentForm } from './document/index.ts'
import { changesOf, followUps, type MatrixEdit, missingDeclarations, type Resolution } from './edits.ts'
import { lintMatrix } from './lint.ts'
import { MatrixError, parseMatrix, placed } from './load.ts'
import { writtenMatrix } from './write-file.ts'

export interface EditResult {
  /** The same text: the edit was made already. */
  readonly text: string
  readonly matrix: Matrix
  /** The changes, in both modes. */
  readonly comparison: Comparison
  /** Conflicts that the edit causes and declares. */
  readonly declared: readonly Conflict[]
  /** Ids of declared conflicts that no longer follow, and are removed. */
  readonly removed: readonly string[]
  /** Conflicts that are not declared, so that the result is not valid; with ids that may be resolved. */
  readonly open: readonly Conflict[]
}

/** The functions that read and change a text of a form. */
export interface EditTools {
  readonly form: DocumentForm
  readonly editor: Editor
}

/**
 * Makes an edit. Declared conflicts follow it: those that it ends are removed, and those that it causes are
 * declared where their resolution is given.
 *
 * @param resolution of the conflicts that the edit causes
 * @throws MatrixError where the text, or the result, is not valid for another reason than open conflicts
 */
export function editText(
  text: string,
  tools: EditTools,
  edit: MatrixEdit,
  resolution?: Resolution,
): EditResult {
  const before = parseMatrix(text, tools.form)
  refuseFaults(before, text, tools.form)
  const parsed = editParsed({ text, matrix: before }, tools, edit, resolution)
  const { matrix } = parsed
  return { ...parsed, comparison: compareMatrices(before, matrix), open: missingDeclarations(matrix) }
}

/**
 * As {@link editText}, for a program that makes edit after edit and has read the text already. Its callers
 * compare what it opens and closes.
 *
 * @throws MatrixError where the result is not valid for another reason than open conflicts
 */
export function editParsed(
  { text, matrix: before }: { readonly text: string; readonly matrix: Matrix },
  { form, editor }: EditTools,
  edit: MatrixEdit,
  resolution?: Resolution,
): Omit<EditResult, 'comparison' | 'open'> {
  const apply = (from: string, changes: readonly DocumentChange[]) => changes.reduce(editor, from)
  // A large text takes long to read: the one that was read last is not read again.
  // Survives: `{ text, matrix: before }` → `{}`. It only spares to read the same text once more.
  let last: { readonly text: string; readonly matrix: Matrix } = { text, matrix: before }
  const read = (from: string): Matrix => {
    // Survives: `from !== last.text` → `true`. It only spares to read the same text once more.
    if (from !== last.text) last = { text: from, matrix: parseMatrix(from, form) }
    return last.matrix
  }
  const edited =
    edit.type === 'document'
      ? writtenMatrix(text, before, edit.matrix, { form, editor }).text
      : apply(text, changesOf(before, edit))
  const { changes, removed } = followUps(read(edited))
  const followed = apply(edited, changes)
  const declared =
    resolution === undefined
      ? []
      : causedBy(before, read(followed)).map((conflict) => ({ ...conflict, ...resolution }))
  const result = apply(
    followed,
    declared.map((value) => ({ type: 'append', path: ['conflicts'], value })),
  )
  const matrix = read(result)
  refuseFaults(matrix, result, form)
  return { text: result, matrix, declared, removed }
}

/** Conflicts that are not declared, and were not there before. */
function causedBy(before: Matrix, after: Matrix): readonly Conflict[] {
  const openBefore = new Set(missingDeclarations(before).map(({ id }) => id))
  return missingDeclarations(after).filter(({ id }) => !openBefore.has(id))
}

/** @throws MatrixError where there is anything but conflicts that are not declared */
function refuseFaults(matrix: Matrix, text: string, form: DocumentForm): void {
  // The entry without a code is the count of further ones.
  const faults = lintMatrix(matrix).problems.filter(
    ({ code }) => code !== undefined && code !== 'undeclared-conflict',
  )
  if (faults.length > 0) throw new MatrixError(placed(faults, text, form))
}
