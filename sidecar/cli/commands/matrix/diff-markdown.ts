/** The comparison of two matrices as Markdown for a pull request. */
import {
  type AllowedFlip,
  type CellFlip,
  type FieldChange,
  factTexts,
  type Rename,
} from '../../../../matrix/index.ts'
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

export function diffMarkdown(diff: Diff): string {
  const { before, after, comparison, judged } = diff
  const verdict = verdictOf(diff)
  const entriesOf = signaturesOf(judged)
  const { kindFlips, renames, title } = comparison
  return [
    `### Matrix: ${headlineOf(comparison)}`,
    `${code(before.name)} → ${code(after.name)}`,
    ...flipTable(diff),
    ...list(
      'Facts of kinds',
      kindFlips.map((flip) => {
        const values = factTexts(flip).map(code).join(' → ')
        const signed = signedText(entriesOf(flip))
        const by = signed === '' ? '' : `; signed off ${signed}`
        return `**${flip.direction}** ${code(flip.kind)} ${code(flip.field)}: ${values}${by}`
      }),
    ),
    ...list(
      'Renamed',
      renames.map((rename) => renameText(rename, signedText(entriesOf(...rename.lost, ...rename.gained)))),
    ),
    ...(title === undefined ? [] : [`Title: ${fieldText(title)}`]),
    ...listsOf(comparison).flatMap(({ heading, lines }) =>
      list(
        heading.replace(/^\w/, (letter) => letter.toUpperCase()),
        lines.map(({ what, id, fields }) => [`${what} ${code(id)}`, ...fields.map(fieldText)].join(', ')),
      ),
    ),
    ...problemList(before),
    ...problemList(after),
    ...list(
      'Signed off, and over',
      judged.expired.map((entry) => code(entryText(entry))),
    ),
    ...list(
      'Signed off, and not needed',
      judged.unused.map((entry) => code(entryText(entry))),
    ),
    ...(verdict === '' ? [] : [`**${verdict}**`]),
  ].join('\n\n')
}

function flipTable({ comparison: { flips }, judged }: Diff): string[] {
  if (flips.length === 0) return []
  const entriesOf = signaturesOf(judged)
  const rows = flips.slice(0, LISTED_MAX).map((flip) => {
    const signed = signedText(entriesOf(flip))
    return `| ${[
      `**${flip.direction}**`,
      flip.renamedFrom === undefined
        ? code(flip.api)
        : `${code(flip.api)} (before: ${code(flip.renamedFrom)})`,
      code(flip.kind),
      modesOf(flip),
      reasonsText(flip),
      signed,
    ].join(' | ')} |`
  })
  const more = flips.length - LISTED_MAX
  return [
    [
      '| | API | kind of token | where | before → after | signed off |',
      '|---|---|---|---|---|---|',
      ...rows,
    ].join('\n'),
    ...(more > 0 ? [`… and ${more} more; \`--json\` has all`] : []),
  ]
}

function renameText({ from, to, because, lost, gained }: Rename, signed: string): string {
  const kindsOf = (flips: readonly CellFlip[]) =>
    flips.length === 0 ? '' : `: ${flips.map(({ kind }) => code(kind)).join(', ')}`
  return [
    `${code(from)} → ${code(to)} (${GROUNDS[because]}). A caller of ${code(from)} gets \`UNKNOWN_API\`${kindsOf(lost)}`,
    ...(gained.length === 0 ? [] : [`${code(to)} opens${kindsOf(gained)}`]),
    ...(signed === '' ? [] : [`signed off ${signed}`]),
  ].join('; ')
}

function signedText(entries: readonly AllowedFlip[]): string {
  return entries.map(({ until, reason }) => `until ${until}: ${code(reason)}`).join('; ')
}

function reasonsText(flip: CellFlip): string {
  const conflicts = conflictsOf(flip)
  return `${reasonsOf(flip)}${conflicts.length === 0 ? '' : ` (${conflicts.map(code).join(', ')})`}`
}

function list(heading: string, items: readonly string[]): string[] {
  if (items.length === 0) return []
  const more = items.length - LISTED_MAX
  const lines = items.slice(0, LISTED_MAX).map((item) => `- ${item}`)
  return [`**${heading}**`, [...lines, ...(more > 0 ? [`- … and ${more} more`] : [])].join('\n')]
}

function fieldText(change: FieldChange): string {
  const values = valuesOf(change)
  return values.length === 0 ? code(change.field) : `${code(change.field)}: ${values.map(code).join(' → ')}`
}

function problemList({ name, problems }: Side): string[] {
  return list(
    `${code(name)} is not finished; a conflict that is not declared contests no cell`,
    problems.map((problem) => code(problemText(problem))),
  )
}

/**
 * A text as code, without markup and mentions of users. The fence is longer than any run of
 * backticks in the text; a bar would end the column of a table.
 */
export function code(text: string): string {
  const line = text.replaceAll('\n', ' ').replaceAll('|', '\\|')
  const runs = line.match(/`+/g) ?? []
  const fence = '`'.repeat(1 + Math.max(0, ...runs.map(({ length }) => length)))
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${fence}${pad}${line}${pad}${fence}`
}
