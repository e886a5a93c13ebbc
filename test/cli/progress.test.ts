/** The progress of a long command: on a terminal alone, and with a last word at Ctrl-C. */
import { expect, test, vi } from 'vitest'
import { Progress, type ProgressOptions } from '../../sidecar/cli/terminal/progress.ts'
import { start } from '../support/processes/processes.ts'

const ERASE = '\r\u001b[2K'

/** The output of a command that takes a second for each of these counts. */
function shown(counts: readonly number[], options: Partial<ProgressOptions> = {}, isTTY = true): string[] {
  const written: string[] = []
  let nowMs = 5_000
  const stream = { isTTY, columns: 60, write: (text: string) => written.push(text) > 0 }
  {
    using progress = new Progress({
      ...{ done: 'read', unit: 'bytes', total: 10e9, ...options },
      ...{ stream: stream as ProgressOptions['stream'] & object, monotonicMs: () => nowMs },
    })
    for (const count of counts) {
      nowMs += 1_000
      progress.add(count)
    }
  }
  return written
}

test.each<[what: string, counts: number[], options: Partial<ProgressOptions>, line: string]>([
  ['bytes with their rate and the rest', [1e9, 1e9], {}, 'read 2.0 GB of 10 GB, 1.0 GB/s, 8 s left'],
  ['a long rest', [1e6], { total: 200e6 }, 'read 1.0 MB of 200 MB, 1.0 MB/s, 3 min left'],
  ['a day', [1e6], { total: 86_400e6 }, 'read 1.0 MB of 86 GB, 1.0 MB/s, 24 h left'],
  ['bytes of a pipe', [999, 1], { total: undefined }, 'read 1.0 KB, 500 bytes/s'],
  [
    'rows',
    [12_000],
    { done: 'written', unit: 'rows', total: 100_000 },
    'written 12,000 of 100,000 rows, 12,000/s, 8 s left',
  ],
  ['nothing so far', [0], {}, 'read 0 bytes of 10 GB, 0 bytes/s'],
  ['all of it', [10e9], {}, 'read 10 GB of 10 GB, 10 GB/s, 0 s left'],
  ['a line that is too long', [1], { unit: 'r'.repeat(70) }, `read 1 of 10,000,000,000 ${'r'.repeat(34)}`],
])('%s', (_what, counts, options, line) => {
  const written = shown(counts, options)
  expect(written.slice(-2)).toEqual([`${ERASE}${line}`, ERASE])
})

test('is not shown in a pipe', () => {
  expect(shown([1e9, 1e9], {}, false)).toEqual([])
})

test('is not shown of a quick command, and is not written more often than five times a second', () => {
  const written: string[] = []
  let nowMs = 0
  const stream = { isTTY: true, columns: 80, write: (text: string) => written.push(text) > 0 }
  using progress = new Progress({
    ...{ done: 'read', unit: 'rows', total: 1_000 },
    ...{ stream: stream as ProgressOptions['stream'] & object, monotonicMs: () => nowMs },
  })
  for (; nowMs < 1_000; nowMs += 10) progress.add(1)
  expect(written).toEqual([])
  for (; nowMs < 2_000; nowMs += 10) progress.add(1)
  expect(written).toHaveLength(5)
})

test('the total loses the units that need not be done', () => {
  const written: string[] = []
  let nowMs = 0
  const stream = { isTTY: true, columns: 80, write: (text: string) => written.push(text) > 0 }
  using progress = new Progress({
    ...{ done: 'read', unit: 'bytes', total: 10e9 },
    ...{ stream: stream as ProgressOptions['stream'] & object, monotonicMs: () => nowMs },
  })
  progress.leaveOut(9e9)
  nowMs = 2_000
  progress.add(5e8)
  expect(written).toEqual([`${ERASE}read 500 MB of 1.0 GB, 250 MB/s, 2 s left`])
})

test('Ctrl-C takes the line away, says what was left, and ends as the shell expects it', () => {
  const written: string[] = []
  let nowMs = 0
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const stream = { isTTY: true, columns: 80, write: (text: string) => written.push(text) > 0 }
  using progress = new Progress({
    ...{ done: 'written', unit: 'rows', total: 1_000 },
    ...{ stream: stream as ProgressOptions['stream'] & object, monotonicMs: () => nowMs },
  })
  nowMs = 2_000
  progress.add(250)
  process.emit('SIGINT')
  expect(written.slice(1)).toEqual([
    ERASE,
    'portcullis: interrupted: written 250 of 1,000 rows; 750 rows left\n',
  ])
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGINT']])
  kill.mockRestore()
})

const LINE = {
  ...{ time: '2026-11-22T09:44:34.123Z', protocol: 'grpc', caller: {}, api: 'cdn', kind: 'static_token' },
  ...{ allowed: true, reason: 'ALLOWED', matrix: `sha256:${'0'.repeat(64)}`, strict: false, conflicts: [] },
  ...{ asked: 'kind', latency_us: 0 },
}

test('Ctrl-C ends a search at once, which says how much it had read', async () => {
  // Found lines are printed in parts of 500.
  const text = `${JSON.stringify(LINE)}\n`.repeat(1_000)
  const running = start(['decisions', '-', '--oldest-first', '--limit', '5000'], { input: 'open' })
  running.write(text)
  await running.until(() => running.stdout().includes('cdn'))
  running.signal('SIGINT')
  const { code, stderr } = await running.ended
  expect(code).toBe('SIGINT')
  expect(stderr).toMatch(/^portcullis: interrupted: read \d+ KB\n$/)
})
