/**
 * When old records of the audit trail are archived, and where. `test/administration/audit-retention.test.ts`
 * reads the files of a sidecar.
 */
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openRetention } from '../../sidecar/usecases/audit-retention.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW_MS = 1_800_000_000_000

// Other files have left timers in this process, which would fire for hours.
beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ['setInterval', 'clearInterval', 'Date'] }))
afterEach(() => void vi.useRealTimers())

/** A directory that archives so, and what it was asked for and the log says. */
function opened(
  audit: { keep_days?: number; archive?: string } | undefined,
  archive: () => Promise<readonly string[]> = async () => [],
) {
  const asked: unknown[] = []
  const lines: unknown[] = []
  const archiveAudit = (_directory: unknown, ...call: unknown[]) => {
    asked.push(call)
    return archive()
  }
  const log = (level: string) => (facts: object, msg: string) => void lines.push({ level, msg, ...facts })
  const services = {
    administration: {},
    now: () => Date.now(),
    log: { info: log('info'), error: log('error') },
  }
  const config = { data: 'data', ...(audit && { audit }) }
  return { retention: openRetention(config, services as never, archiveAudit), asked, lines }
}

test.each<[claim: string, audit: { archive?: string } | undefined]>([
  ['without the section', undefined],
  ['without days', { archive: 'elsewhere' }],
])('%s, nothing is archived', async (_claim, audit) => {
  const { retention, asked } = opened(audit)
  await vi.advanceTimersByTimeAsync(2 * HOUR_MS)
  expect([retention, asked]).toEqual([undefined, []])
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
  await retention?.[Symbol.asyncDispose]()
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
  const ending = retention?.[Symbol.asyncDispose]().then(() => {
    ended = true
  })
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(ended).toBe(false)
  writing.resolve([])
  await ending
  expect(asked).toHaveLength(2)
})
