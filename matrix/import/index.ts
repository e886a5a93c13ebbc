/**
 * `@portcullis/matrix/import`: reads a table of a document, or an OpenAPI description, as a matrix; and
 * writes a matrix as a table.
 *
 * @module
 */

export { writtenMatrix } from '../write-file.ts'
export { DocumentError } from './blocks.ts'
export { DIFFERENCES, type Difference, differencesOf } from './differences.ts'
export {
  DOCUMENT_BYTES_MAX,
  type DocumentFormat,
  documentText,
  formatOfName,
  formatOfText,
  readDocument,
  readTableText,
  type TableFormat,
} from './document.ts'
export { tableText } from './export.ts'
export type { MarkMeaning } from './marks.ts'
export { type Merged, mergeReading } from './merge.ts'
export {
  type Carriage,
  type CountedMark,
  nameKey,
  type Reading,
  type ReadOptions,
  readOptionsWith,
} from './reading.ts'
export { routesOf, routesText } from './routes.ts'
