/** The search as an expression of `portcullis matrix query`. It is loaded with the first one typed. */
import { cellsInSteps } from '../../engine/cells.ts'
import { finish, type Matrix } from '../../engine/index.ts'
import { bindExpression, QueryError } from '../../matrix/query/index.ts'
import type { Fits } from './table.ts'

/** The result of a search: the cells that fit; why it is not an expression; or words. */
export type Read =
  | { readonly type: 'cells'; readonly fits: Fits }
  | { readonly type: 'fault'; readonly message: string }
  | { readonly type: 'words' }

/** Only expressions have these signs: with one of them, words are not meant. */
const SIGNS = /[=~]/

/** The reader of searches in a matrix. */
export function queryReader(matrix: Matrix): (search: string) => Read {
  const cells = finish(cellsInSteps(matrix))
  return (search) => {
    try {
      return { type: 'cells', fits: bindExpression(cells, search).fits }
    } catch (error) {
      if (!(error instanceof QueryError)) throw error
      return SIGNS.test(search) ? { type: 'fault', message: error.message } : { type: 'words' }
    }
  }
}
