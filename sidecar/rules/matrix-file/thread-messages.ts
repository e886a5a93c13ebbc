/** The messages of the thread that reads a matrix. */
import type { Matrix, Steps } from '../../../engine/index.ts'
import type { MatrixError } from '../../../matrix/index.ts'

/** The input of the thread: the path of a file, or JSON. */
export type ReadByThread = string | Uint8Array

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

export function* partsInSteps({ apis, statements, conflicts, ...head }: Matrix): Steps<MatrixParts> {
  return {
    head: JSON.stringify(head),
    apis: yield* piecesOf(apis),
    statements: yield* piecesOf(statements),
    conflicts: yield* piecesOf(conflicts),
  }
}

function* piecesOf(rows: readonly unknown[]): Steps<string[]> {
  const pieces: string[] = []
  for (let at = 0; at < rows.length; at += ROWS_A_PIECE) {
    pieces.push(JSON.stringify(rows.slice(at, at + ROWS_A_PIECE)))
    yield
  }
  return pieces
}

/** The parts as one text of JSON. */
export function jsonOf({ head, ...lists }: MatrixParts): string {
  const members = Object.entries(lists).map(
    ([name, pieces]) => `"${name}":[${pieces.map((piece) => piece.slice(1, -1)).join(',')}]`,
  )
  return `${head.slice(0, -1)},${members.join(',')}}`
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
