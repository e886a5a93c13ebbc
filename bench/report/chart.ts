/**
 * Draws results as a chart. Each row is a bar that starts at 1, on a logarithmic scale: twice as much and
 * half as much are equally far from 1. The same results and bounds give the same SVG, byte for byte.
 */
import { gateOf } from '../gates.ts'
import type { Figures } from '../harness/suite.ts'
import type { SuiteResults } from './data.ts'
import { drawSvg, FAINT, FONT, INK, titleOf } from './svg.ts'
import { distinct, figureText, number, ratioText } from './text.ts'

/** A line of the chart. */
type Line =
  | { readonly type: 'heading'; readonly text: string }
  | {
      readonly type: 'row'
      readonly row: Figures
      /** The largest ratio that passes, if the row has a bound. */
      readonly bound: number | undefined
    }

const WIDTH = 980
const ROW_HEIGHT = 38
const TOP = 96
const BOTTOM = 44
const NAMES_WIDTH = 350
const FIGURES_WIDTH = 190
const PLOT_WIDTH = WIDTH - NAMES_WIDTH - FIGURES_WIDTH
/** Space for a ratio beside its bar. */
const RATIO_WIDTH = 76

const GRID = '#eaeef2'
const MORE = '#4f7cac'
const LESS = '#2f9e6e'
const BOUND = '#c2410c'
const LEGEND =
  'Bar: median of A / B; at 1 both cost the same. Tick: the bound, if the row has one. Right: A, and below it B.'

/** All rows of one suite. Rows that are compared with nothing have a figure and no bar. */
export function suiteChart(results: SuiteResults, command: string): string {
  const lines = sorted(results.rows).map((row) => rowLine(results.suite, row))
  return draw(`Portcullis: ${results.suite}`, [results], lines, command)
}

/** All rows that are compared with something, suite by suite. */
export function overviewChart(suites: readonly SuiteResults[], command: string): string {
  const lines = suites.flatMap(({ suite, rows }): Line[] => {
    const compared = sorted(rows).filter(({ ratio }) => ratio !== undefined)
    const heading: Line[] = compared.length === 0 ? [] : [{ type: 'heading', text: suite }]
    return [...heading, ...compared.map((row) => rowLine(suite, row))]
  })
  return draw('Portcullis: what each row costs, compared with a baseline', suites, lines, command)
}

function rowLine(suite: string, row: Figures): Line {
  const gate = gateOf(suite, row)
  return { type: 'row', row, bound: gate?.of === 'ratio' ? gate.bound : undefined }
}

/** The largest ratio first. Rows without a ratio come last. */
function sorted(rows: readonly Figures[]): Figures[] {
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

/** When, on what and by which command the results were made. */
function madeBy(suites: readonly SuiteResults[], command: string): string {
  const dates = distinct(suites.map(({ date }) => date.slice(0, 10)))
  const nodes = distinct(suites.map(({ node }) => `Node ${node}`))
  return [dates, nodes, distinct(suites.map(({ cpu }) => cpu)), command]
    .filter((text) => text !== '')
    .join('  ·  ')
}

/** The range of the axis, in powers of ten. */
interface Span {
  readonly min: number
  readonly max: number
}

/**
 * From the smallest to the largest value, including 1, with space for the ratio beside the longest bar of
 * each side.
 */
function spanOf(lines: readonly Line[]): Span {
  const values = lines.flatMap((line) =>
    line.type === 'row' ? [...logOf(line.row.ratio?.median), ...logOf(line.bound)] : [],
  )
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)]
  const sides = least < 0 && most > 0 ? 2 : 1
  const room = Math.max(0.1, ((most - least) * RATIO_WIDTH) / (PLOT_WIDTH - sides * RATIO_WIDTH))
  return { min: least < 0 ? least - room : 0, max: most > 0 ? most + room : 0 }
}

/** A linear axis of logarithms. On a logarithmic axis echarts would draw bars from its end, not from 1. */
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

/** Lines at the powers of ten. The lines of echarts would start at the end of the axis. */
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

function bar(row: Figures, bound: number | undefined, span: Span) {
  const [value] = logOf(row.ratio?.median)
  if (value === undefined) return { value: '-' }
  const less = value < 0
  const [tick = value] = logOf(bound)
  // If the tick is to the right of the bar, the ratio stands to the right of the tick.
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

/** A tick at the bound of each row that has one. */
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

/** A column with a text for each line. */
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

/** Empty if there is no bar to draw. */
function logOf(ratio: number | undefined): number[] {
  return ratio === undefined || !(ratio > 0) ? [] : [Math.log10(ratio)]
}
