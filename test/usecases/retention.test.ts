/**
 * When old records of the audit trail are archived, and where, and when rows are removed.
 * `test/administration/audit-retention.test.ts`
 * reads the files of a sidecar.
 */
import { join } from 'node:path'
import { setImmediate as otherWork } from 'node:timers/promises'
import type { Logger } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RemovalParts, RemovalTimes, Removed } from '../../sidecar/directory/removal.ts'
import { Retention } from '../../sidecar/usecases/retention.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { openServices } from '../support/sidecar/services.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const NOW_MS = 1_800_000_000_000

// Other files have left timers in this process, which would fire for hours.
beforeEach(
  () => void vi.useFakeTimers({ now: NOW_MS, toFake: ['setInterval', 'setTimeout', 'clearTimeout', 'Date'] }),
)
afterEach(() => void vi.useRealTimers())

/** A retention whose jobs are these, with what they were asked for and what the log says. */
function opened(
  audit?: { keep_days?: number; archive?: string },
  archive: () => Promise<readonly string[]> = async () => [],
  remove: () => Promise<Removed> = async () => ({}),
) {
  const asked: unknown[] = []
  const removals: unknown[] = []
  const proceeds: (() => boolean)[] = []
  const lines: unknown[] = []
  const jobs = {
    archiveAudit: (_directory: unknown, ...call: unknown[]) => {
      asked.push(call)
      return archive()
    },
    removeRows: ({ proceed }: RemovalParts, times: RemovalTimes) => {
      proceeds.push(proceed)
      removals.push({ ...times, proceed: proceed() })
      return remove()
    },
  }
  const log = (level: string) => (facts: object, msg: string) => void lines.push({ level, msg, ...facts })
  const kinds = [
    { obtained: { by: 'issue' }, lifetimeSeconds: 86_400 },
    { obtained: { by: 'control_panel' }, lifetimeSeconds: null },
  ]
  const services = {
    administration: { directory: { records: {} } },
    engine: () => ({ tokenKinds: new Map(kinds.map((kind, index) => [index, kind])) }),
    now: () => Date.now(),
    log: { info: log('info'), error: log('error') },
  }
  const config = { data: 'data', ...(audit && { audit }), directory: { keep_deleted_days: 10 } }
  return {
    retention: new Retention(config, services as never, jobs),
    asked,
    removals,
    proceeds,
    lines,
    kinds,
  }
}

test.each<[claim: string, audit: { archive?: string } | undefined]>([
  ['without the section', undefined],
  ['without days', { archive: 'elsewhere' }],
])('%s, nothing is archived', async (_claim, audit) => {
  const { asked } = opened(audit)
  await vi.advanceTimersByTimeAsync(2 * HOUR_MS)
  expect(asked).toEqual([])
})

test('rows are removed after a minute and every hour, until it ends', async () => {
  const { removals, retention, lines } = opened()
  await vi.advanceTimersByTimeAsync(MINUTE_MS - 1)
  expect(removals).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  const atMs = NOW_MS + MINUTE_MS
  const dueMs = atMs - 10 * DAY_MS
  expect(removals).toEqual([{ nowMs: atMs, deletedMs: dueMs, expiredMs: dueMs, proceed: true }])
  await vi.advanceTimersByTimeAsync(HOUR_MS - MINUTE_MS)
  expect(removals).toHaveLength(2)
  await retention[Symbol.asyncDispose]()
  await vi.advanceTimersByTimeAsync(3 * HOUR_MS)
  expect(removals).toHaveLength(2)
  expect(lines).toEqual([])
})

test.each([
  ['thirty days', 30 * 86_400, NOW_MS + MINUTE_MS - 32 * DAY_MS],
  ['ever', null, 0],
])(
  'a revocation is not removed before a token that is valid for %s',
  async (_claim, lifetimeSeconds, expiredMs) => {
    const { kinds, removals } = opened()
    kinds.push({ obtained: { by: 'issue' }, lifetimeSeconds })
    await vi.advanceTimersByTimeAsync(MINUTE_MS)
    expect(removals).toMatchObject([{ expiredMs }])
  },
)

