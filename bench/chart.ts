/**
 * Results as a chart: a bar a row on a logarithmic scale from 1, which is what the row is compared with, so that twice as
 * much and half as much are equally far from it. The same results and bounds make the same SVG, byte for byte.
 */
import { gateOf } from './gates.ts'
import type { SuiteResults } from './results.ts'
import type { Row } from './suite.ts'
import { drawSvg, FAINT, FONT, INK, titleOf } from './svg.ts'
import { figureText, number } from './text.ts'

/** One line of the chart, from top to bottom. */
type Line =
  | { readonly type: 'heading'; readonly text: string }
  | {
      readonly type: 'row'
      readonly row: Row
      /** Largest ratio that passes, where there is one. */
      readonly bound: number | undefined
    }

const WIDTH = 980
const ROW_HEIGHT = 38
const TOP = 96
const BOTTOM = 44
const NAMES_WIDTH = 350
const FIGURES_WIDTH = 190
const PLOT_WIDTH = WIDTH - NAMES_WIDTH - FIGURES_WIDTH
/** Room for a ratio beside its bar. */
const RATIO_WIDTH = 76

const GRID = '#eaeef2'
const MORE = '#4f7cac'
const LESS = '#2f9e6e'
const BOUND = '#c2410c'
const LEGEND =
  'Bar: median of A / B, and 1 is as much as B. Tick: the bound, where there is one. Right: A, and B below it.'

/** Every row of one suite; those that are compared with nothing have a figure and no bar. */
export function suiteChart(results: SuiteResults, command: string): string {
  const lines = sorted(results.rows).map((row) => rowLine(results.suite, row))
  return draw(`Portcullis: ${results.suite}`, [results], lines, command)
}

/** Every row that is compared with something, suite by suite. Suites that were not run are not there. */
export function overviewChart(suites: readonly SuiteResults[], command: string): string {
  const lines = suites.flatMap(({ suite, rows }): Line[] => {
    const compared = sorted(rows).filter(({ ratio }) => ratio !== undefined)
    const heading: Line[] = compared.length === 0 ? [] : [{ type: 'heading', text: suite }]
    return [...heading, ...compared.map((row) => rowLine(suite, row))]
  })
  return draw('Portcullis: what it costs, in terms of what it is compared with', suites, lines, command)
}

function rowLine(suite: string, row: Row): Line {
  const gate = gateOf(suite, row)
  return { type: 'row', row, bound: gate?.of === 'ratio' ? gate.bound : undefined }
}

/** The largest ratio first; what has none comes last. */
function sorted(rows: readonly Row[]): Row[] {
  return rows.toSorted((one, other) => (other.ratio?.median ?? -1) - (one.ratio?.median ?? -1))
}

function draw(
  title: string,
  suites: readonly SuiteResults[],
  lines: readonly Line[],
  command: string,
): string {
  const span = spanOf(lines)
  return drawSvg(WIDTH, TOP + BOTTOM + Math.max(1, lines.length) * ROW_HEIGHT, {
    title: titleOf(title, `${madeBy(suites, command)}\n${LEGEND}`),
    grid: { left: NAMES_WIDTH, right: FIGURES_WIDTH, top: TOP, bottom: BOTTOM },
    xAxis: ratioAxis(span),
    yAxis: [textAxis(lines, nameText, 'left'), textAxis(lines, figuresText, 'right')],
    series: [bars(lines, span), bounds(lines)],
  })
}

/** When, on what and by which command. */
function madeBy(suites: readonly SuiteResults[], command: string): string {
  const all = (values: readonly string[]) => [...new Set(values)].sort().join(', ')
  const dates = all(suites.map(({ date }) => date.slice(0, 10)))
  const nodes = all(suites.map(({ node }) => `Node ${node}`))
  return [dates, nodes, all(suites.map(({ cpu }) => cpu)), command]
    .filter((text) => text !== '')
    .join('  ·  ')
}

/** What the axis shows, in powers of ten. */
interface Span {
  readonly min: number
  readonly max: number
}

/** From the least to the most, 1 among them, with room for the ratio beside the longest bar of either side. */
function spanOf(lines: readonly Line[]): Span {
  const values = lines.flatMap((line) =>
    line.type === 'row' ? [...logOf(line.row.ratio?.median), ...logOf(line.bound)] : [],
  )
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)]
  const sides = least < 0 && most > 0 ? 2 : 1
  const room = Math.max(0.1, ((most - least) * RATIO_WIDTH) / (PLOT_WIDTH - sides * RATIO_WIDTH))
  return { min: least < 0 ? least - room : 0, max: most > 0 ? most + room : 0 }
}

