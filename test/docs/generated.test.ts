/** The generated parts of the pages are current (`npm run docs` writes it). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { docsChart, readDocs } from '../../bench/report/results.ts'
import { REASONS } from '../../engine/index.ts'
import { CHART, generatedParts, partOf } from '../../scripts/update-docs.ts'
import { scalarKeys } from '../../sidecar/config/config.ts'
import { failed } from '../support/attack/goals.ts'
import { readResults } from '../support/attack/results.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { pageOf, pages } from './page.ts'

test.each(generatedParts)('$page: $name', ({ page, name, make }) => {
  expect(partOf(pageOf(page).text, name)).toBe(make())
})

test('every part that a page marks as generated is', () => {
  const marked = pages.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/^<!-- ([a-z-]+) -->$/gm), ([, name]) => `${path}: ${name}`),
  )
  expect(marked.sort()).toEqual(generatedParts.map(({ page, name }) => `${page}: ${name}`).sort())
})

test('the variable of every key follows the one rule that docs/operate/configuration.md states', () => {
  const others = scalarKeys.filter(
    ({ path, variable }) => variable !== `PORTCULLIS_${path.join('_').toUpperCase()}`,
  )
  expect(others).toEqual([])
})

test('the reasons of a decision are those of the engine, in order', () => {
  const lines = pageOf('docs/use/contract.md').text.matchAll(/^`[A-Z][A-Z_` ]+`$/gm)
  expect(Array.from(lines, ([line]) => line.split(' ')).flat()).toEqual(
    REASONS.map((reason) => `\`${reason}\``),
  )
})

test('the chart is drawn from the figures of today’s table and its bounds', () => {
  expect(readFileSync(CHART, 'utf8')).toBe(docsChart(readDocs()))
})

/** The floods of test/attack/floods.test.ts. */
const FLOODS = 'test/support/interop/floods.ts'

describe('docs/attack.json', () => {
  const results = readResults()
  const scenarios = results.flatMap(({ file, scenarios }) =>
    scenarios.map((measures) => ({ file, ...measures })),
  )

  test.each(scenarios)('$scenario: nothing failed, and the scenario is in $file', ({ file, ...measures }) => {
    expect(failed(measures, measures.scenario)).toEqual([])
    // Some files add what all of theirs are, and the transport.
    const written = measures.scenario.replace(/^flood: | \((sockets|grpc-js)\)$/g, '')
    const sources = [file, FLOODS].map((path) => readFileSync(join(ROOT, path), 'utf8'))
    expect(
      sources.some((source) => source.includes(`'${written}'`) || source.includes(` ${written}: {`)),
    ).toBe(true)
  })
})

test('docs/bench.json holds figures alone: no bound that could differ from the gates', () => {
  const known = ['id', 'what', 'a', 'b', 'ratio']
  const others = readDocs().suites.flatMap(({ rows }) => rows.flatMap((each) => Object.keys(each)))
  expect(others.filter((key) => !known.includes(key))).toEqual([])
})
