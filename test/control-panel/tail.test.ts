/**
 * The live tail of decisions: what a listener gets of the lines, what becomes of one who reads slowly, and
 * when it ends.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { callError } from '../../sidecar/base/call-error.ts'
import {
  BATCH_MS,
  CONFIRM_MS,
  KEEP_ALIVE_MS,
  LAST_MS,
  TailBody,
} from '../../sidecar/http/control-panel/decision-routes.ts'
import { checkClaims } from '../../sidecar/usecases/check.ts'
import {
  LISTENERS_MAX,
  OF_CALLER_MAX,
  Tail,
  WAITING_BYTES_MAX,
} from '../../sidecar/usecases/control-panel/tail.ts'
import { linesOf, newDecisionLog } from '../support/signals/decision-log.ts'

const engine = compile(supportMatrix, {})
const QUESTION = {
  ...{ api: 'balance', kind: 'iam_token_account_scoped' },
  ...{ scope: { account: '1' }, target: undefined },
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function newTail(options: Parameters<typeof newDecisionLog>[0] = {}) {
  const opened = newDecisionLog({ bytesMax: 1 << 28, ...options })
  const ask = (question: Partial<typeof QUESTION> = {}) =>
    checkClaims({ engine }, { ...QUESTION, ...question }, opened.listener)
  return { ...opened, ask, tail: new Tail(opened.log) }
}

test('a listener gets the lines of the log since they listen, whole and in order', async () => {
  const { tail, log, kept, ask } = newTail()
  ask({ api: 'before' })
  const listener = tail.listen('ops')
  const asked = Array.from({ length: 200 }, (_, index) => ask({ api: `line ${index}`, kind: '{"\n\\é😀' }))
  ask({ api: 'x'.repeat(5_000), kind: '\n'.repeat(5_000) })
  const got = linesOf(listener.take()?.toString() ?? '')
  listener.close()
  ask({ api: 'after' })
  await log.close()
  expect(asked).toHaveLength(200)
  expect(got).toEqual(kept.lines.slice(1, -1))
  expect(got.map(({ api }) => api).slice(0, 2)).toEqual(['line 0', 'line 1'])
})

test('lines are found at the beginning of each block of the log', async () => {
  const { tail, log, kept, ask } = newTail()
  const listener = tail.listen('ops')
  let text = ''
  for (let index = 0; index < 3_000; index++) {
    ask()
    ask({ kind: 'nosuch' })
    text += listener.take() ?? ''
  }
  await log.close()
  expect(linesOf(text)).toEqual(kept.lines)
  expect(text.length).toBeGreaterThan(4 * 262_144)
})

test('the log is not followed before the first listener and after the last', () => {
  const { tail, log } = newTail()
  expect(log.follower).toBe(undefined)
  const [one, other] = [tail.listen('ops'), tail.listen('ops')]
  one.close()
  one.close()
  expect(log.follower).not.toBe(undefined)
  other.close()
  expect(log.follower).toBe(undefined)
})

test('a slow reader misses lines and learns how many; others miss none', () => {
  const { tail, ask } = newTail()
  const [slow, quick] = [tail.listen('slow'), tail.listen('quick')]
  let quickLines = 0
  for (let index = 0; index < 1_000; index++) {
    ask()
    quickLines += linesOf(quick.take()?.toString() ?? '').length
  }
  const bytes = slow.take() ?? Buffer.alloc(0)
  const lines = bytes.toString().trimEnd().split('\n')
  const { missed } = JSON.parse(lines.pop() ?? '') as { missed: number }
  expect(bytes.length).toBeLessThan(WAITING_BYTES_MAX + 100)
  expect(lines.length + missed).toBe(1_000)
  expect(missed).toBeGreaterThan(0)
  expect(quickLines).toBe(1_000)
  // There is room again.
  ask()
  expect(linesOf(slow.take()?.toString() ?? '')).toHaveLength(1)
  expect(slow.take()).toBe(undefined)
})

test('a caller has a bounded number of listeners, and all callers together too', () => {
  const { tail } = newTail()
  const ofOne = Array.from({ length: OF_CALLER_MAX }, () => tail.listen('ops'))
  expect(() => tail.listen('ops')).toThrow('too many watches of this caller; try again later')
  ofOne[0]?.close()
  tail.listen('ops')
  for (let others = OF_CALLER_MAX; others < LISTENERS_MAX; others++) tail.listen(`caller ${others}`)
  expect(() => tail.listen('another')).toThrow('too many watches of all callers; try again later')
})

test('a bounded number of bytes waits, and behind a line that is missing no other one does', () => {
  const listener = newTail().tail.listen('ops')
  const put = (text: string) => listener.put(Buffer.from(`..${text}.`), 2, 2 + text.length)
  const full = `${'x'.repeat(WAITING_BYTES_MAX - 1)}\n`
  put(full)
  expect(listener.take()?.toString()).toBe(full)
  put('\n')
  put(full)
  put('short\n')
  expect(listener.take()?.toString()).toBe('\n{"missed":2}\n')
  put('\n')
  put(full)
  expect(listener.take()?.toString()).toBe('\n{"missed":1}\n')
  expect(listener.take()).toBe(undefined)
  listener.close()
})

/** A body that listens, and what it has given so far. */
function newBody(confirm = async () => {}) {
  const opened = newTail({ samplePercent: 100 })
  const listener = opened.tail.listen('ops')
  const body = new TailBody({
    listening: { listener, samplePercent: 100, workers: 1 },
    confirm,
  })
  let text = ''
  body.on('data', (bytes: Buffer) => {
    text += bytes
  })
  return {
    ...opened,
    body,
    lines: () =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
  }
}

