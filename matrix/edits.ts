/** Edits of a matrix, as changes of its document: a row more, another cell, another name. */
import type { Api, Conflict, Matrix, Statement, TokenKind } from '../engine/index.ts'
import type { DerivedConflict } from './derive.ts'
import type { DocumentChange, DocumentPath } from './document/edit.ts'
import { lintMatrix, NewDeclarations } from './lint.ts'
import { changesBetween } from './write-file.ts'

/** How a conflict is resolved, and why. */
export type Resolution = Pick<Conflict, 'resolution' | 'reason'>

/** The lists of a matrix whose rows are edited. */
export type MatrixPart = 'apis' | 'tokenKinds' | 'statements'

/** A row of a part. */
type PartRow =
  | { readonly part: 'apis'; readonly row: Api }
  | { readonly part: 'tokenKinds'; readonly row: TokenKind }
  | { readonly part: 'statements'; readonly row: Statement }

/** One edit. The ids are in the matrix, but for those of new rows. */
export type MatrixEdit =
  | { readonly type: 'title'; readonly title: string }
  | ({ readonly type: 'add' } & PartRow)
  /** The row with this id has these fields, and no others. */
  | ({ readonly type: 'change' } & PartRow)
  /**
   * Removes what names the row, too: the id in lists of claims and rows, every statement that would say
   * nothing without it, and every declared conflict about it.
   */
  | { readonly type: 'remove'; readonly part: MatrixPart; readonly id: string }
  | { readonly type: 'rename'; readonly part: MatrixPart; readonly id: string; readonly to: string }
  | { readonly type: 'accept' | 'reject'; readonly api: string; readonly kind: string }
  | ({ readonly type: 'resolve'; readonly conflict: string } & Resolution)
  /** The rows and the source are those of this matrix: the one that is edited, with what a document says. */
  | { readonly type: 'document'; readonly matrix: Matrix }

/** The changes of the document that make an edit. None: it is made already. */
export function changesOf(matrix: Matrix, edit: MatrixEdit): DocumentChange[] {
  switch (edit.type) {
    case 'title':
      return matrix.title === edit.title ? [] : [{ type: 'set', path: ['title'], value: edit.title }]
    case 'add':
      return [{ type: 'append', path: [edit.part], value: edit.row }]
    case 'change':
      return changed(matrix, edit)
    case 'remove':
      return removing(matrix, edit.part, edit.id)
    case 'accept':
    case 'reject': {
      const index = matrix.apis.findIndex(({ id }) => id === edit.api)
      const at = (matrix.apis[index] as Api).accepts.indexOf(edit.kind)
      const path = ['apis', index, 'accepts']
      if (edit.type === 'accept') return at === -1 ? [{ type: 'append', path, value: edit.kind }] : []
      return at === -1 ? [] : [{ type: 'remove', path: [...path, at] }]
    }
    case 'resolve':
      return resolving(matrix, edit)
    case 'document':
      return changesBetween(matrix, edit.matrix)
    case 'rename':
      return edit.to === edit.id
        ? []
        : placesOf(matrix, edit.part, edit.id).map((path) => ({ type: 'set', path, value: edit.to }))
  }
}

/** The fields that differ. */
function changed(matrix: Matrix, { part, row }: PartRow): DocumentChange[] {
  const rows: readonly { readonly id: string }[] = matrix[part]
  const index = rows.findIndex(({ id }) => id === row.id)
  const [before, after] = [rows[index], row] as unknown as [Fields | undefined, Fields]
  if (before === undefined) return []
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((field): DocumentChange[] => {
    const [path, value] = [[part, index, field], after[field]]
    if (JSON.stringify(value) === JSON.stringify(before[field])) return []
    return [value === undefined ? { type: 'remove', path } : { type: 'set', path, value }]
  })
}

type Fields = Readonly<Record<string, unknown>>

function resolving(
  matrix: Matrix,
  { conflict: id, resolution, reason }: Extract<MatrixEdit, { type: 'resolve' }>,
): DocumentChange[] {
  const index = matrix.conflicts.findIndex((conflict) => conflict.id === id)
  if (index !== -1)
    return Object.entries({ resolution, reason }).map(([key, value]) => ({
      type: 'set',
      path: ['conflicts', index, key],
      value,
    }))
  const missing = missingDeclarations(matrix).filter((conflict) => conflict.id === id)
  return missing.map((conflict) => ({
    type: 'append',
    path: ['conflicts'],
    value: { ...conflict, resolution, reason },
  }))
}

/** Every place where the id of a row stands: its own first. */
function placesOf({ apis, tokenKinds, statements, conflicts }: Matrix, part: MatrixPart, id: string) {
  const own = { apis, tokenKinds, statements }[part].flatMap((row, index) =>
    row.id === id ? [[part, index, 'id']] : [],
  )
  const claims = statements.flatMap(({ claim }, index) =>
    placesIn(claim, CLAIM_ID_FIELDS[part], id, ['statements', index, 'claim']),
  )
  const declared = conflicts.flatMap((conflict, index) =>
    placesIn(conflict, CONFLICT_FIELDS[part], id, ['conflicts', index]),
  )
  const cells = conflicts.flatMap((conflict, index) =>
    conflict.cells.flatMap((cell, each) =>
      placesIn(cell, CELL_FIELDS[part], id, ['conflicts', index, 'cells', each]),
    ),
  )
  const accepted =
    part === 'tokenKinds' ? apis.flatMap((api, index) => placesIn(api, ['accepts'], id, ['apis', index])) : []
  return [...own, ...accepted, ...claims, ...cells, ...declared]
}

