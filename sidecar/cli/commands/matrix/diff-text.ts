/** The comparison of two matrices as text for a terminal. */
import {
  type AllowedFlip,
  type CellFlip,
  type FieldChange,
  factTexts,
  type KindFlip,
} from '../../../../matrix/index.ts'
import { columns } from '../../../base/text-table.ts'
import { paint } from '../../terminal/terminal.ts'
import {
  conflictsOf,
  type Diff,
  entryText,
  GROUNDS,
  headlineOf,
  LISTED_MAX,
  listsOf,
  modesOf,
  problemText,
  reasonsOf,
  type Side,
  signaturesOf,
  valuesOf,
  verdictOf,
} from './diff-lines.ts'

export function diffText(diff: Diff): string {
  const { before, after, comparison, judged } = diff
  const verdict = verdictOf(diff)
  const entriesOf = signaturesOf(judged)
  const { flips, kindFlips, renames, title } = comparison
  return [
    `${paint('bold', headlineOf(comparison))}: ${before.name} → ${after.name}`,
    ...section('', flips, flipRows(diff)),
    ...section('', kindFlips, kindFlipRows(diff)),
    ...section('renamed:', renames, (shown) =>
      shown.map(({ from, to, because, lost, gained }) => [
        ...['  ', `${from} → ${to}`, GROUNDS[because]],
        [
          `who asks for \`${from}\` gets UNKNOWN_API${kindsOf(lost)}`,
          ...(gained.length === 0 ? [] : [`\`${to}\` opens${kindsOf(gained)}`]),
        ].join('; '),
        signedText(entriesOf(...lost, ...gained)),
      ]),
    ),
    ...(title === undefined ? [] : [fieldText(title)]),
    ...listsOf(comparison).flatMap(({ heading, lines }) =>
      section(`${heading}:`, lines, (shown) =>
        shown.map(({ what, id, fields }) => ['  ', what, id, fields.map(fieldText).join(', ')]),
      ),
    ),
    ...problemLines(before),
    ...problemLines(after),
    ...judged.expired.map((entry) => `${paint('yellow', 'expired')}  ${entryText(entry)}`),
    ...judged.unused.map((entry) => `${paint('yellow', 'unused')}  ${entryText(entry)}`),
    ...(verdict === '' ? [] : [paint('red', verdict)]),
  ].join('\n')
}

/** The first of the items under a heading, and how many more there are. */
function section<T>(
  heading: string,
  items: readonly T[],
  rowsOf: (shown: readonly T[]) => readonly (readonly string[])[],
): string[] {
  if (items.length === 0) return []
  const more = items.length - LISTED_MAX
  return [
    ...(heading === '' ? [] : [paint('bold', heading)]),
    columns(rowsOf(items.slice(0, LISTED_MAX))),
    ...(more > 0 ? [paint('dim', `${heading === '' ? '' : '  '}and ${more} more; --json has all`)] : []),
  ]
}

const COLOURS = {
  opened: 'red',
  closed: 'yellow',
  loosened: 'red',
  changed: 'red',
  tightened: 'yellow',
} as const

function flipRows({ judged }: Diff): (shown: readonly CellFlip[]) => string[][] {
  const entriesOf = signaturesOf(judged)
  return (shown) =>
    shown.map((flip) => [
      paint(COLOURS[flip.direction], flip.direction),
      flip.renamedFrom === undefined ? flip.api : `${flip.api} (before: ${flip.renamedFrom})`,
      ...[flip.kind, modesOf(flip), reasonsOf(flip), conflictsOf(flip).join(', ')],
      signedText(entriesOf(flip)),
    ])
}

function kindFlipRows({ judged }: Diff): (shown: readonly KindFlip[]) => string[][] {
  const entriesOf = signaturesOf(judged)
  return (shown) =>
    shown.map((flip) => [
      ...[paint(COLOURS[flip.direction], flip.direction), flip.kind, flip.field],
      ...[factTexts(flip).join(' → '), signedText(entriesOf(flip))],
    ])
}

function signedText(entries: readonly AllowedFlip[]): string {
  return entries.map(({ until, reason }) => `signed off until ${until}: ${reason}`).join('; ')
}

function kindsOf(flips: readonly CellFlip[]): string {
  return flips.length === 0 ? '' : ` (${flips.map(({ kind }) => kind).join(', ')})`
}

function fieldText(change: FieldChange): string {
  const values = valuesOf(change)
  return values.length === 0 ? change.field : `${change.field}: ${values.join(' → ')}`
}

function problemLines({ name, problems }: Side): string[] {
  if (problems.length === 0) return []
  const lines = problems.map((problem) => {
    const { line, column } = problem
    return `  ${line === undefined ? '' : `${name}:${line}:${column}: `}${problemText(problem)}`
  })
  const heading = `${name} is not finished; a conflict that is not declared contests no cell:`
  return [paint('yellow', heading), ...lines]
}
