/** Reads a document in the format that its name says. */
import type { Matrix } from '../../engine/index.ts'
import type { DocumentForm } from '../document/index.ts'
import { DocumentError } from './blocks.ts'
import { readCsv } from './csv.ts'
import { readHtml } from './html.ts'
import { readMarkdown } from './markdown.ts'
import { readOpenApi } from './openapi.ts'
import { readTable } from './read-table.ts'
import { type KnownNames, nameKey, type Reading, type ReadOptions } from './reading.ts'

/** The formats that have tables. */
export type TableFormat = 'markdown' | 'html' | 'csv' | 'tsv'

export type DocumentFormat = TableFormat | 'openapi'

/** Longest document that is read, in bytes. */
export const DOCUMENT_BYTES_MAX: number = 32 * 1024 * 1024

const FORMATS: Readonly<Record<string, DocumentFormat>> = {
  ...{ md: 'markdown', markdown: 'markdown', mdx: 'markdown', html: 'html', htm: 'html', csv: 'csv' },
  ...{ tsv: 'tsv', tab: 'tsv', json: 'openapi', yaml: 'openapi', yml: 'openapi' },
}

/** Of formats that are not read: the one to save the document as. */
const INSTEAD: Readonly<Record<string, string>> = {
  ...{ xlsx: 'CSV', xls: 'CSV', ods: 'CSV', numbers: 'CSV' },
  ...{ adoc: 'HTML', asciidoc: 'HTML', rst: 'HTML', docx: 'HTML', pdf: 'HTML' },
}

/** The format of a document by the ending of its name. @throws DocumentError */
export function formatOfName(name: string): DocumentFormat {
  const ending = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  const format = Object.hasOwn(FORMATS, ending) ? FORMATS[ending] : undefined
  if (format !== undefined) return format
  const instead = Object.hasOwn(INSTEAD, ending) ? `; save it as ${INSTEAD[ending]}` : ''
  throw new DocumentError(`expected a document in Markdown, HTML, CSV, TSV or OpenAPI${instead}`)
}

/** The format of a text that has no name: one that a person pastes. */
export function formatOfText(text: string): TableFormat {
  const hasElement = /<table[\s>]/i.test(text)
  if (hasElement && text.trimStart().startsWith('<')) return 'html'
  const lines = text.split('\n')
  const isRule = (line: string) => line.includes('|') && line.includes('-') && /^[\s|:-]+$/.test(line)
  if (hasElement || lines.some(isRule)) return 'markdown'
  return lines.find((line) => line.trim() !== '')?.includes('\t') ? 'tsv' : 'csv'
}

/** The text of a document in UTF-8, which may begin with a byte order mark. @throws DocumentError */
export function documentText(bytes: Uint8Array): string {
  if (bytes.byteLength > DOCUMENT_BYTES_MAX)
    throw new DocumentError(`expected at most ${DOCUMENT_BYTES_MAX} bytes, found ${bytes.byteLength}`)
  const mark = bytes.subarray(0, 2).join()
  if (mark === '255,254' || mark === '254,255') throw new DocumentError('expected UTF-8, found UTF-16', 1)
  const text = new TextDecoder('utf-8', { fatal: false }).decode(bytes)
  const fault = text.indexOf('\ufffd')
  const isFaulty = fault !== -1 && !isValid(bytes)
  if (isFaulty || text.includes('\0'))
    throw new DocumentError(
      'expected UTF-8 text',
      text.slice(0, Math.max(fault, text.indexOf('\0'))).split('\n').length,
    )
  return text
}

function isValid(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

/**
 * Reads what a document says about kinds of token and APIs.
 *
 * @param form of an OpenAPI description: how its text is read
 * @param into the matrix whose names a heading may be
 * @throws DocumentError with one sentence, and the line where there is one
 */
export function readDocument(
  text: string,
  format: DocumentFormat,
  options: ReadOptions,
  form: DocumentForm,
  into?: Matrix,
): Reading {
  return format === 'openapi'
    ? notTooDeep(() => readOpenApi(text, form, options))
    : readTableText(text, format, options, into)
}

/** As {@link readDocument}, for a document with tables. @throws DocumentError */
export function readTableText(
  text: string,
  format: TableFormat,
  options: ReadOptions,
  into?: Matrix,
): Reading {
  return notTooDeep(() => readTable(blocksOf(text, format), options, namesOf(into)))
}

function notTooDeep(read: () => Reading): Reading {
  try {
    return read()
  } catch (error) {
    if (error instanceof RangeError) throw new DocumentError('expected a document that is not nested so deep')
    throw error
  }
}

function blocksOf(text: string, format: TableFormat) {
  switch (format) {
    case 'markdown':
      return readMarkdown(text)
    case 'html':
      return readHtml(text)
    case 'csv':
      return readCsv(text)
    case 'tsv':
      return readCsv(text, '\t')
  }
}

function namesOf(into: Matrix | undefined): KnownNames {
  const names = (rows: readonly { readonly id: string; readonly title: string }[] = []) =>
    new Set(rows.flatMap(({ id, title }) => [nameKey(id), nameKey(title)]))
  return { kinds: names(into?.tokenKinds), apis: names(into?.apis) }
}
