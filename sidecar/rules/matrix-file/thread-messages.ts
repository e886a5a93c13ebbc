/** What the thread that reads a matrix sends. */
import type { Matrix, Steps } from '../../../engine/index.ts'
import type { MatrixError } from '../../../matrix/index.ts'

export type FromThread =
  | { readonly type: 'matrix'; readonly parts: MatrixParts }
  | { readonly type: 'invalid'; readonly problems: MatrixError['problems'] }
  | { readonly type: 'unreadable'; readonly message: string; readonly code: string | undefined }

/** A matrix as JSON. Its lists are in pieces, each of which is parsed in a moment. */
export interface MatrixParts {
  readonly head: string
  readonly apis: readonly string[]
  readonly statements: readonly string[]
  readonly conflicts: readonly string[]
}

/** How many rows a piece has. */
const ROWS_A_PIECE = 200

export function partsOf({ apis, statements, conflicts, ...head }: Matrix): MatrixParts {
  return {
    head: JSON.stringify(head),
    apis: piecesOf(apis),
    statements: piecesOf(statements),
    conflicts: piecesOf(conflicts),
  }
}

function piecesOf(rows: readonly unknown[]): string[] {
  return Array.from({ length: Math.ceil(rows.length / ROWS_A_PIECE) }, (_, index) =>
    JSON.stringify(rows.slice(index * ROWS_A_PIECE, (index + 1) * ROWS_A_PIECE)),
  )
}

/** The matrix of the parts. */
export function* matrixOf({ head, apis, statements, conflicts }: MatrixParts): Steps<Matrix> {
  return {
    ...(JSON.parse(head) as Pick<Matrix, 'title' | 'tokenKinds'>),
    apis: yield* rowsOf<Matrix['apis'][number]>(apis),
    statements: yield* rowsOf<Matrix['statements'][number]>(statements),
    conflicts: yield* rowsOf<Matrix['conflicts'][number]>(conflicts),
  }
}

function* rowsOf<T>(pieces: readonly string[]): Steps<T[]> {
  const rows: T[] = []
  for (const piece of pieces) {
    rows.push(...(JSON.parse(piece) as T[]))
    yield
  }
  return rows
}
