/**
 * The results as Markdown for the docs. Each function makes a block that follows from `docs/bench.json` and
 * the code.
 */
import type { Ratio } from '../harness/compare.ts'
import { LATENCY_METHOD } from '../harness/latency.ts'
import type { Figure, Figures, Latency } from '../harness/suite.ts'
import type { BenchDocs, SuiteResults } from './data.ts'
import { COSTS, HEADLINES, type Headline, RATES, SIZED } from './headlines.ts'
import { SIZING } from './results.ts'
import { distinct, durationText, figureText, number, ratioText } from './text.ts'

/**
 * The ten rows that matter, with the latency of their calls. Rows that were not measured are left out.
 *
 * @returns an empty text if none was measured
 */
export function headlineBlock(docs: BenchDocs): string {
  const lines = HEADLINES.flatMap((headline) => headlineCells(docs, headline)).map(tableLine)
  if (lines.length === 0) return ''
  return [
    ...[
      '| what | compared with | ratio | p50 | p99 | in flight |',
      '|---|---|---|---|---|---|',
      ...lines,
      '',
    ],
    `${provenance(docs)} The ratio is the median over pairs that took turns. p50 and p99 are latencies, first of the row and then of what it is compared with. ${LATENCY_METHOD}`,
  ].join('\n')
}

/** How long a check takes, for the first page. @returns an empty text if it was not measured */
export function costSentence(docs: BenchDocs): string {
  const check = rowOf(docs, COSTS.check)
  const [cerbos, opa, keystone] = [COSTS.check, COSTS.opa, COSTS.keystone].map((at) => rowOf(docs, at)?.ratio)
  if (!(check && cerbos && opa && keystone)) return ''
  const times = ({ median }: Ratio) => number(1 / median)
  return `Under load, a \`Check\` of claims over gRPC takes ${number(check.a.value)} µs; Cerbos takes ${times(cerbos)} times as long, and OPA ${times(opa)} times. A sidecar before a Keystone answers \`Check\` of its tokens from the cache in 1/${times(keystone)} of the time that Keystone takes.`
}

/** How many cores a rate takes. @returns an empty text if nothing was measured */
export function coresBlock(docs: BenchDocs): string {
  const lines = SIZED.flatMap(({ what, ...at }) => {
    const row = rowOf(docs, at)
    if (row === undefined) return []
    const { value, unit } = row.a
    const microseconds = unit === 'ms CPU' ? value * 1000 : value
    return [[what, figureText({ value, unit }), number((microseconds * 1000) / 1e6)]]
  })
  if (lines.length === 0) return ''
  return [
    '| what | processor time of one | cores for 1,000 a second |',
    '|---|---|---|',
    ...lines.map(tableLine),
    '',
    provenance(docs),
  ].join('\n')
}

/** How soon a fleet has heard of a revocation, and what else its suite measures. */
export function fleetBlock(docs: BenchDocs): string {
  const rows = docs.suites.find(({ suite }) => suite === 'fleet')?.rows ?? []
  if (rows.length === 0) return ''
  const lines = rows.map(({ what, a, b }) => [
    what,
    `${figureText(a)}${b === undefined ? '' : `, without one ${figureText(b)}`}`,
    a.latency === undefined ? '' : durationText(a.latency.p99Microseconds),
  ])
  return [
    '| what | median | p99 of all followers |',
    '|---|---|---|',
    ...lines.map(tableLine),
    '',
    provenance(docs),
  ].join('\n')
}

/** How many changes and logins there are a second. */
export function ratesBlock(docs: BenchDocs): string {
  const lines = RATES.flatMap(({ what, ...at }) => {
    const row = rowOf(docs, at)
    return row === undefined ? [] : [[what, number(1_000 / row.a.value)]]
  })
  if (lines.length === 0) return ''
  const measured = new Set(RATES.map(({ suite }) => suite))
  const suites = docs.suites.filter(({ suite }) => measured.has(suite))
  return [
    ...['| what | a second |', '|---|---|', ...lines.map(tableLine), ''],
    provenance({ ...docs, suites }),
  ].join('\n')
}

/** The needs of a directory: a line for each figure, and a column for each number of rows. */
export function sizingBlock(docs: BenchDocs): string {
  const suites = docs.suites.filter(({ suite }) => suite === SIZING)
  const rows = suites.flatMap((results) => results.rows)
  if (rows.length === 0) return ''
  const sizes = [...new Set(rows.map(({ a }) => a.name))]
  const lines = Map.groupBy(rows, ({ what, a }) => what.replace(`, ${a.name}`, ''))
  return [
    tableLine(['', ...sizes]).replace('|  |', '| |'),
    `|---|${sizes.map(() => '---|').join('')}`,
    ...Array.from(lines, ([what, figures]) => {
      const cells = sizes.map((size) => figures.find(({ a }) => a.name === size)?.a)
      return tableLine([what, ...cells.map((figure) => (figure === undefined ? '' : sizeText(figure)))])
    }),
    '',
    provenance({ command: 'npm run sizing', suites }),
  ].join('\n')
}

/** Seconds where it takes long. */
function sizeText({ value, unit }: Figure): string {
  if (unit === 'ms CPU' && value >= 1_000) return `${number(value / 1_000)} s CPU`
  return figureText({ value, unit }).trim()
}

/** By which command, when and on what the results were made. */
function provenance({ command, suites }: BenchDocs): string {
  const dates = distinct(suites.map(({ date }) => date.slice(0, 10)))
  return `\`${command}\`, ${dates}, ${distinct(suites.map(machineOf))}.`
}

function machineOf({ node, cpu }: SuiteResults): string {
  return `Node ${node} on ${cpu}`
}

function rowOf({ suites }: BenchDocs, { suite, row }: Pick<Headline, 'suite' | 'row'>): Figures | undefined {
  return suites.find((results) => results.suite === suite)?.rows.find(({ id }) => id === row)
}

/** The line of a headline, or none if its row was not measured. */
function headlineCells(docs: BenchDocs, { suite, row: id, what }: Headline): string[][] {
  const row = rowOf(docs, { suite, row: id })
  if (row === undefined) return []
  const { a, b, ratio } = row
  const cells = [
    `${what}: ${figureText(a)}`,
    b === undefined ? '' : besideText(b),
    ratio === undefined ? '' : ratioText(ratio.median),
  ]
  return [[...cells, ...latencyCells(row)]]
}

function besideText(b: Figure): string {
  return `${b.name}: ${figureText(b)}`
}

/** p50, p99 and the calls in flight, of A and then of B. Empty if the row has no latency. */
function latencyCells({ a, b }: Figures): string[] {
  const latencies = [a.latency, b?.latency].filter((latency) => latency !== undefined)
  const cell = (text: (latency: Latency) => string) => latencies.map(text).join(' / ')
  return [
    cell(({ p50Microseconds }) => durationText(p50Microseconds)),
    cell(({ p99Microseconds }) => durationText(p99Microseconds)),
    distinct(latencies.map(({ inFlight }) => String(inFlight))),
  ]
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
