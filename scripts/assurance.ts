/**
 * The figures of what was searched, in `docs/assurance.json`: each search of `npm run nightly` keeps those of
 * its last run, and `npm run docs` makes the table of `docs/decide/assurance.md` from them.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AREAS } from './mutants/areas.ts'

const FILE = join(import.meta.dirname, '../docs/assurance.json')

/** The figures of a search. */
type Figures = Readonly<Record<string, number>>

interface Run {
  /** The day, in UTC. */
  readonly date: string
  /** Of the checkout. */
  readonly commit: string
  readonly figures: Figures
}

function readRuns(): Readonly<Record<string, Run>> {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, Run>) : {}
}

/** Keeps the figures of a search in place of those of its last run, with `ASSURANCE=record`. */
export function keepFigures(search: string, figures: Figures): void {
  if (process.env.ASSURANCE !== 'record') return
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const run: Run = { date: new Date().toISOString().slice(0, 10), commit, figures }
  writeFileSync(FILE, `${JSON.stringify({ ...readRuns(), [search]: run }, undefined, 2)}\n`)
}

/** The text of a row about its figures. A search that was not run says so. */
type Row = readonly [search: string, what: string, text: (figures: Figures) => string]

const ROWS: readonly Row[] = [
  [
    'simulation',
    'Whole fleets under a seed: what goes wrong breaks no promise',
    ({ seeds = 0, steps = 0, allowed = 0, denied = 0, acknowledged = 0, faults = 0, used = 0, unused = 0 }) =>
      `${count(seeds)} seeds of ${steps} steps: ${count(allowed)} permissions and ${count(denied)} denials judged, ${count(acknowledged)} changes acknowledged, ${count(used + unused)} uses of what works once, ${count(unused)} of them refused; ${count(faults)} faults`,
  ],
  [
    'defects',
    'Known defects that the simulation finds',
    ({ found = 0, of = 0, seeds = 0 }) => `${found} of ${of}, each within ${seeds} seeds`,
  ],
  [
    'fuzzing',
    'Readers of outside bytes, fuzzed by what they cover',
    ({ targets = 0, executions = 0, findings = 0 }) =>
      `${count(executions)} inputs for ${targets} readers: ${findings} findings`,
  ],
  [
    'protocols',
    'One stream of questions over every protocol, in both modes: the answers of the library',
    ({ protocols = 0, asked = 0, silent = 0 }) =>
      `${count(asked)} questions over ${protocols} protocols; ${count(silent)} more that a protocol has no words for`,
  ],
  [
    'transports',
    'The same over both transports of gRPC: the same bytes, statuses and details',
    ({ calls = 0, refused = 0 }) => `${count(calls)} calls, ${count(refused)} of them refused`,
  ],
  [
    'release',
    'Today’s version and the contract of the last release, in both directions',
    ({ calls = 0, asked = 0 }) =>
      `${count(asked)} questions; each of the ${calls} unary calls of the release`,
  ],
  [
    'stores',
    'SQLite and PostgreSQL under the same changes: the same answers after each, the same rows in the end',
    ({ changes = 0, refused = 0, questions = 0, tokens = 0 }) =>
      `${count(changes)} transactions, ${count(refused)} of them refused; ${count(questions)} questions; ${count(tokens)} tokens`,
  ],
  [
    'kills',
    'Sidecars and commands that are killed: what was acknowledged is there, whole, and nothing else',
    killsText,
  ],
  ['kills postgres', 'The same with the directory in PostgreSQL, which is killed, too', killsText],
  [
    'power',
    'Power cuts: the same of every disk that one may leave',
    ({ disks = 0, events = 0, syncs = 0, acknowledged = 0 }) =>
      `${count(disks)} disks from ${count(events)} writes and names with ${count(syncs)} syncs, ${count(acknowledged)} changes acknowledged: no violation`,
  ],
  ['day', 'A day of operation in the twenty-fourth part of its time, with kills and chores', dayText],
]

function killsText(figures: Figures): string {
  const { kills = 0, points = 0, kinds = 0, acknowledged = 0, refused = 0, archived = 0, lines } = figures
  const changes = `${count(acknowledged)} changes acknowledged and ${count(refused)} refused`
  // A run of before did not judge these.
  const files = lines && `, ${count(archived)} records archived and ${count(lines)} lines of decisions`
  return `${count(kills)} kills at ${count(points)} points of ${count(kinds)} kinds, ${changes}${files ?? ''}: no violation`
}

function dayText(figures: Figures): string {
  const { seconds = 0, allowed = 0, denied = 0, acknowledged = 0, logins = 0 } = figures
  const { kill = 0, killWorker = 0, killFollower = 0, restart = 0, restartFollower = 0 } = figures
  const { memoryFirst = 0, memorySecond = 0, dataWarm = 0, dataHalf = 0, dataEnd = 0 } = figures
  const mb = (bytes: number) => (bytes / 1_000_000).toFixed(1)
  return `${((seconds * 24) / 3_600).toFixed(1)} hours: ${count(allowed)} permissions and ${count(denied)} denials judged, ${count(acknowledged)} changes acknowledged, ${count(logins)} logins, ${kill + killWorker + killFollower} kills, ${restart + restartFollower} restarts: no violation; memory at most ${memoryFirst} MB, then ${memorySecond} MB; data folder ${mb(dataWarm)}, ${mb(dataHalf)} and ${mb(dataEnd)} MB`
}

/** The rows of the table for what is searched. */
export function assuranceTable(): string {
  const runs = readRuns()
  const rows = ROWS.map(([search, what, text]) => {
    const run = runs[search]
    return `| ${what} | ${run === undefined ? 'not run | ' : `${text(run.figures)} | ${run.date}, \`${run.commit}\``} |`
  })
  return [
    '| what is searched | in the last run | when, and of which commit |',
    '|---|---|---|',
    ...rows,
    mutantsRow(runs),
  ].join('\n')
}

/** The areas together, as of the oldest of their last runs. */
function mutantsRow(runs: Readonly<Record<string, Run>>): string {
  const what = 'Small changes of the code that tests notice'
  const areas = Object.keys(AREAS).flatMap((area) => runs[`mutants ${area}`] ?? [])
  const [oldest] = areas.toSorted((a, b) => (a.date < b.date ? -1 : 1))
  if (oldest === undefined) return `| ${what} | not run | |`
  const sum = (key: string) => areas.reduce((total, { figures }) => total + (figures[key] ?? 0), 0)
  const [mutants, killed, named] = [sum('mutants'), sum('killed'), sum('named')]
  const noticed = `${count(killed)} of ${count(mutants)} noticed (${percent(killed, mutants)})`
  return `| ${what}: ${areas.length} of ${Object.keys(AREAS).length} areas | ${noticed}, ${named} named as equal, ${mutants - killed - named} others | ${oldest.date}, \`${oldest.commit}\` |`
}

/** Rounded down: 100 % are all. */
function percent(some: number, all: number): string {
  return `${(Math.floor((1000 * some) / all) / 10).toFixed(1)} %`
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}
