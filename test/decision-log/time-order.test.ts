/**
 * A search for a time reads the part of a file that has it, and finds the same as a look at every line: also
 * where lines are out of order. These tests count the bytes that it reads.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Counted, Counts } from '../../sidecar/signals/decision-log/counts.ts'
import { LOOK_EVERY_BYTES, type TimeRange } from '../../sidecar/signals/decision-log/line-times.ts'
import { type LogFile, logFile } from '../../sidecar/signals/decision-log/log-files.ts'
import { blocksIn, countIn, foundIn } from '../../sidecar/signals/decision-log/log-search.ts'
import { Matcher, newTally } from '../../sidecar/signals/decision-log/matcher.ts'
import { readLines } from '../../sidecar/signals/decision-log/read-line.ts'
import { newFolder } from '../support/suite/resources.ts'

const START_MS = Date.UTC(2026, 10, 20)
const HOUR_MS = 3_600_000

/** Two lines a second, of 600 bytes: a MiB is a quarter of an hour. */
const STEP_MS = 500
const LINE_BYTES = 600
const MATRIX = `sha256:${'0'.repeat(64)}`

const LINES_A_MIB = Math.ceil(LOOK_EVERY_BYTES / LINE_BYTES)

const MEMBERS = JSON.stringify({
  ...{ time: new Date(START_MS).toISOString(), protocol: 'grpc', caller: { address: '127.0.0.1' } },
  ...{ api: 'lobby', kind: 'day_pass', allowed: true, reason: 'ALLOWED', matrix: MATRIX, strict: false },
  ...{ conflicts: [], asked: 'kind', latency_us: 0, header: '' },
}).slice('{"time":"2026-11-20T00:00:00.000Z'.length, -2)
const REST = `${MEMBERS}${'x'.repeat(LINE_BYTES - MEMBERS.length - 36)}"}\n`

/** The line of a decision that was made this many steps after the start. */
function line(step: number): string {
  return `{"time":"${new Date(START_MS + step * STEP_MS).toISOString()}${REST}`
}

const steps = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)
const linesOf = (from: number, count: number) => steps(from, count).map((step) => line(step))

const MIBS = 16
const COUNT = MIBS * LINES_A_MIB
const BACK = HOUR_MS / STEP_MS

/** Logs whose lines are in order but for what the name says. */
const LOGS: Readonly<Record<string, readonly string[]>> = {
  'in order': linesOf(0, COUNT),
  'of workers, of which one is most of a minute behind': steps(0, COUNT).map((step) =>
    line(Math.max(0, step % 3 === 0 ? step - 118 : step)),
  ),
  'whose clock was set back by an hour': [...linesOf(0, COUNT / 2), ...linesOf(COUNT / 2 - BACK, COUNT / 2)],
  'whose clock was an hour ahead for two MiB': [
    ...linesOf(0, 4 * LINES_A_MIB),
    ...linesOf(4 * LINES_A_MIB + BACK, 2 * LINES_A_MIB),
    ...linesOf(6 * LINES_A_MIB, 8 * LINES_A_MIB),
  ],
  'of a disk that was full, with the backlogs of two workers': [
    ...linesOf(0, 6 * LINES_A_MIB),
    ...linesOf(6 * LINES_A_MIB, LINES_A_MIB / 2),
    ...linesOf(6 * LINES_A_MIB, 7 * LINES_A_MIB),
  ],
  'with lines of another program in the middle': [
    ...linesOf(0, 3 * LINES_A_MIB),
    ...steps(3 * LINES_A_MIB, 8 * LINES_A_MIB).map((step) => ` ${line(step)}`),
    ...linesOf(11 * LINES_A_MIB, 3 * LINES_A_MIB),
  ],
  'with a line of two MiB': [
    ...linesOf(0, 5 * LINES_A_MIB),
    `{"time":"${'x'.repeat(2 * LOOK_EVERY_BYTES)}\n`,
    ...linesOf(5 * LINES_A_MIB, 5 * LINES_A_MIB),
  ],
  'that is small': linesOf(0, 10),
  'that is empty': [],
}

const at = (step: number) => START_MS + step * STEP_MS

const RANGES: readonly (readonly [what: string, range: TimeRange])[] = [
  ['the end', { sinceMs: at(12 * LINES_A_MIB) }],
  ['the beginning', { untilMs: at(1_000) }],
  ['a moment', { sinceMs: at(6 * LINES_A_MIB + 77), untilMs: at(6 * LINES_A_MIB + 78) }],
  ['some minutes', { sinceMs: at(6 * LINES_A_MIB), untilMs: at(6.2 * LINES_A_MIB) }],
  ['a time before all', { untilMs: START_MS }],
  ['a time behind all', { sinceMs: START_MS + 100 * HOUR_MS }],
]

function newLog(lines: readonly string[]): string {
  const path = join(newFolder(), 'decisions.log')
  writeFileSync(path, lines.join(''))
  return path
}

const paths = Object.fromEntries(Object.entries(LOGS).map(([name, lines]) => [name, newLog(lines)]))

