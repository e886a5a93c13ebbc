/** The calls that are timed for metrics: each of them, or one of several. */
import { expect, test } from 'vitest'
import type { DecisionMeter } from '../../sidecar/usecases/decision-meters.ts'
import { timed } from '../../sidecar/usecases/timed.ts'

/** A meter, and the times at which what it has timed began. */
function newMeter() {
  const began: number[] = []
  return { meter: { answered: (ms: number) => began.push(ms) } as unknown as DecisionMeter, began }
}

const joined = (first: string, second: string) => `${first} ${second}`

test('without a meter, it is the handler itself', () => {
  expect(timed(undefined, joined)).toBe(joined)
})

test.each([
  { every: undefined, timedCalls: [1, 2, 3, 4, 5, 6, 7] },
  { every: 3, timedCalls: [1, 4, 7] },
])('of every $every calls one is timed, the first among them', ({ every, timedCalls }) => {
  const { meter, began } = newMeter()
  const handle = timed(meter, joined, every)
  const found: number[] = []
  for (let call = 1; call <= 7; call++) {
    const [before, beforeMs] = [began.length, performance.now()]
    expect(handle('one', 'other')).toBe('one other')
    if (began.length === before) continue
    found.push(call)
    expect(began.at(-1)).toBeGreaterThanOrEqual(beforeMs)
  }
  expect(found).toEqual(timedCalls)
})

test('a promise is timed until it is settled, also where it fails', async () => {
  const { meter, began } = newMeter()
  const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>()] as const
  const handle = timed(meter, (which: 0 | 1) => answers[which].promise)
  const given = [handle(0), handle(1)]
  await Promise.resolve()
  expect(began).toHaveLength(0)
  answers[0].resolve('an answer')
  answers[1].reject(new RangeError('a defect'))
  expect(await given[0]).toBe('an answer')
  await expect(given[1]).rejects.toThrow('a defect')
  expect(began).toHaveLength(2)
})
