/** Importing a large table, and comparing it with its matrix, beside reading the same matrix as JSON. */

import type { Matrix } from '../../engine/index.ts'
import {
  type DocumentFormat,
  differencesOf,
  documentText,
  mergeReading,
  readDocument,
  tableText,
} from '../../matrix/import/index.ts'
import { json, loadMatrix } from '../../matrix/index.ts'
import { checkedMatrix } from '../../matrix/load.ts'
import { interleave } from '../harness/compare.ts'
import { comparedRow } from '../harness/rows.ts'
import type { Size, SuiteReport } from '../harness/suite.ts'
import { enlargedMatrix } from '../workloads/matrices.ts'

const SIZES = {
  full: { apis: 100_000, kinds: 4, rounds: 3 },
  smoke: { apis: 300, kinds: 4, rounds: 1 },
} as const

const FORMATS = ['markdown', 'html', 'csv', 'openapi'] as const

export async function importRows(size: Size): Promise<SuiteReport> {
  const { rounds, ...shape } = SIZES[size]
  const matrix = inOrder({ ...enlargedMatrix(shape), statements: [], conflicts: [] })
  const documents = new Map(
    FORMATS.map((format) => [format, new TextEncoder().encode(tableOf(matrix, format))]),
  )
  const bytes = (format: (typeof FORMATS)[number]) => documents.get(format) as Uint8Array
  const made = imported(bytes('markdown'), 'markdown')
  const text = new TextEncoder().encode(JSON.stringify(made))
  const measures = {
    markdown: () => timeOf(() => imported(bytes('markdown'), 'markdown')),
    html: () => timeOf(() => imported(bytes('html'), 'html')),
    csv: () => timeOf(() => imported(bytes('csv'), 'csv')),
    openapi: () => timeOf(() => imported(bytes('openapi'), 'openapi')),
    source: () => timeOf(() => compared(bytes('csv'), made)),
    json: () => timeOf(() => loadMatrix(text)),
  }
  for (const format of FORMATS) refuseOthers(imported(bytes(format), format), matrix)
  await interleave(measures, 1)
  const samples = await interleave(measures, rounds)
  const read = { name: 'JSON, read and checked', samples: samples.json }
  const method = `A table of ${shape.apis.toLocaleString('en')} rows and ${shape.kinds} kinds becomes a checked matrix, in this process; B reads the same matrix as JSON and checks it. A and B take turns.`
  return {
    rows: [
      ...FORMATS.map((format) =>
        comparedRow(
          { id: `import-${format}`, what: `import a large table in ${format}`, method },
          'ms',
          { name: format, samples: samples[format] },
          read,
        ),
      ),
      comparedRow(
        {
          id: 'source',
          what: 'compare a large matrix with its document',
          method: `The document is CSV, read and compared with its matrix, which is in memory. ${method}`,
        },
        'ms',
        { name: 'compare', samples: samples.source },
        read,
      ),
    ],
    answersChecked: 2 * FORMATS.length * shape.apis,
  }
}

/** With its kinds in the order of their first cells, which an OpenAPI description gives them. */
function inOrder(matrix: Matrix): Matrix {
  const used = [...new Set(matrix.apis.flatMap(({ accepts }) => accepts))]
  const tokenKinds = matrix.tokenKinds.toSorted((one, other) => used.indexOf(one.id) - used.indexOf(other.id))
  return { ...matrix, tokenKinds }
}

/** The table in a format. */
function tableOf(matrix: Matrix, format: (typeof FORMATS)[number]): string {
  if (format === 'openapi') return openApiOf(matrix)
  if (format !== 'html') return tableText(matrix, format)
  const heading = ['API', 'id', ...matrix.tokenKinds.map(({ id }) => id)]
  const rows = matrix.apis.map(({ title, id, accepts }) => [
    ...[title, id],
    ...matrix.tokenKinds.map((kind) => (accepts.includes(kind.id) ? '✓' : '–')),
  ])
  const cells = (row: readonly string[], tag: string) =>
    row.map((text) => `<${tag}>${text}</${tag}>`).join('')
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>\n`).join('')
  return `<table>\n<tr>${cells(heading, 'th')}</tr>\n${body}</table>\n`
}

/** With an operation for each API, as generators of descriptions write them. */
function openApiOf({ apis, tokenKinds }: Matrix): string {
  const schemes = tokenKinds.map(({ id }, index) => [
    ...[id, { type: 'apiKey', in: 'header', name: `X-Key-${index}` }],
  ])
  const paths = apis.map(({ id, accepts }) => [
    `/${id}`,
    { get: { operationId: id, security: accepts.map((kind) => ({ [kind]: [] })) } },
  ])
  return JSON.stringify(
    {
      ...{ openapi: '3.0.3', info: { title: 'Large', version: '1' } },
      components: { securitySchemes: Object.fromEntries(schemes) },
      paths: Object.fromEntries(paths),
    },
    undefined,
    2,
  )
}

const NO_SOURCE = { document: 'table', digest: `sha256-${'0'.repeat(64)}` }
const MERGED = { source: NO_SOURCE, read: {}, title: 'Table', carriageOf: () => undefined }

function imported(bytes: Uint8Array, format: DocumentFormat): Matrix {
  const reading = readDocument(documentText(bytes), format, {}, json)
  return checkedMatrix(mergeReading(reading, undefined, MERGED).matrix)
}

function compared(bytes: Uint8Array, matrix: Matrix): void {
  const reading = readDocument(documentText(bytes), 'csv', {}, json, matrix)
  const differences = differencesOf(matrix, reading, mergeReading(reading, matrix, MERGED))
  if (differences.length > 0) throw new Error(`expected no difference, found ${differences.length}`)
}

/** @throws Error where a row has other cells than that of the matrix */
function refuseOthers(made: Matrix, { apis, tokenKinds }: Matrix): void {
  const place = new Map(tokenKinds.map(({ id }, index) => [id, index]))
  const own = new Map(made.tokenKinds.map(({ id }, index) => [id, index]))
  const wrong = apis.find((api, index) => {
    const row = made.apis[index]
    const cells = row?.accepts.map((kind) => own.get(kind)).sort()
    return row?.id !== api.id || String(cells) !== String(api.accepts.map((kind) => place.get(kind)).sort())
  })
  if (wrong !== undefined) throw new Error(`expected the cells of \`${wrong.id}\``)
}

function timeOf(work: () => void): number {
  const start = performance.now()
  work()
  return performance.now() - start
}
