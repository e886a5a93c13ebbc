/**
 * The figures of the attacks: `npm run nightly -- attack` writes them to `docs/attack.json`, and `npm run
 * docs` makes the table of `docs/decide/security/attacks.md` from them.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { cpuModel, distinct, linesOf } from '../../../bench/report/text.ts'
import { ROOT } from '../checkout/sources.ts'
import { GOALS, GOALS_TEXT, isMissed, type Measures, meetsTimes, ratioOf } from './goals.ts'

const FILE = join(ROOT, 'docs', 'attack.json')

/** The scenario without an attack, in test/attack/baseline.test.ts. */
export const BASELINE = 'no attack, and two programs compute'

/** The figures of the scenarios of a test file. */
export interface FileResults {
  /** From the root. */
  readonly file: string
  /** ISO 8601, in UTC. */
  readonly date: string
  /** Version of Node. */
  readonly node: string
  readonly cpu: string
  readonly scenarios: readonly ({ readonly scenario: string } & Measures)[]
}

/** The content of `docs/attack.json`, in the order of the files. */
export function readResults(): readonly FileResults[] {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as FileResults[]) : []
}

/** The measurements of this process. */
const scenarios: FileResults['scenarios'][number][] = []

/**
 * Keeps the figures of a scenario; those of the same test file of an earlier run are gone. Files run one
 * after the other.
 */
export function record(testPath: string, scenario: string, measures: Measures): void {
  scenarios.push({ scenario, ...measures })
  const file = relative(ROOT, testPath)
  const others = readResults().filter((each) => each.file !== file)
  const date = new Date().toISOString()
  const results = [...others, { file, date, node: process.versions.node, cpu: cpuModel(), scenarios }]
  const sorted = results.toSorted((a, b) => (a.file < b.file ? -1 : 1))
  writeFileSync(FILE, `${linesOf(sorted, rounded)}\n`)
}

/** Microseconds are enough. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toFixed(3)) : value
}

/** The table for the page: the scenarios that miss a goal, beside the one without an attack. */
export function attackTable(results: readonly FileResults[]): string {
  const scenarios = results.flatMap((each) => each.scenarios)
  const missed = scenarios.filter(
    (measures) => !meetsTimes(measures) || measures.peakMegabytes > GOALS.peakMegabytesMax,
  )
  const quiet = scenarios.filter(({ scenario }) => scenario === BASELINE)
  return [
    '| scenario | check p99 | revocation p99 | memory | log lines |',
    '|---|---|---|---|---|',
    ...[...quiet, ...missed].map(rowOf).map((cells) => `| ${cells.join(' | ')} |`),
    '',
    `\`npm run nightly -- attack\`, ${provenance(results)}, the calmest of up to three measurements, in quiet and under attack alike. Goals: ${GOALS_TEXT}. ${missed.length} of ${scenarios.length} scenarios miss one for a time, which is in bold; every revocation was answered, and every profile issued. “${BASELINE}” is what busy programs beside do to the times.`,
  ].join('\n')
}

function rowOf(measures: FileResults['scenarios'][number]): string[] {
  return [
    measures.scenario,
    cellOf(measures, 'checks'),
    cellOf(measures, 'revocations'),
    `${measures.peakMegabytes} MB`,
    String(measures.logLines),
  ]
}

/** `1.2 ms, 1.1 ×`; bold where it misses its goal. */
function cellOf(measures: Measures, key: 'checks' | 'revocations'): string {
  const time = measures[key].attacked.p99.toFixed(1)
  const text = `${time} ms, ${ratioOf(measures[key], 'p99').toFixed(1)} ×`
  return isMissed(measures, key, 'p99') ? `**${text}**` : text
}

function provenance(results: readonly FileResults[]): string {
  const dates = distinct(results.map(({ date }) => date.slice(0, 10)))
  return `${dates}, ${distinct(results.map(({ node, cpu }) => `Node ${node} on ${cpu}`))}`
}