/** The file, and how many of its bytes were read so far. */
async function metered(path: string): Promise<{ file: LogFile; read: () => number }> {
  let bytes = 0
  const file = (await logFile(path)) as LogFile
  const open = async () => {
    const log = await file.open()
    const { seekable } = log
    if (seekable === undefined) return log
    const handle = new Proxy(seekable.handle, {
      get: (target, name) =>
        name !== 'read'
          ? Reflect.get(target, name)
          : async (options: { buffer: Buffer; position: number }) => {
              const done = await target.read(options)
              bytes += done.bytesRead
              return done
            },
    })
    const read: typeof log.read = (chunkBytes, onRead, part) =>
      log.read(
        chunkBytes,
        (count) => {
          bytes += count
          onRead?.(count)
        },
        part,
      )
    return {
      seekable: { ...seekable, handle },
      read,
      [Symbol.asyncDispose]: () => log[Symbol.asyncDispose](),
    }
  }
  return { file: { ...file, open }, read: () => bytes }
}

const blockBytes = 65_536

/** The lines that are found; `times` as the search has them, or none: then every line is read. */
async function search(path: string, range: TimeRange, newestFirst: boolean, times?: TimeRange) {
  const { file, read } = await metered(path)
  const found = await Array.fromAsync(
    foundIn([file], {
      ...{ matcher: new Matcher(range), tally: newTally(), newestFirst, blockBytes, keptMax: 1_000 },
      times,
      onUnreadable: (_file, error) => {
        throw error
      },
    }),
  )
  return { offsets: found.map(({ offset }) => offset), bytes: read() }
}

async function count(path: string, range: TimeRange, by: Counted | undefined, times?: TimeRange) {
  const { file, read } = await metered(path)
  const counts = new Counts(by)
  await countIn([file], counts, {
    ...{ matcher: new Matcher(range), tally: newTally(), blockBytes, times },
    onUnreadable: (_file, error) => {
      throw error
    },
  })
  return { decisions: counts.decisions, rows: counts.rows, bytes: read() }
}

/** Where each line begins, and its time. */
function looks(lines: readonly string[]): { readonly offset: number; readonly ms: number }[] {
  let offset = 0
  return lines.map((text) => {
    const look = { offset, ms: Date.parse(/"time":"([^"]*)"/.exec(text.slice(0, 60))?.[1] ?? '') }
    offset += text.length
    return look
  })
}

describe.each(Object.entries(LOGS))('in a log %s', (name, lines) => {
  const path = paths[name] as string
  const all = looks(lines)

  test.each(RANGES)('%s is found as by a look at every line, in both directions', async (_what, range) => {
    const { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY } = range
    const every = all.filter(({ ms }) => ms >= sinceMs && ms < untilMs).map(({ offset }) => offset)
    const forward = await search(path, range, false, range)
    const backward = await search(path, range, true, range)
    expect(forward.offsets).toEqual(every)
    expect(backward.offsets.toReversed()).toEqual(every)
    expect((await count(path, range, undefined, range)).decisions).toBe(every.length)
  })
})

describe('nothing is read before the first line that matters, and nothing behind the last', () => {
  const path = paths['in order'] as string
  /** A line in each MiB, and at most two MiB on either side. */
  const boundBytes = (mibs: number) => MIBS * 20_000 + (mibs + 4) * LOOK_EVERY_BYTES

  test.each([
    ['the end', { sinceMs: at(15 * LINES_A_MIB) }, 1],
    ['the beginning', { untilMs: at(LINES_A_MIB) }, 1],
    ['the middle', { sinceMs: at(8 * LINES_A_MIB), untilMs: at(8.5 * LINES_A_MIB) }, 0.5],
    ['nothing', { sinceMs: START_MS + 100 * HOUR_MS }, 0],
  ])('for %s', async (_what, range, mibs) => {
    const found = await Promise.all([
      search(path, range, false, range),
      search(path, range, true, range),
      count(path, range, 'api', range),
    ])
    for (const { bytes } of found) expect(bytes).toBeLessThan(boundBytes(mibs))
  })

  test('a clock that was set back elsewhere has its own place read, and no more', async () => {
    const range = { sinceMs: at(15 * LINES_A_MIB - BACK) }
    const { bytes } = await search(paths['whose clock was set back by an hour'] as string, range, true, range)
    expect(bytes).toBeLessThan(boundBytes(1) + 3 * LOOK_EVERY_BYTES)
  })

  test.each([
    ['earlier', { sinceMs: START_MS + 100 * HOUR_MS }],
    ['later', { untilMs: START_MS - HOUR_MS }],
  ])('a replaced file that is %s has a KiB read in each MiB, and its end', async (_what, range) => {
    for (const newestFirst of [false, true]) {
      const { offsets, bytes } = await search(path, range, newestFirst, range)
      expect(offsets).toEqual([])
      expect(bytes).toBeLessThanOrEqual((MIBS + 1) * 1_024 + 16_384)
    }
  })
})

