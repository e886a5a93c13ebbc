/** Reads the document of a matrix, and merges what it says into the matrix. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename, dirname, relative, resolve, sep } from 'node:path'
import type { Matrix, Place } from '../../../../engine/index.ts'
import { editJson } from '../../../../matrix/document/edit.ts'
import { yamlEditor } from '../../../../matrix/document/edit-yaml.ts'
import type { Resolution } from '../../../../matrix/edits.ts'
import {
  type Carriage,
  DOCUMENT_BYTES_MAX,
  DocumentError,
  documentText,
  formatOfName,
  type MarkMeaning,
  type Merged,
  mergeReading,
  nameKey,
  type Reading,
  type ReadOptions,
  readDocument,
  readOptionsWith,
  writtenMatrix,
} from '../../../../matrix/import/index.ts'
import { loadMatrix, MatrixError } from '../../../../matrix/index.ts'
import { checkedMatrix } from '../../../../matrix/load.ts'
import { matrixText } from '../../../../matrix/new-matrix.ts'
import { FileTooLong, readAtMost } from '../../../base/bounded-file.ts'
import { matrixForm, readMatrixFile, yamlLibrary } from '../../../rules/matrix-file/read.ts'
import { CommandError, usageError } from '../../terminal/errors.ts'
import { counted } from '../../terminal/output.ts'
import { placeOf } from './edit.ts'

/** The options that say how a document is read. */
export interface DocumentOptions {
  readonly table?: string
  readonly kinds?: 'columns' | 'rows'
  readonly mark?: readonly string[]
  readonly name?: readonly string[]
  readonly leaveOut?: readonly string[]
  readonly public?: string
  readonly by?: 'operation' | 'path' | 'tag'
  readonly title?: string
  readonly place?: readonly string[]
  readonly resolve?: 'table' | 'prose'
  readonly reason?: string
}

/** A matrix file as it is now. */
export interface MatrixFile {
  readonly path: string
  readonly bytes: Buffer
  readonly text: string
  readonly matrix: Matrix
}

/** A document that is read. */
export interface DocumentFile {
  readonly path: string
  readonly text: string
  /** Of its bytes. */
  readonly digest: string
}

/** @throws CommandError with one sentence that names the document */
export function readDocumentFile(path: string): DocumentFile {
  return naming(path, () => {
    const bytes = bytesOf(path)
    const digest = `sha256-${createHash('sha256').update(bytes).digest('hex')}`
    return { path, text: documentText(bytes), digest }
  })
}

function bytesOf(path: string): Buffer {
  try {
    return readAtMost(path, DOCUMENT_BYTES_MAX)
  } catch (error) {
    if (error instanceof FileTooLong)
      throw new DocumentError(`expected at most ${DOCUMENT_BYTES_MAX} bytes, found ${error.bytes}`)
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError('FAILED_PRECONDITION', `${path} cannot be read (${code})`)
  }
}

/** Names the document, and the line where there is one. */
function naming<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    const place = error.line === undefined ? path : `${path}:${error.line}`
    throw new CommandError('DOCUMENT_INVALID', `${place}: ${error.message}`)
  }
}

/** @returns `undefined` where there is no such file @throws MatrixError where it is not valid */
export function readMatrixIfThere(path: string | undefined): MatrixFile | undefined {
  if (path === undefined || !existsSync(path)) return undefined
  const bytes = readMatrixFile(path)
  try {
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
    return { path, bytes, text, matrix: loadMatrix(bytes, matrixForm(path)) }
  } catch (error) {
    throw error instanceof MatrixError ? new MatrixError(error.problems, path) : error
  }
}

/** How a document is read: as the matrix says, and as the options do. @throws CommandError */
export function readOptionsOf(options: DocumentOptions, into: Matrix | undefined): ReadOptions {
  const marks = pairsOf('--mark', options.mark).map(([text, meaning]): [string, MarkMeaning] => {
    if (meaning !== 'yes' && meaning !== 'no' && meaning !== 'note')
      throw usageError('--mark: expected TEXT=yes, TEXT=no or TEXT=note')
    return [text, meaning]
  })
  return readOptionsWith(into, {
    ...(options.table !== undefined && { table: tableOf(options.table) }),
    ...(options.kinds !== undefined && { kinds: options.kinds }),
    ...(options.public !== undefined && { public: options.public }),
    ...(options.by !== undefined && { by: options.by }),
    marks: Object.fromEntries(marks),
    ...(options.name && { names: Object.fromEntries(pairsOf('--name', options.name)) }),
    ...(options.leaveOut && { leaveOut: options.leaveOut }),
  })
}

const tableOf = (written: string): number | string => (/^\d{1,6}$/.test(written) ? Number(written) : written)

function pairsOf(option: string, written: readonly string[] = []): [string, string][] {
  return written.map((text) => {
    const at = text.lastIndexOf('=')
    if (at === -1) throw usageError(`${option}: expected TEXT=VALUE`)
    return [text.slice(0, at), text.slice(at + 1)]
  })
}

