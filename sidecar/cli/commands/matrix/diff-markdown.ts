/** The comparison of two matrices as Markdown for a pull request. */
import type { AllowedFlip, CellFlip, FieldChange, Rename } from '../../../../matrix/index.ts'
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
  const { renames, title } = comparison
  return [
    `### Matrix: ${headlineOf(comparison)}`,
    `${code(before.name)} → ${code(after.name)}`,
    ...flipTable(diff),
    ...list(
      'Renamed',
      renames.map((rename) => renameText(rename, signedText(entriesOf(...rename.lost)))),
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

function renameText({ from, to, because, lost }: Rename, signed: string): string {
  const kinds = lost.length === 0 ? '' : `: ${lost.map(({ kind }) => code(kind)).join(', ')}`
  const allowed = signed === '' ? '' : `; signed off ${signed}`
  return `${code(from)} → ${code(to)} (${GROUNDS[because]}). Who asks for ${code(from)} gets \`UNKNOWN_API\`${kinds}${allowed}`
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
 * A text as code, in which nothing is markup and nobody is mentioned. The fence is longer than any run of
 * backticks in the text; a bar would end the column of a table.
 */
function code(text: string): string {
  const line = text.replaceAll('\n', ' ').replaceAll('|', '\\|')
  const runs = line.match(/`+/g) ?? []
  const fence = '`'.repeat(1 + Math.max(0, ...runs.map(({ length }) => length)))
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${fence}${pad}${line}${pad}${fence}`
}