describe('lines that are not far from their place are found, in both directions', () => {
  const moved = (from: number, by: number): string[] => {
    const lines = [...(LOGS['in order'] as string[])]
    return lines.toSpliced(from + by, 0, ...lines.splice(from, 50))
  }
  const [early, late] = [6 * LINES_A_MIB + 300, 6 * LINES_A_MIB + 1_500]

  test.each<[what: string, lines: () => readonly string[], range: TimeRange]>([
    [
      'of many lines a second, most of a minute too late',
      () => steps(0, COUNT).map((step) => line((step < 12_000 ? step : step - 59_000 / 5) / 100)),
      { sinceMs: START_MS + 59_500, untilMs: START_MS + 60_000 },
    ],
    ['most of a MiB too early', () => moved(early, -1_300), { sinceMs: at(early) }],
    ['most of a MiB too late', () => moved(late, 1_300), { untilMs: at(late + 50) }],
  ])('%s', async (_what, lines, range) => {
    const { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY } = range
    const path = newLog(lines())
    const every = looks(lines()).filter(({ ms }) => ms >= sinceMs && ms < untilMs)
    const found = [await search(path, range, false, range), await search(path, range, true, range)]
    expect(found.map(({ offsets }) => offsets.toSorted((a, b) => a - b))).toEqual(
      found.map(() => every.map(({ offset }) => offset)),
    )
  })
})

test('lines out of order by more than a minute in less than a MiB are found by a look at every line', async () => {
  const ahead = [
    ...linesOf(0, 4 * LINES_A_MIB + 200),
    ...linesOf(12 * LINES_A_MIB, 300),
    ...linesOf(4 * LINES_A_MIB + 500, 4 * LINES_A_MIB),
  ]
  const range = { sinceMs: at(12 * LINES_A_MIB) }
  const path = newLog(ahead)
  expect((await search(path, range, false, range)).offsets).toEqual([])
  expect((await search(path, range, false, undefined)).offsets).toHaveLength(300)
})

test('a replay reads the lines of a time, and malformed lines among them by their place', async () => {
  const lines = [...(LOGS['in order'] as string[])]
  const inTime = 10 * LINES_A_MIB + 50
  for (const index of [100, 10 * LINES_A_MIB - 50, inTime]) lines.splice(index, 0, 'nonsense\n')
  const range = { sinceMs: at(10 * LINES_A_MIB), untilMs: at(10 * LINES_A_MIB + 200) }
  const { file, read } = await metered(newLog(lines))
  const malformed: object[] = []
  const times: string[] = []
  await using log = await file.open()
  await readLines(
    blocksIn(log, { blockBytes, times: range }),
    ({ time }) => times.push(time),
    (each) => malformed.push(each),
    range,
  )
  expect(times).toEqual(steps(10 * LINES_A_MIB, 200).map((step) => new Date(at(step)).toISOString()))
  const offset = lines.slice(0, inTime).reduce((sum, { length }) => sum + length, 0)
  expect(malformed).toEqual([{ offset, problem: 'expected JSON' }])
  expect(read()).toBeLessThan(6 * LOOK_EVERY_BYTES)
})

/** Lines with and without each member, and with signs of JSON in their texts. */
const LINES: readonly object[] = [
  {},
  { caller: { name: 'a "quoted"\\ é \u202e one' }, api: 'a "b"' },
  { caller: { address: '10.0.0.1', name: 'web' }, client_address: '10.0.0.2' },
  { subject: { id: 'u', type: 'guest', account: 'of the user' } },
  { subject: { id: 'u', type: 'guest', account: '1' }, scope: { account: 'of the token', project: 'p' } },
  { scope: { account: '1' }, target: { account: 'of the target', project: 'q' } },
  { target: { account: 'of the target' }, token: 'f'.repeat(32) },
  { target: { account: '2', project: 'scope":{"account":"x' }, kind: undefined },
]

test.each<Counted>([
  'reason',
  'api',
  'kind',
  'user',
  'account',
  'project',
  'token',
  'client',
  'caller',
  'day',
])('a count of %s reads the same from bytes as from members', async (by) => {
  const { escapedJson } = await import('../../sidecar/base/visible-text.ts')
  const lines = LINES.map((members, index) => ({
    ...{ time: new Date(START_MS + index * 12 * HOUR_MS).toISOString(), protocol: 'grpc', caller: {} },
    ...{ api: `api-${index % 2}`, kind: 'day_pass', allowed: true, reason: 'ALLOWED' },
    ...{ matrix: 'sha256:0', strict: false, conflicts: [], asked: 'kind' },
    ...members,
  }))
  const texts = lines.map((each) => escapedJson(JSON.stringify(each)))
  const bytes = await count(newLog(texts.map((text) => `${text}\n`)), {}, by)
  // With a space before it, a line is parsed.
  const parsed = await count(newLog(texts.map((text) => ` ${text}\n`)), {}, by)
  expect(bytes.rows).toEqual(parsed.rows)
  expect(bytes.rows.reduce((sum, [, decisions]) => sum + decisions, 0)).toBe(LINES.length)
})