/** The fields that have ids of a part, one of them or a list. */
const CLAIM_ID_FIELDS: Readonly<Record<MatrixPart, readonly string[]>> = {
  apis: ['api', 'apis'],
  tokenKinds: ['kind', 'kinds', 'accepts'],
  // Survives: `[]` → `["Stryker was here"]`. No row has a field of that name.
  statements: [],
}
// Survives: `[]` → `["Stryker was here"]`. No row has a field of that name.
const CELL_FIELDS: typeof CLAIM_ID_FIELDS = { apis: ['api'], tokenKinds: ['kind'], statements: [] }
const CONFLICT_FIELDS: typeof CLAIM_ID_FIELDS = {
  apis: ['apis'],
  tokenKinds: ['kinds'],
  statements: ['statements'],
}

/** Where an id stands in the fields of an object. */
function placesIn(object: object, fields: readonly string[], id: string, at: DocumentPath): DocumentPath[] {
  return fields.flatMap((field): DocumentPath[] => {
    const value = (object as Fields)[field]
    if (value === id) return [[...at, field]]
    if (!Array.isArray(value)) return []
    return value.flatMap((each, index) => (each === id ? [[...at, field, index]] : []))
  })
}

/** From the last place to the first, so that the earlier ones stay where they are. */
function removing(matrix: Matrix, part: MatrixPart, id: string): DocumentChange[] {
  const places = placesOf(matrix, part, id).map((path, index) =>
    index === 0 ? rowOf(path) : goneAt(matrix, path),
  )
  // A statement that goes is named by conflicts.
  const more = places
    .filter((path) => path.length === 2 && path[0] === 'statements')
    .flatMap(([, index]) =>
      placesOf(matrix, 'statements', (matrix.statements[index as number] as Statement).id),
    )
  const gone = [...places, ...more]
  const rows = new Set(gone.map(String))
  const kept = gone.filter((path) => path.length === 2 || !rows.has(String(rowOf(path))))
  return [...new Map(kept.map((path) => [String(path), path])).values()]
    .sort((one, other) => -inOrder(one, other))
    .map((path) => ({ type: 'remove', path }))
}

const rowOf = (path: DocumentPath): DocumentPath => path.slice(0, 2)

/** The part that is removed with the id at a place: the id alone, or a row that means nothing without it. */
function goneAt(matrix: Matrix, path: DocumentPath): DocumentPath {
  const [list, , field] = path
  if (list === 'conflicts') return field === 'statements' ? path : rowOf(path)
  return list === 'statements' && isOnly(matrix, path) ? rowOf(path) : path
}

/** Whether a claim would say nothing without the id at this place. */
function isOnly({ statements }: Matrix, [, index, , field, at]: DocumentPath): boolean {
  if (at === undefined) return true
  const { claim } = statements[index as number] as Statement
  // A row that is repeated may accept nothing.
  return field !== 'accepts' && ((claim as unknown as Fields)[field as string] as unknown[]).length === 1
}

/** By the lists and the places in them. */
function inOrder(one: DocumentPath, other: DocumentPath): number {
  for (const [at, segment] of one.entries()) {
    const against = other[at]
    if (segment === against) continue
    // Both are numbers, or both are names.
    // Survives: `(segment as string) < (against as string)` → `segment as string <= (against as string)`.
    // Equal segments are passed over before.
    return (segment as string) < (against as string) ? -1 : 1
  }
  return 0
}

/** Declarations of the conflicts that a matrix has and does not declare; their reasons are left to write. */
export function missingDeclarations(matrix: Matrix): Conflict[] {
  const declarations = new NewDeclarations(matrix)
  return lintMatrix(matrix)
    .conflicts.filter(({ declared }) => declared === undefined)
    .map(({ derived }: { readonly derived: DerivedConflict }) => declarations.of(derived))
}

/**
 * The effect of an edit on the declared conflicts: those that no longer follow are removed, from the last
 * one, and the others name the statements that take part now.
 */
export function followUps(matrix: Matrix): { changes: DocumentChange[]; removed: string[] } {
  const { conflicts } = lintMatrix(matrix)
  const derivedOf = new Map(conflicts.map(({ derived, declared }) => [declared?.id, derived]))
  const changes: DocumentChange[] = []
  const removed: string[] = []
  for (const [index, { id, statements }] of [...matrix.conflicts.entries()].reverse()) {
    const derived = derivedOf.get(id)
    const path = ['conflicts', index]
    if (derived === undefined) {
      changes.push({ type: 'remove', path })
      removed.unshift(id)
      continue
    }
    for (const [at, each] of [...statements.entries()].reverse())
      if (!derived.statements.includes(each))
        changes.push({ type: 'remove', path: [...path, 'statements', at] })
    for (const each of derived.statements)
      if (!statements.includes(each))
        changes.push({ type: 'append', path: [...path, 'statements'], value: each })
  }
  return { changes, removed }
}
