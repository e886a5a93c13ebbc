/**
 * Results as a chart: a bar a row on a logarithmic scale from 1, which is what the row is compared with, so that twice as
 * much and half as much are equally far from it. The same results make the same SVG, byte for byte.
 */
import { init } from 'echarts'
import type { JudgedRow, SuiteResults } from './results.ts'
import { figureText, number } from './text.ts'

/** One line of the chart, from top to bottom. */
type Line =
  | { readonly type: 'heading'; readonly text: string }
  | { readonly type: 'row'; readonly row: JudgedRow }

const WIDTH = 960
const ROW_HEIGHT = 38
const TOP = 96
const BOTTOM = 44
const NAMES_WIDTH = 330
const FIGURES_WIDTH = 190

// Readable on white, which is drawn behind them: GitHub shows the chart on white and on black pages.
const INK = '#1f2328'
const FAINT = '#59636e'
const MORE = '#4f7cac'
const LESS = '#2f9e6e'
const BOUND = '#c2410c'
const FONT = "-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"

/** Every row of one suite; those that are compared with nothing have a figure and no bar. */
export function suiteChart(results: SuiteResults, command: string): string {
  const lines = sorted(results.rows).map((row): Line => ({ type: 'row', row }))
  return draw(`Portcullis: ${results.suite}`, [results], lines, command)
}

/** Every row that is compared with something, suite by suite. Suites that were not run are not there. */
export function overviewChart(suites: readonly SuiteResults[], command: string): string {
  const lines = suites.flatMap(({ suite, rows }): Line[] => {
    const compared = sorted(rows).filter(({ ratio }) => ratio !== undefined)
    const heading: Line[] = compared.length === 0 ? [] : [{ type: 'heading', text: suite }]
    return [...heading, ...compared.map((row): Line => ({ type: 'row', row }))]
  })
  return draw('Portcullis: what it costs, in terms of what it is compared with', suites, lines, command)
}

/** The largest ratio first; what has none comes last. */
function sorted(rows: readonly JudgedRow[]): JudgedRow[] {
  return rows.toSorted((one, other) => (other.ratio?.median ?? -1) - (one.ratio?.median ?? -1))
}

function draw(
  title: string,
  suites: readonly SuiteResults[],
  lines: readonly Line[],
  command: string,
): string {
  const chart = init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: WIDTH,
    height: TOP + BOTTOM + Math.max(1, lines.length) * ROW_HEIGHT,
  })
  try {
    chart.setOption({
      animation: false,
      backgroundColor: '#ffffff',
      textStyle: { fontFamily: FONT, color: INK },
      title: {
        text: title,
        subtext: `${madeBy(suites, command)}\n{bar|bar} median of A / B, 1 = as much as B    {tick|▏}bound that \`${command} -- --gate\` holds    right: A, and B below it`,
        left: 16,
        top: 12,
        textStyle: { fontSize: 17, color: INK, fontFamily: FONT },
        subtextStyle: {
          ...{ fontSize: 12, lineHeight: 18, color: FAINT, fontFamily: FONT },
          rich: { bar: { color: MORE, fontWeight: 'bold' }, tick: { color: BOUND, fontWeight: 'bold' } },
        },
      },
      grid: { left: NAMES_WIDTH, right: FIGURES_WIDTH, top: TOP, bottom: BOTTOM },
      xAxis: ratioAxis(lines),
      yAxis: [textAxis(lines, nameText, 'left'), textAxis(lines, figuresText, 'right')],
      series: [bars(lines), bounds(lines)],
    })
    // echarts numbers what it draws through all charts of a process.
    return `${chart.renderToSVGString().replaceAll(/\bzr\d+-/g, 'chart-')}\n`
  } finally {
    chart.dispose()
  }
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

/** A linear axis of logarithms: on a logarithmic one echarts draws bars from its end, not from 1. */
function ratioAxis(lines: readonly Line[]) {
  const values = lines.flatMap((line) => (line.type === 'row' ? logOf(line.row.ratio?.median) : []))
  const bounds = lines.flatMap((line) => (line.type === 'row' ? logOf(boundOf(line.row)) : []))
  const [least, most] = [Math.min(0, ...values, ...bounds), Math.max(0, ...values, ...bounds)]
  // Room for the ratio beside the longest bar of either side.
  const room = Math.max(0.1, (most - least) * 0.16)
  return {
    type: 'value',
    min: least < 0 ? least - room : -room / 4,
    max: most + room,
    // Only what lies at the powers of ten and at 1 is labelled.
    interval: 1,
    axisLabel: { show: false },
    axisTick: { show: false },
    splitLine: { show: false },
    axisLine: { show: false },
  }
}

function bars(lines: readonly Line[]) {
  return {
    type: 'bar',
    barWidth: 16,
    silent: true,
    data: lines.map((line) => {
      const value = line.type === 'row' ? logOf(line.row.ratio?.median)[0] : undefined
      if (value === undefined) return { value: '-' }
      const less = value < 0
      return {
        value,
        itemStyle: { color: less ? LESS : MORE, borderRadius: less ? [3, 0, 0, 3] : [0, 3, 3, 0] },
        label: {
          show: true,
          position: less ? 'left' : 'right',
          formatter: ratioText((line as { row: JudgedRow }).row),
          ...{ fontSize: 12, fontWeight: 'bold', color: INK, fontFamily: FONT },
        },
      }
    }),
    markLine: {
      symbol: 'none',
      silent: true,
      label: { show: true, position: 'start', formatter: '1', color: FAINT, fontSize: 11, fontFamily: FONT },
      lineStyle: { color: FAINT, type: 'solid', width: 1 },
      data: [{ xAxis: 0 }],
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
      line.type === 'row' ? logOf(boundOf(line.row)).map((value) => [value, index]) : [],
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
      width: (position === 'left' ? NAMES_WIDTH : FIGURES_WIDTH) - 24,
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

function ratioText({ ratio }: JudgedRow): string {
  return ratio === undefined ? '' : `${number(ratio.median)} ×`
}

function boundOf({ gate }: JudgedRow): number | undefined {
  return gate?.of === 'ratio' ? gate.bound : undefined
}

/** Nothing where there is no bar to draw. */
function logOf(ratio: number | undefined): number[] {
  return ratio === undefined || !(ratio > 0) ? [] : [Math.log10(ratio)]
}