/** A linear axis of logarithms: on a logarithmic one echarts draws bars from its end, not from 1. */
function ratioAxis(span: Span) {
  return {
    type: 'value',
    ...span,
    axisLabel: { show: false },
    axisTick: { show: false },
    splitLine: { show: false },
    axisLine: { show: false },
  }
}

/** Lines at the powers of ten; echarts would count its own from the end of the axis. */
function powersOfTen({ min, max }: Span) {
  const powers = Array.from(
    { length: Math.floor(max) - Math.ceil(min) + 1 },
    (_, index) => Math.ceil(min) + index,
  )
  return powers.map((power) => ({
    xAxis: power,
    label: { formatter: power < -3 ? `1/${number(10 ** -power)}` : String(10 ** power) },
    lineStyle: { color: power === 0 ? FAINT : GRID },
  }))
}

function bars(lines: readonly Line[], span: Span) {
  return {
    type: 'bar',
    barWidth: 16,
    silent: true,
    data: lines.map((line) => (line.type === 'row' ? bar(line.row, line.bound, span) : { value: '-' })),
    markLine: {
      // Behind the bars.
      z: 0,
      symbol: 'none',
      silent: true,
      label: { position: 'end', fontSize: 11, color: FAINT, fontFamily: FONT },
      lineStyle: { type: 'solid', width: 1 },
      data: powersOfTen(span),
    },
  }
}

function bar(row: Row, bound: number | undefined, span: Span) {
  const [value] = logOf(row.ratio?.median)
  if (value === undefined) return { value: '-' }
  const less = value < 0
  const [tick = value] = logOf(bound)
  // Behind the tick, where that comes behind the bar.
  const behind = less ? 0 : Math.max(0, ((tick - value) * PLOT_WIDTH) / (span.max - span.min))
  return {
    value,
    itemStyle: { color: less ? LESS : MORE, borderRadius: less ? [3, 0, 0, 3] : [0, 3, 3, 0] },
    label: {
      show: true,
      position: less ? 'left' : 'right',
      distance: 6 + behind,
      formatter: row.ratio === undefined ? '' : ratioText(row.ratio.median),
      ...{ fontSize: 12, fontWeight: 'bold', color: INK, fontFamily: FONT },
    },
  }
}

/** A tick at the bound of every row whose ratio has one. */
function bounds(lines: readonly Line[]) {
  return {
    type: 'scatter',
    symbol: 'rect',
    symbolSize: [2.5, 24],
    silent: true,
    itemStyle: { color: BOUND },
    data: lines.flatMap((line, index) =>
      line.type === 'row' ? logOf(line.bound).map((value) => [value, index]) : [],
    ),
  }
}

/** A column of texts, one beside each line. */
function textAxis(lines: readonly Line[], text: (line: Line) => string, position: 'left' | 'right') {
  return {
    type: 'category',
    position,
    inverse: true,
    data: lines.map((_, index) => index),
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { show: false },
    axisLabel: {
      interval: 0,
      margin: 12,
      formatter: (index: string) => text(lines[Number(index)] as Line),
      width: (position === 'left' ? NAMES_WIDTH : FIGURES_WIDTH) - 40,
      overflow: 'truncate',
      rich: {
        what: { fontSize: 12.5, color: INK, lineHeight: 16, fontFamily: FONT },
        than: { fontSize: 11, color: FAINT, lineHeight: 15, fontFamily: FONT },
        heading: { fontSize: 14, fontWeight: 'bold', color: INK, fontFamily: FONT },
      },
    },
  }
}

function nameText(line: Line): string {
  if (line.type === 'heading') return `{heading|${line.text}}`
  const { what, b } = line.row
  return b === undefined ? `{what|${what}}` : `{what|${what}}\n{than|against ${b.name}}`
}

function figuresText(line: Line): string {
  if (line.type === 'heading') return ''
  const { a, b } = line.row
  return b === undefined ? `{what|${figureText(a)}}` : `{what|${figureText(a)}}\n{than|${figureText(b)}}`
}

/** `1.22 ×`; far below 1 as a fraction, which is easier to take in: `1/1,560 ×`. */
export function ratioText(ratio: number): string {
  return ratio > 0 && ratio < 0.1 ? `1/${number(1 / ratio)} ×` : `${number(ratio)} ×`
}

/** Nothing where there is no bar to draw. */
function logOf(ratio: number | undefined): number[] {
  return ratio === undefined || !(ratio > 0) ? [] : [Math.log10(ratio)]
}