test('the log says what was removed, and why nothing was; the next hour is another attempt', async () => {
  const error = new Error('the disk is full')
  const ends = [() => Promise.reject(error), async () => ({ users: 3 })]
  const { lines } = opened(undefined, undefined, () => (ends.shift() ?? (async () => ({})))())
  await vi.advanceTimersByTimeAsync(2 * HOUR_MS)
  expect(lines).toEqual([
    {
      ...{ level: 'error', err: error },
      msg: 'rows that no longer decide anything cannot be removed, and are kept',
    },
    { level: 'info', removed: { users: 3 }, msg: 'rows that no longer decide anything were removed' },
  ])
})

test('an end in the middle of a removal stops it, and waits for it', async () => {
  const removing = Promise.withResolvers<Removed>()
  const { retention, proceeds } = opened(undefined, undefined, () => removing.promise)
  await vi.advanceTimersByTimeAsync(MINUTE_MS)
  let ended = false
  const ending = retention[Symbol.asyncDispose]().then(() => {
    ended = true
  })
  await vi.advanceTimersByTimeAsync(0)
  expect([proceeds[0]?.(), ended]).toEqual([false, false])
  removing.resolve({})
  await ending
})

test.each([
  ['the data folder', {}, join('data', 'audit-archive')],
  ['the folder of the configuration', { archive: 'elsewhere' }, 'elsewhere'],
])('older records go to %s at the start and every hour, until it ends', async (_claim, more, folder) => {
  const { retention, asked, lines } = opened({ keep_days: 30, ...more })
  expect(asked).toEqual([[folder, NOW_MS - 30 * DAY_MS]])
  await vi.advanceTimersByTimeAsync(HOUR_MS - 1)
  expect(asked).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(asked).toEqual([
    [folder, NOW_MS - 30 * DAY_MS],
    [folder, NOW_MS + HOUR_MS - 30 * DAY_MS],
  ])
  await retention[Symbol.asyncDispose]()
  await vi.advanceTimersByTimeAsync(3 * HOUR_MS)
  expect(asked).toHaveLength(2)
  // There was nothing to archive.
  expect(lines).toEqual([])
})

test('the log names the files, and why there are none; the next hour is another attempt', async () => {
  const error = new Error('the disk is full')
  const ends = [() => Promise.reject(error), async () => ['a file']]
  const { lines } = opened({ keep_days: 30 }, () => (ends.shift() ?? (async () => []))())
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(lines).toEqual([
    {
      ...{ level: 'error', err: error },
      msg: 'old records of the audit trail cannot be archived, and are kept',
    },
    { level: 'info', files: ['a file'], msg: 'old records of the audit trail were archived' },
  ])
})

test('one archive is written at a time, and the end waits for it', async () => {
  const writing = Promise.withResolvers<readonly string[]>()
  const { retention, asked } = opened({ keep_days: 30 }, () => writing.promise)
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(asked).toHaveLength(1)
  let ended = false
  const ending = retention[Symbol.asyncDispose]().then(() => {
    ended = true
  })
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(ended).toBe(false)
  writing.resolve([])
  await ending
  expect(asked).toHaveLength(2)
})

test('rows of a directory go in its lane with the fewest turns, in the name of the retention', async () => {
  vi.useRealTimers()
  const { administration, engine, folder, run } = await openServices()
  await run(TESTER, 'createAccount', { account: '1' })
  await run(TESTER, 'createControlPanelUser', { account: '1', name: 'deleted' })
  await run(TESTER, 'deleteControlPanelUser', { account: '1', name: 'deleted' })
  const changing = vi.spyOn(administration.directory, 'change')
  const shrinking = vi.spyOn(administration.directory, 'shrink')
  const nowMs = Date.now() + 3 * DAY_MS
  vi.useFakeTimers({ toFake: ['setInterval', 'setTimeout', 'clearTimeout'] })
  const said: string[] = []
  const log = { info: (_facts: object, msg: string) => void said.push(msg), error: () => {} }
  const config = { data: folder, audit: { keep_days: 1 }, directory: { keep_deleted_days: 1 } }
  const services = { administration, engine: () => engine, now: () => nowMs, log: log as unknown as Logger }
  await using _retention = new Retention(config, services)
  await vi.advanceTimersByTimeAsync(MINUTE_MS)
  while (said.length < 2) await otherWork()
  expect(said).toEqual([
    'old records of the audit trail were archived',
    'rows that no longer decide anything were removed',
  ])
  expect(changing.mock.calls.at(-1)?.[0]).toMatchObject({ name: 'retention', lane: 'users' })
  expect(shrinking).toHaveBeenCalled()
})
