/** The charts of given results: they show everything, and the same results make the same picture. */
import { expect, test } from 'vitest'
import { gates } from '../../bench/gates.ts'
import type { Row } from '../../bench/harness/suite.ts'
import { overviewChart, suiteChart } from '../../bench/report/chart.ts'
import type { SuiteResults } from '../../bench/report/data.ts'
import { ratioText } from '../../bench/report/text.ts'

const COMMAND = 'npm run bench'
/** The colour of a bound. */
const TICK = '#c2410c'
const ENGINE = results('engine', [
  row('decide, 90 cells', 'two Map.get', 1.7),
  row('decide, far below', 'a slow engine', 0.000_64),
  { ...row('compile', 'nothing', 1), ratio: undefined, b: undefined } as unknown as Row,
])
const SIDECAR = results('sidecar', [
  row('Check of claims', 'constant', 1.22),
  row('Check of <a> & "b"', 'constant', 12.5),
])

test('the chart of a suite shows every row with its figures and ratio, and how it was made', () => {
  const texts = textsOf(suiteChart(ENGINE, COMMAND))
  for (const { what, b, ratio } of ENGINE.rows) {
    expect(texts).toContain(what)
    if (ratio !== undefined)
      expect(texts).toEqual(expect.arrayContaining([`against ${b?.name}`, ratioText(ratio.median)]))
  }
  expect(texts).toContain('12.3 ns')
  expect(texts.join(' ')).toContain('2026-11-21')
  for (const part of ['Node 24.21.0', '2 × a processor', COMMAND]) expect(texts.join(' ')).toContain(part)
})

test('the overview shows every row that is compared, under its suite', () => {
  const texts = textsOf(overviewChart([ENGINE, SIDECAR], COMMAND))
  expect(texts.filter((text) => ['engine', 'sidecar'].includes(text))).toEqual(['engine', 'sidecar'])
  expect(texts).toEqual(
    expect.arrayContaining(['1.7 ×', '1/1,560 ×', '1.22 ×', '12.5 ×', 'Check of <a> & "b"']),
  )
  expect(texts).not.toContain('compile')
})

test.each<{ what: string; suites: SuiteResults[]; shown: string[] }>([
  { what: 'no suite', suites: [], shown: [] },
  { what: 'one of two suites', suites: [SIDECAR], shown: ['sidecar'] },
  { what: 'a suite that compares nothing', suites: [results('engine', []), SIDECAR], shown: ['sidecar'] },
])('the overview of $what is a valid picture', ({ suites, shown }) => {
  const svg = overviewChart(suites, COMMAND)
  expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
  expect(svg).not.toMatch(/NaN|undefined|Infinity/)
  expect(textsOf(svg).filter((text) => ['engine', 'sidecar'].includes(text))).toEqual(shown)
})

test('a tick marks the bound of gates.ts, and only rows with a bound have one', () => {
  const bounded = gates.find(({ of }) => of === 'ratio')
  const ticks = (id: string, name: string) =>
    overviewChart([results(name, [{ ...row('a row', 'another', 1.2), id }])], COMMAND).split(TICK).length - 1
  expect(ticks(bounded?.row ?? '', bounded?.suite ?? '')).toBe(1)
  expect(ticks('no-such-row', bounded?.suite ?? '')).toBe(0)
  expect(ticks(bounded?.row ?? '', 'no-such-suite')).toBe(0)
})

test('the same results make the same chart, whatever was drawn before', () => {
  const first = overviewChart([ENGINE, SIDECAR], COMMAND)
  suiteChart(SIDECAR, COMMAND)
  expect(overviewChart([ENGINE, SIDECAR], COMMAND)).toBe(first)
})

test('no two texts begin at the same place', () => {
  const svg = overviewChart([ENGINE, SIDECAR], COMMAND)
  const places = Array.from(svg.matchAll(/<text([^>]*)>/g), ([, attributes = '']) =>
    [/ y="[^"]*"/, / transform="[^"]*"/].map((attribute) => attribute.exec(attributes)?.[0]).join(),
  )
  expect(places.length).toBeGreaterThan(20)
  expect(new Set(places).size).toBe(places.length)
})

function results(suite: string, rows: readonly Row[]): SuiteResults {
  return {
    suite,
    date: '2026-11-21T10:00:00.000Z',
    node: '24.21.0',
    cpu: '2 × a processor',
    answersChecked: 90,
    rows,
    skipped: [],
  }
}

function row(what: string, against: string, median: number): Row {
  return {
    id: what,
    what,
    a: { name: what, value: 12.3, unit: 'ns' },
    b: { name: against, value: 12.3 / median, unit: 'ns' },
    ratio: { median, p10: median, p90: median, pairs: 1 },
    method: 'some method',
  }
}

/** The texts of the picture, without the markup of SVG. */
function textsOf(svg: string): string[] {
  return Array.from(svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g), ([, text = '']) =>
    text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
  )
}
