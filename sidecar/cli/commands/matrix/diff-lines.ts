/** The common part of the text and the Markdown of a comparison. */
import {
  type AllowedFlip,
  type CellFlip,
  type Comparison,
  type Direction,
  EVERYONE,
  type FieldChange,
  type Flip,
  type Judged,
  type KindDirection,
  type ListChange,
  type Problem,
} from '../../../../matrix/index.ts'
import { counted } from '../../terminal/output.ts'

/** One of the two matrices. */
export interface Side {
  readonly name: string
  /** The problems that keep it from being loaded, with their places. Empty: it is finished. */
  readonly problems: readonly Problem[]
}

/** All that is printed. */
export interface Diff {
  readonly before: Side
  readonly after: Side
  readonly comparison: Comparison
  readonly judged: Judged
  /** The findings of `--fail-on`: flips of its direction that were not signed off. */
  readonly failing: readonly Flip[]
  /** Whether `--fail-on` found that the new matrix is not finished: its conflicts may close more cells. */
  readonly unsettled: boolean
}

const asIs = (value: unknown) => value

/** How JSON shows values: with the keys that the matrix has. */
export const AS_IN_THE_MATRIX = { before: asIs, after: asIs, to: asIs }

/** Most changes of each kind that are listed. The others are counted. */
export const LISTED_MAX = 100

/** Longest value that is shown, in characters. */
const VALUE_LENGTH_MAX = 60
const PROBLEM_LENGTH_MAX = 160

export function headlineOf({ flips, kindFlips }: Comparison): string {
  const count = (direction: Direction, isOfAll: boolean) =>
    flips.filter((flip) => flip.direction === direction && (flip.kind === EVERYONE) === isOfAll).length
  const cells =
    flips.length === 0
      ? ['no cell opens or closes']
      : [
          opens('API', count('opened', true), 'open', ' for everyone'),
          opens('cell', count('opened', false), 'open'),
          opens('API', count('closed', true), 'close', ' to requests without a token'),
          opens('cell', count('closed', false), 'close'),
        ]
  const facts = KIND_DIRECTIONS.map((each) => {
    const count = kindFlips.filter(({ direction }) => direction === each).length
    return count === 0 ? '' : `${counted(count, 'fact')} of kinds ${each}`
  })
  return [...cells, ...facts].filter((part) => part !== '').join(', ')
}

function opens(what: string, count: number, verb: string, more = ''): string {
  if (count === 0) return ''
  return `${counted(count, what)} ${verb}${count === 1 ? 's' : ''}${more}`
}

const KIND_DIRECTIONS: readonly KindDirection[] = ['loosened', 'changed', 'tightened']

export function modesOf({ modes }: CellFlip): string {
  return modes.length === 2 ? 'both modes' : `${modes.join()} mode only`
}

/** `CONTESTED → ALLOWED`, in the first mode in which the cell flips. */
export function reasonsOf({ modes: [mode = 'lenient'], before, after }: CellFlip): string {
  return `${before[mode]} → ${after[mode]}`
}

/** The conflicts that bear on a cell now, or did before. */
export function conflictsOf({ before, after }: CellFlip): readonly string[] {
  return [...new Set([...after.conflicts, ...before.conflicts])]
}

/** The entries that cover some flips, each once; empty: they were not signed off. */
export function signaturesOf({ signedOff }: Judged): (...flips: readonly Flip[]) => readonly AllowedFlip[] {
  const entries = new Map(signedOff.map(({ flip, by }) => [flip, by]))
  return (...flips) => [...new Set(flips.flatMap((flip) => entries.get(flip) ?? []))]
}

/** The findings of `--fail-on`; empty: none. */
export function verdictOf({ failing, unsettled }: Diff): string {
  return [
    ...(failing.length === 0 ? [] : [`not signed off: ${counted(failing.length, 'flip')}`]),
    ...(unsettled ? ['the new matrix is not finished'] : []),
  ].join('; ')
}

export const GROUNDS = {
  title: 'same title',
  row: 'same section, same kinds and a similar id',
} as const

/** A line of a list: the change of an item, its id, and its fields. */
export interface ListLine {
  readonly what: 'new' | 'gone' | 'changed'
  readonly id: string
  readonly fields: readonly FieldChange[]
}

/** The lists that differ, by their headings. The changes of the kinds that do not flip. */
export function listsOf({ kindFlips, tokenKinds, apis, conflicts, statements }: Comparison) {
  const flipped = new Set(kindFlips.map(({ kind, field }) => `${kind} ${field.replace(/\..*/, '')}`))
  const changed = tokenKinds.changed
    .map(({ id, fields }) => ({ id, fields: fields.filter(({ field }) => !flipped.has(`${id} ${field}`)) }))
    .filter(({ fields }) => fields.length > 0)
  const lists = [
    ['kinds of token', { added: [], removed: [], changed }],
    ['APIs', apis],
    ['conflicts', conflicts],
    ['statements', statements],
  ] as const
  return lists
    .map(([heading, change]) => ({ heading, lines: linesOf(change) }))
    .filter(({ lines }) => lines.length > 0)
}

function linesOf({ added, removed, changed }: ListChange): ListLine[] {
  return [
    ...added.map((id): ListLine => ({ what: 'new', id, fields: [] })),
    ...removed.map((id): ListLine => ({ what: 'gone', id, fields: [] })),
    ...changed.map(({ id, fields }): ListLine => ({ what: 'changed', id, fields })),
  ]
}

/** The values of a field; empty where they are long: JSON has them. */
export function valuesOf({ before, after }: FieldChange): readonly string[] {
  const texts = [before, after].map(valueText)
  return texts.some(({ length }) => length > VALUE_LENGTH_MAX) ? [] : texts
}

function valueText(value: unknown): string {
  if (value === undefined) return 'absent'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The fault of an unfinished matrix; `portcullis matrix lint` says what to write. */
export function problemText({ path, expected }: Problem): string {
  const text = path === '' ? expected : `${path}: ${expected}`
  return text.length > PROBLEM_LENGTH_MAX ? `${text.slice(0, PROBLEM_LENGTH_MAX)}…` : text
}

/** An entry of the file that was signed off. */
export function entryText(entry: AllowedFlip): string {
  const { direction, kind, until, reason } = entry
  const what = 'api' in entry ? `${entry.api} × ${kind}${inMode(entry.mode)}` : `${kind} ${entry.field}`
  return `${direction} ${what}, until ${until}: ${reason}`
}

const inMode = (mode: string | undefined) => (mode === undefined ? '' : ` in ${mode} mode`)