/** Where the tokens of new kinds travel, by `--place`; `''`: of kinds for which it names no place. */
function carriagesOf(written: readonly string[] = []): ReadonlyMap<string, Carriage> {
  const places = new Map<string, Place[]>()
  for (const text of written) {
    const [, kind = '', place = ''] = /^(?:([^=]*)=)?(.*)$/s.exec(text) ?? []
    const read = placeOf(place)
    places.set(nameKey(kind), [...(places.get(nameKey(kind)) ?? []), read])
  }
  return new Map(Array.from(places, ([kind, all]) => [kind, carriageIn(all)] as const))
}

/** The short form of one place, where it has one. */
function carriageIn(places: readonly Place[]): Carriage {
  const [first, second] = places
  const isShort = second === undefined && first?.basic === undefined && first?.with === undefined
  return isShort ? (first as Place) : { places }
}

/** @throws CommandError */
export function readAs(document: DocumentFile, read: ReadOptions, into: Matrix | undefined): Reading {
  const { path, text } = document
  return naming(path, () => {
    const format = formatOfName(path)
    return readDocument(text, format, read, matrixForm(path), into)
  })
}

/** @throws CommandError where a mark is not known: all of them, with their lines */
export function refuseUnknownMarks({ path }: DocumentFile, { marks }: Reading): void {
  const unknown = marks.filter(({ meaning }) => meaning === undefined)
  const [first] = unknown
  if (first === undefined) return
  const texts = unknown.slice(0, MARKS_SHOWN_MAX).map(({ mark, count, lines }) => {
    const more = count > lines.length ? ', …' : ''
    return `“${mark}” (${counted(count, 'cell')}, line ${[...new Set(lines)].join(', ')}${more})`
  })
  const more = unknown.length - texts.length
  const listed = `${texts.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  throw new CommandError(
    'DOCUMENT_INVALID',
    `${path}:${first.lines[0]}: expected marks with a known meaning, found ${listed}; add --mark ${JSON.stringify(`${first.mark}=yes`)}, or no, or note`,
  )
}

const MARKS_SHOWN_MAX = 10

/** The matrix with the facts of the document. @throws CommandError */
export function mergedWith(
  document: DocumentFile,
  reading: Reading,
  read: ReadOptions,
  file:
    | Pick<MatrixFile, 'path' | 'matrix'>
    | { readonly path?: string | undefined; readonly matrix?: undefined },
  options: DocumentOptions,
): Merged {
  const carriages = carriagesOf(options.place)
  const used = new Set<string>()
  const carriageOf = (heading: string, id: string): Carriage | undefined => {
    const key = [nameKey(heading), id].find((each) => carriages.has(each))
    if (key !== undefined) used.add(key)
    return carriages.get(key ?? '')
  }
  const merged = mergeReading(reading, file.matrix, {
    source: { document: fromFolderOf(file.path, document.path), digest: document.digest },
    ...{ read, carriageOf, resolution: resolutionOf(options) },
    title: options.title ?? basename(document.path).replace(/\.[^.]*$/, ''),
  })
  const unused = [...carriages.keys()].find((kind) => kind !== '' && !used.has(kind))
  if (unused !== undefined)
    throw usageError(`--place: expected the heading or the id of a new kind of token, found \`${unused}\``)
  return merged
}

/** The path of the document as the matrix names it. */
function fromFolderOf(matrix: string | undefined, document: string): string {
  return relative(matrix === undefined ? '.' : dirname(resolve(matrix)), resolve(document)).replaceAll(
    sep,
    '/',
  )
}

function resolutionOf({ resolve: side, reason }: DocumentOptions): Resolution | undefined {
  if (side === undefined && reason === undefined) return undefined
  if (side === undefined || reason === undefined) throw usageError('expected --resolve and --reason')
  return { resolution: side, reason }
}

/** The text of the file with the merged matrix. @throws MatrixError where it would not be valid */
export function textOfMerged(path: string, { matrix }: Merged, file: MatrixFile | undefined, schema: string) {
  const form = matrixForm(path)
  try {
    const checked = checkedMatrix(matrix)
    if (file === undefined)
      return { text: matrixText(checked, form.id, schema), isAnew: false, matrix: checked }
    const editor = form.id === 'yaml' ? yamlEditor(yamlLibrary()) : editJson
    const written = writtenMatrix(file.text, file.matrix, checked, { form, editor })
    return { ...written, matrix: loadMatrix(written.text, form) }
  } catch (error) {
    throw error instanceof MatrixError ? new MatrixError(error.problems, path) : error
  }
}

/** @throws CommandError where conflicts are left open */
export function refuseOpen(path: string, { open }: Merged): void {
  if (open.length === 0) return
  const conflicts = open.slice(0, 20).map(({ id, type, cells, apis, kinds, statements }) => {
    const about = [...cells.map(({ api, kind }) => `${api} × ${kind}`), ...apis, ...kinds].join(', ')
    return `  ${id}: ${type} about ${about}, by ${statements.join(', ')}`
  })
  throw new CommandError(
    'MATRIX_INVALID',
    [
      `${path} is unchanged, because the document causes ${counted(open.length, 'conflict')} with the statements:`,
      ...conflicts,
      "add --resolve table (the row decides) or --resolve prose (the statement decides), and --reason 'why'",
    ].join('\n'),
  )
}
