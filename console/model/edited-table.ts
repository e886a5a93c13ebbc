/** The table of a matrix that is edited: the marks of its rows, and which of them are others than before. */
import type { Api, Matrix, TokenKind } from '../../engine/index.ts'
import type { State } from './playground.ts'

export interface EditedCell {
  readonly api: Api
  readonly kind: TokenKind
  /** Whether the row marks the kind. */
  readonly accepted: boolean
  /** Whether the mark is another one than in the matrix that is compared with. */
  readonly changed: boolean
  /** Whether a contradiction is about the cell, and is not resolved yet. */
  readonly conflict: 'open' | 'resolved' | undefined
}

export interface EditedRow {
  readonly api: Api
  /** Whether the matrix that is compared with has no such id. */
  readonly isNew: boolean
  /** In the order of the kinds. */
  readonly cells: readonly EditedCell[]
}

/** @param before the matrix that is compared with */
export function editedRows({ matrix, open }: State, before: Matrix): readonly EditedRow[] {
  const rowsBefore = new Map(before.apis.map((api) => [api.id, api.accepts]))
  const conflicts = new Map<string, EditedCell['conflict']>([
    ...placesOf(matrix.conflicts, 'resolved'),
    ...placesOf(open, 'open'),
  ])
  return matrix.apis.map((api) => {
    const was = rowsBefore.get(api.id)
    return {
      ...{ api, isNew: was === undefined },
      cells: matrix.tokenKinds.map((kind): EditedCell => {
        const accepted = api.accepts.includes(kind.id)
        return {
          ...{ api, kind, accepted, changed: accepted !== (was?.includes(kind.id) === true) },
          conflict: conflicts.get(`${api.id} ${kind.id}`),
        }
      }),
    }
  })
}

function placesOf(
  conflicts: Matrix['conflicts'],
  as: EditedCell['conflict'],
): (readonly [place: string, as: EditedCell['conflict']])[] {
  return conflicts.flatMap(({ cells }) => cells.map(({ api, kind }) => [`${api} ${kind}`, as] as const))
}