test('a body begins with what is listened to, and has a batch of lines at a time', async () => {
  const { ask, lines, body } = newBody()
  await vi.advanceTimersByTimeAsync(0)
  expect(lines()).toEqual([{ listening: { samplePercent: 100, workers: 1 } }])
  ask()
  ask()
  await vi.advanceTimersByTimeAsync(BATCH_MS - 1)
  expect(lines()).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(lines()).toHaveLength(3)
  body.destroy()
})

test('a body is never silent for long', async () => {
  const { lines, body } = newBody()
  await vi.advanceTimersByTimeAsync(3 * KEEP_ALIVE_MS)
  expect(lines().slice(1)).toEqual([{ alive: true }, { alive: true }, { alive: true }])
  body.destroy()
})

test('a body that is not read gives nothing more, and holds a bounded number of bytes', async () => {
  const { ask, lines, body } = newBody()
  body.pause()
  for (let batch = 0; batch < 20; batch++) {
    for (let index = 0; index < 1_000; index++) ask()
    await vi.advanceTimersByTimeAsync(BATCH_MS)
    expect(body.readableLength).toBeLessThan(2 * WAITING_BYTES_MAX)
  }
  body.resume()
  await vi.advanceTimersByTimeAsync(2 * BATCH_MS)
  const all = lines()
  const missed = all.reduce((sum, line) => sum + (line.missed ?? 0), 0)
  expect(all.filter((line) => line.api === 'balance').length + missed).toBe(20_000)
  body.destroy()
})

test('a body ends as soon as its listener loses the right, and says why', async () => {
  let may = true
  const { log, ask, lines, body } = newBody(async () => {
    if (!may) throw callError('CALLER_TOKEN_INVALID', {})
  })
  await vi.advanceTimersByTimeAsync(CONFIRM_MS)
  may = false
  ask()
  await vi.advanceTimersByTimeAsync(CONFIRM_MS)
  expect(lines().at(-1)).toEqual({ ended: 'CALLER_TOKEN_INVALID' })
  expect([body.destroyed, log.follower]).toEqual([true, undefined])
  body.end('STOPPING')
  expect(lines().at(-1)).toEqual({ ended: 'CALLER_TOKEN_INVALID' })
})

test('a reader who does not read cannot hold up the end', async () => {
  const { ask, body } = newBody()
  body.pause()
  for (let batch = 0; batch < 3; batch++) {
    ask()
    await vi.advanceTimersByTimeAsync(BATCH_MS)
  }
  body.end('STOPPING')
  await vi.advanceTimersByTimeAsync(LAST_MS - 1)
  expect(body.destroyed).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(body.destroyed).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('a body whose reader is gone no longer listens', async () => {
  const { log, body } = newBody()
  body.destroy()
  await vi.advanceTimersByTimeAsync(0)
  expect(log.follower).toBe(undefined)
  expect(vi.getTimerCount()).toBe(0)
})
