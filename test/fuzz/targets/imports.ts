/** Documents that a matrix is read from. */
import { compile } from '../../../engine/index.ts'
import { json, jsonc } from '../../../matrix/document/index.ts'
import {
  DocumentError,
  type DocumentFormat,
  differencesOf,
  documentText,
  mergeReading,
  type ReadOptions,
  readDocument,
  tableText,
} from '../../../matrix/import/index.ts'
import { checkedMatrix } from '../../../matrix/load.ts'
import { Parts, promised, reading, type Target } from '../target.ts'

const FORMATS: readonly DocumentFormat[] = ['markdown', 'html', 'csv', 'tsv', 'openapi']

const TABLE =
  '# T\n\n| API | Key | Badge |\n|---|---|---|\n| **G** | | |\n| a | ✓ [^1] | no |\n| b | x | Yes (c) |\n\n[^1]: d\n'
const HTML =
  '<h2>T</h2><table><tr><th rowspan=2>API<th colspan=2>Keys</tr><tr><th>A<th>B</tr><tr><td>a<td>x<sup>1</sup><td>&check;</tr></table><ol><li>d</ol>'
const OPENAPI = JSON.stringify({
  openapi: '3.0.0',
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  paths: { '/a/{b}': { get: { tags: ['t'], security: [{ key: [] }] }, put: { security: [] } } },
})

const RESOLVED = { resolution: 'table', reason: 'r' } as const

const merging = (read: ReadOptions, resolution?: typeof RESOLVED) => ({
  source: { document: 'table.md', digest: `sha256-${'0'.repeat(64)}` },
  ...{ read, resolution, title: 'Table', carriageOf: () => undefined },
})

export const targets: readonly Target[] = [
  {
    name: 'imports',
    runsInTests: 100,
    seeds: [
      `\0${TABLE}`,
      `\x01${HTML}`,
      '\x02API;Key;Badge\n"a;b";x;\nc;-;Yes (1)\n(1) d\n',
      '\x03API\tKey\n=a\tx\n',
      `\x04${OPENAPI}`,
    ],
    words: [
      ...[
        '|',
        '\n',
        '---|',
        '✓',
        '–',
        'yes',
        'no',
        '**',
        '[^1]',
        '(1)',
        '<td>',
        '<tr>',
        '</table>',
        '<table>',
      ],
      ...[
        'colspan=2',
        'rowspan=3',
        '"',
        ';',
        ',',
        '\t',
        'sep=;',
        '$ref',
        '#/',
        'security',
        '{}',
        '> ',
        '- ',
        '&lt;',
      ],
    ],
    bytesMax: 4_000,
    stepsMax: (bytes) => 2_000_000 + 20_000 * bytes,
    run: (bytes) => {
      const parts = new Parts(bytes)
      const format = FORMATS[parts.choice(FORMATS.length)] as DocumentFormat
      const rest = parts.rest()
      const text = reading(() => documentText(rest), DocumentError)
      if (text === undefined) return
      const read = reading(() => readDocument(text, format, {}, json), DocumentError)
      if (read === undefined) return
      const lines = text.split(/\r\n|\r|\n/).length
      for (const { line } of [...read.apis, ...read.kinds, ...read.leftOut])
        promised(line >= 1 && line <= lines, 'a row is in a line of the document')
      if (read.kinds.length > 64) return
      const { matrix: merged, open } = mergeReading(read, undefined, merging({}, RESOLVED))
      promised(open.length === 0, 'a resolution leaves no conflict open')
      const matrix = checkedMatrix(merged)
      const again = readDocument(text, format, matrix.source ?? {}, json, matrix)
      promised(
        differencesOf(matrix, again, mergeReading(again, matrix, merging(matrix.source ?? {}))).length === 0,
        'a matrix says the same as the document that it was read from',
      )
      for (const [table, name] of [
        ['markdown', 'markdown'],
        ['csv', 'csv'],
      ] as const) {
        const copy = readDocument(tableText(matrix, table), name, { kinds: 'columns' }, jsonc, matrix)
        const { source: _, ...plain } = matrix
        const back = mergeReading(copy, plain, merging({}))
        promised(
          compile(back.matrix).digest === compile(matrix).digest,
          'a table that was exported is read as the same matrix',
        )
      }
    },
  },
]
