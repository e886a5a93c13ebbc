/** The first content of Compare. It is apart from other examples, because it is loaded with that page. */
import type { Matrix } from '../../engine/index.ts'
import { contestedIn } from './sample.ts'

/**
 * The matrix with a cell that is opened and another that is closed, to compare with.
 *
 * @returns `undefined`: it has no such cells
 */
export function compareExample(matrix: Matrix): Matrix | undefined {
  const kinds = matrix.tokenKinds.map(({ id }) => id)
  const contested = contestedIn(matrix)
  const plain = matrix.apis.filter(({ id }) => !contested.has(id))
  const opened = plain.find(({ accepts }) => accepts.length > 0 && accepts.length < kinds.length)
  const closed = plain.find(({ id, accepts }) => id !== opened?.id && accepts.length > 1)
  if (opened === undefined || closed === undefined) return undefined
  const accepting = (id: string, accepts: readonly string[]) => {
    if (id === opened.id) return kinds.filter((kind) => accepts.includes(kind) || kind === missing)
    return id === closed.id ? accepts.slice(1) : accepts
  }
  const missing = kinds.find((kind) => !opened.accepts.includes(kind))
  const apis = matrix.apis.map((row) => ({ ...row, accepts: accepting(row.id, row.accepts) }))
  return { ...matrix, apis }
}
