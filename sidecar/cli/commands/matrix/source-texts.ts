/** The differences between a matrix and its document, for people and for programs that show lines. */
import { DIFFERENCES, type Difference } from '../../../../matrix/import/index.ts'
import type { CellFlip } from '../../../../matrix/index.ts'
import { columns } from '../../../base/text-table.ts'
import { counted } from '../../terminal/output.ts'
import { paint } from '../../terminal/terminal.ts'
import { LISTED_MAX, modesOf } from './diff-lines.ts'
import { code } from './diff-markdown.ts'
import { annotations, type Shown, sarifText, type Tool } from './lint-texts.ts'

export interface SourceReport {
  readonly document: string
  /** Path of the matrix file. */
  readonly matrix: string
  readonly differences: readonly Difference[]
  /** The cells that would open and close if the matrix said the same. */
  readonly flips: readonly CellFlip[]
  /** Whether the document has other bytes than when it was read. */
  readonly moved: boolean
  /** Whether it was taken over. */
  readonly written: boolean
}

const subjectOf = ({ api, kind, statement }: Difference): string =>
  [api, kind].filter((id) => id !== undefined).join(' × ') || (statement ?? '')

function headlineOf({ document, matrix, differences, moved, written }: SourceReport): string {
  if (written) return `${matrix}: changed, it says what ${document} says`
  if (differences.length > 0) return `${counted(differences.length, 'difference')}: ${document} and ${matrix}`
  return moved
    ? `${document} has changed, and says the same as ${matrix}; --write notes where`
    : `${document} says the same as ${matrix}`
}

export function sourceText(report: SourceReport): string {
  const { document, differences, written } = report
  const rows = differences
    .slice(0, LISTED_MAX)
    .map((each) => [
      ...[`${document}:${each.line}`, paint(COLOURS[each.code] ?? 'yellow', each.code)],
      ...[subjectOf(each), each.text],
    ])
  const more = differences.length - rows.length
  return [
    paint('bold', headlineOf(report)),
    ...(rows.length > 0 ? [columns(rows)] : []),
    ...(more > 0 ? [paint('dim', `and ${more} more; --format json has all`)] : []),
    ...(differences.length > 0 && !written ? ['`--write` takes over what the document says'] : []),
  ].join('\n')
}

const COLOURS: Partial<Record<Difference['code'], 'red'>> = { 'cell-opened': 'red', 'public-opened': 'red' }

export function sourceMarkdown(report: SourceReport): string {
  const { document, differences, flips } = report
  const rows = differences
    .slice(0, LISTED_MAX)
    .map((each) =>
      [`**${each.code}**`, code(subjectOf(each)), code(`${document}:${each.line}`), code(each.text)].join(
        ' | ',
      ),
    )
  const more = differences.length - rows.length
  const opening = flips.map(
    (flip) => `- **${flip.direction}** ${code(`${flip.api} × ${flip.kind}`)}, ${modesOf(flip)}`,
  )
  return [
    `### The document and the matrix: ${differences.length === 0 ? 'the same' : counted(differences.length, 'difference')}`,
    ...(rows.length === 0
      ? []
      : [
          ['| | about | line | the document |', '|---|---|---|---|', ...rows.map((row) => `| ${row} |`)].join(
            '\n',
          ),
        ]),
    ...(more > 0 ? [`… and ${more} more; \`--format json\` has all`] : []),
    ...(opening.length === 0
      ? []
      : [`What taking it over opens and closes:`, opening.slice(0, LISTED_MAX).join('\n')]),
  ].join('\n\n')
}

const TOOL: Tool = {
  name: 'portcullis matrix source',
  rules: Object.fromEntries(
    Object.entries(DIFFERENCES).map(([id, means]) => [
      id,
      {
        means,
        fix: 'Change the document, or take it over: `portcullis matrix source --write`.',
        severity: 'error' as const,
      },
    ]),
  ),
}

function findingsOf({ differences }: SourceReport): Shown[] {
  return differences.map((each) => ({
    ...{ code: each.code, severity: 'error', path: '', line: each.line, column: 1 },
    expected: `${subjectOf(each)}: ${each.text}`,
  }))
}

export const sourceSarif = (report: SourceReport): string =>
  sarifText(report.document, findingsOf(report), TOOL)

export const sourceAnnotations = (report: SourceReport): string =>
  annotations(report.document, findingsOf(report))
