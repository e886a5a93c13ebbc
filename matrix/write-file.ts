/** The text of a matrix file with another state of the matrix in it, such as the facts of a document. */
import type { Matrix } from '../engine/index.ts'
import type { DocumentChange, Editor } from './document/edit.ts'
import type { DocumentForm } from './document/index.ts'
import { matrixText } from './new-matrix.ts'

/** Each change of a text reads it once more, so with more of them the text is written anew. */
const EDITS_MAX = 200

/** How a matrix file is read and changed. */
export interface FileTools {
  readonly form: DocumentForm
  readonly editor: Editor
}

export interface WrittenMatrix {
  readonly text: string
  /** Whether the whole text is written anew, without the comments of the old one. */
  readonly isAnew: boolean
}

/**
 * Puts the changes between two states of a matrix into the text of its file. Its layout and its comments stay
 * where there are at most 200 changes.
 */
export function writtenMatrix(
  text: string,
  before: Matrix,
  after: Matrix,
  { form, editor }: FileTools,
): WrittenMatrix {
  const changes = changesBetween(before, after)
  if (changes.length <= EDITS_MAX) return { text: changes.reduce(editor, text), isAnew: false }
  const schema = schemaOf(text, form)
  return { text: matrixText(after, form.id, schema), isAnew: true }
}

/** The schema that a text names, for editors. */
function schemaOf(text: string, { id }: DocumentForm): string | undefined {
  const named = id === 'yaml' ? /^# yaml-language-server: \$schema=(\S+)/m : /"\$schema":\s*"([^"\\]*)"/
  return named.exec(text)?.[1]
}

const LISTS = ['tokenKinds', 'apis', 'statements', 'conflicts'] as const

type Row = { readonly id: string }
type Fields = Readonly<Record<string, unknown>>

/** How often the text is read to put the changes between two states into it. */
export function readsBetween(before: Matrix, after: Matrix): number {
  const { length } = changesBetween(before, after)
  return length > EDITS_MAX ? 1 : Math.max(1, length)
}

/** First what keeps its place, then what goes, from the last one, then what is new. */
export function changesBetween(before: Matrix, after: Matrix): DocumentChange[] {
  const source: DocumentChange[] = isSame(before.source, after.source)
    ? []
    : [{ type: 'set', path: ['source'], value: after.source }]
  const [sets, removals, appends]: [DocumentChange[], DocumentChange[], DocumentChange[]] = [[], [], []]
  for (const list of LISTS) {
    const now = new Map<string, Row>(after[list].map((row: Row) => [row.id, row]))
    const then = new Set(before[list].map(({ id }) => id))
    for (const [index, row] of before[list].entries()) {
      const is = now.get(row.id)
      if (is === undefined) removals.push({ type: 'remove', path: [list, index] })
      else if (is !== row) sets.push(...fieldChanges([list, index], row, is))
    }
    for (const row of after[list])
      if (!then.has(row.id)) appends.push({ type: 'append', path: [list], value: row })
  }
  return [...sets, ...removals.reverse(), ...appends, ...source]
}

function fieldChanges(path: readonly (string | number)[], before: object, after: object): DocumentChange[] {
  const [was, is] = [before as Fields, after as Fields]
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((field): DocumentChange[] => {
    if (isSame(was[field], is[field])) return []
    const at = [...path, field]
    return [
      is[field] === undefined ? { type: 'remove', path: at } : { type: 'set', path: at, value: is[field] },
    ]
  })
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other)
}
