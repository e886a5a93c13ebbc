/** The work of `portcullis matrix import`. It is loaded when the command runs. */
import { existsSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { Matrix } from '../../../../engine/index.ts'
import {
  type Merged,
  type Reading,
  type ReadOptions,
  routesOf,
  routesText,
} from '../../../../matrix/import/index.ts'
import { compareMatrices } from '../../../../matrix/index.ts'
import { CommandError, usageError } from '../../terminal/errors.ts'
import { counted, print, printJson } from '../../terminal/output.ts'
import { forTerminal, type Terminal } from '../../terminal/terminal.ts'
import { AS_IN_THE_MATRIX } from './diff-lines.ts'
import { changeLines, writeChanged } from './edited-file.ts'
import { understoodText } from './import-texts.ts'
import { SCHEMA_FILE, writeNewFile } from './init-file.ts'
import {
  type DocumentFile,
  type DocumentOptions,
  type MatrixFile,
  mergedWith,
  readAs,
  readDocumentFile,
  readMatrixIfThere,
  readOptionsOf,
  refuseOpen,
  refuseUnknownMarks,
  textOfMerged,
} from './read-document.ts'

export interface ImportOptions extends DocumentOptions {
  readonly matrix?: string
  readonly write?: boolean
  readonly routes?: string
  readonly json?: boolean
}

/** @throws CommandError or MatrixError that names the file */
export async function runImport(path: string, options: ImportOptions, terminal: Terminal): Promise<void> {
  const { matrix: target, write = false, json = false, routes } = options
  if (write && target === undefined) throw usageError('--write: expected --matrix with the file to write')
  if (routes !== undefined && existsSync(routes))
    throw new CommandError('FAILED_PRECONDITION', `${routes} is there already`)
  const document = readDocumentFile(path)
  const file = readMatrixIfThere(target)
  const { read, reading } = await readAsking(document, options, file?.matrix, json ? undefined : terminal)
  refuseUnknownMarks(document, reading)
  const merged = mergedWith(document, reading, read, file ?? { path: target }, options)
  const paths = routesOf(reading, merged.apis)
  const shown = { ...reading, leftOut: [...reading.leftOut, ...paths.leftOut] }
  // It is shown before a refusal, because it helps to resolve what is open.
  if (!json) print(understoodText(path, shown, merged))
  if (target !== undefined) refuseOpen(target, merged)
  const result = writeMerged(target, merged, file, write)
  if (routes !== undefined && write) {
    writeFileSync(routes, routesText(paths.routes, target), { flag: 'wx' })
  }
  if (json) printJson(reportOf(path, shown, merged, result), { ...AS_IN_THE_MATRIX, names: (names) => names })
  else print(endText(result, { routes: paths.routes.length, file: routes, write }))
}

/** Reads, and asks about marks that are not known as long as there is one. */
async function readAsking(
  document: DocumentFile,
  options: ImportOptions,
  into: Matrix | undefined,
  terminal: Terminal | undefined,
): Promise<{ readonly read: ReadOptions; readonly reading: Reading }> {
  const read = readOptionsOf(options, into)
  const reading = readAs(document, read, into)
  if (terminal?.interactive !== true) return { read, reading }
  const marks = { ...read.marks }
  for (const { mark, meaning, count, lines } of reading.marks) {
    if (meaning !== undefined) continue
    const where = `${counted(count, 'cell')}, line ${[...new Set(lines)].join(', ')}`
    const typed = await terminal.ask(forTerminal(`What does “${mark}” mean (${where})? yes, no or note: `))
    const answer = typed.trim().toLowerCase()
    if (answer !== 'yes' && answer !== 'no' && answer !== 'note')
      throw new CommandError('NOT_CONFIRMED', 'expected yes, no or note, so nothing was written')
    marks[mark] = answer
  }
  const asked = { ...read, marks }
  return { read: asked, reading: readAs(document, asked, into) }
}

interface Result {
  readonly target: string | undefined
  readonly isNew: boolean
  readonly isAnew: boolean
  readonly changed: boolean
  readonly written: boolean
  readonly before: Matrix | undefined
  readonly after: Matrix
}

/** Writes the file where it is asked for and says something else. */
export function writeMerged(
  target: string | undefined,
  merged: Merged,
  file: MatrixFile | undefined,
  write: boolean,
): Result {
  // Without a file the text is made all the same: whether it is valid is a part of the answer.
  const name = target ?? 'matrix.json'
  const { text, isAnew, matrix } = textOfMerged(name, merged, file, `./${SCHEMA_FILE}`)
  const changed = file === undefined || text !== file.text
  const written = write && changed && target !== undefined
  if (written) {
    if (file === undefined) writeNewFile(target, text)
    else writeChanged(target, file.bytes, text)
  }
  const isNew = file === undefined
  return { target, isNew, isAnew, changed, written, before: file?.matrix, after: matrix }
}

function endText(
  { target, isNew, isAnew, changed, written, before, after }: Result,
  {
    routes,
    file,
    write,
  }: { readonly routes: number; readonly file: string | undefined; readonly write: boolean },
): string {
  const lines: string[] = []
  if (before !== undefined) lines.push(...changeLines(compareMatrices(before, after)))
  if (isAnew) lines.push('the whole file is written anew, without its comments')
  if (routes > 0 && (file === undefined || !write))
    lines.push(`${counted(routes, 'route')}: --routes FILE writes them with --write`)
  if (file !== undefined && write) lines.push(`${file}: ${counted(routes, 'route')}`)
  if (target === undefined) lines.push('nothing is written: add --matrix FILE and --write')
  else if (!changed) lines.push(`${target}: nothing to do, it says so already`)
  else if (!written) lines.push(`${target}: ${isNew ? 'would be made' : 'would be changed'}: add --write`)
  else lines.push(`${target}: ${isNew ? 'made' : 'changed'}`)
  return lines.join('\n')
}

function reportOf(document: string, reading: Reading, merged: Merged, result: Result): object {
  const { where, line, kindsAre, kinds, repeated, leftOut, marks } = reading
  const { target, changed, written, before, after } = result
  const comparison = before === undefined ? undefined : compareMatrices(before, after)
  const rows = new Map(merged.matrix.apis.map((api) => [api.id, api]))
  return {
    ...{ document: basename(document), where, line, kindsAre },
    kinds: kinds.map(({ heading }, index) => ({ id: merged.kinds[index], heading })),
    apis: reading.apis.map(({ heading, line: at }, index) => {
      const { accepts, notes, public: isPublic } = rows.get(merged.apis[index] as string) ?? {}
      return {
        id: merged.apis[index],
        heading,
        line: at,
        accepts,
        notes: notes && entriesOf(notes),
        public: isPublic,
      }
    }),
    ...{
      repeated: repeated.map(({ api, line: at }) => ({ id: merged.apis[api], line: at })),
      leftOut,
      marks,
    },
    ...{ assumed: merged.assumed, open: merged.open.map(({ id }) => id) },
    ...(comparison && { flips: comparison.flips, kindFlips: comparison.kindFlips }),
    ...{ file: target, changed, written },
  }
}

/** Ids as values: keys are rewritten in JSON. */
const entriesOf = (notes: Readonly<Record<string, string>>) =>
  Object.entries(notes).map(([kind, text]) => ({ kind, text }))
