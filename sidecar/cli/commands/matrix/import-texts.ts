/** The result of an import, for people. */
import { carriageOf, placesOf } from '../../../../engine/index.ts'
import type { Merged, Reading } from '../../../../matrix/import/index.ts'
import { columns } from '../../../base/text-table.ts'
import { counted } from '../../terminal/output.ts'
import { paint } from '../../terminal/terminal.ts'

/** Most rows that are shown. The others are counted. */
const ROWS_MAX = 100

/** The table with the lines of the document, the kinds, and what is left out. */
export function understoodText(document: string, reading: Reading, merged: Merged): string {
  const { where, line, kindsAre, apis, kinds } = reading
  const place = `${document}:${line}: ${where}`
  const headline = `${paint('bold', place)}: ${counted(apis.length, 'API')}, ${counted(kinds.length, 'kind')}; the kinds are the ${kindsAre}`
  return [
    headline,
    tableOf(reading, merged),
    ...kindLines(reading, merged),
    ...noteLines(merged),
    ...repeatedLines(reading, merged),
    ...leftOutLines(document, reading),
    ...markLines(reading),
  ].join('\n')
}

function tableOf({ apis, saysPublic }: Reading, { matrix, kinds, apis: ids }: Merged): string {
  const rows = new Map(matrix.apis.map((api) => [api.id, api]))
  const shown = apis.slice(0, ROWS_MAX).map(({ line }, index) => {
    const id = ids[index] as string
    const row = rows.get(id)
    return [
      ...[paint('dim', String(line)), id],
      ...kinds.map((kind) => {
        const mark = row?.accepts.includes(kind) ? paint('green', '✓') : paint('dim', '·')
        return row?.notes?.[kind] === undefined ? mark : `${mark} (note)`
      }),
      ...(saysPublic ? [row?.public ? paint('yellow', 'no token needed') : ''] : []),
    ]
  })
  const more = apis.length - shown.length
  return [
    columns([['line', 'api', ...kinds].map((text) => paint('bold', text)), ...shown]),
    ...(more > 0 ? [paint('dim', `and ${more} more; --json has all`)] : []),
  ].join('\n')
}

function kindLines({ kinds }: Reading, { matrix, kinds: ids, assumed }: Merged): string[] {
  const rows = new Map(matrix.tokenKinds.map((kind) => [kind.id, kind]))
  const listed = kinds.map(({ heading }, index) => {
    const id = ids[index] as string
    const row = rows.get(id)
    const isAssumed = assumed.includes(id)
    return [
      ...[
        '  ',
        id,
        `“${heading}”`,
        row === undefined ? '' : `in ${placesOf(row).map(carriageOf).join(', ')}`,
      ],
      isAssumed ? paint('yellow', 'assumed: --place says where it travels') : '',
    ]
  })
  return [paint('bold', 'kinds of token:'), columns(listed)]
}

function noteLines({ matrix, apis }: Merged): string[] {
  const own = new Set(apis)
  const notes = matrix.apis.flatMap(({ id, notes: said }) =>
    own.has(id) ? Object.entries(said ?? {}).map(([kind, text]) => ['  ', `${id} × ${kind}`, text]) : [],
  )
  return section('notes:', notes)
}

function repeatedLines({ repeated }: Reading, { apis }: Merged): string[] {
  return section(
    'printed twice, and kept as statements:',
    repeated.map(({ api, line }) => ['  ', `line ${line}`, apis[api] as string]),
  )
}

function leftOutLines(document: string, { leftOut }: Reading): string[] {
  return section(
    'left out:',
    leftOut.map(({ line, what, why }) => ['  ', `${document}:${line}`, what, why]),
  )
}

function markLines({ marks }: Reading): string[] {
  return section(
    'marks:',
    marks.map(({ mark, meaning, count }) => [
      '  ',
      mark === '' ? 'empty' : mark,
      meaning ?? '',
      String(count),
    ]),
  )
}

function section(heading: string, rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return []
  const more = rows.length - ROWS_MAX
  return [
    paint('bold', heading),
    columns(rows.slice(0, ROWS_MAX)),
    ...(more > 0 ? [paint('dim', `  and ${more} more; --json has all`)] : []),
  ]
}
