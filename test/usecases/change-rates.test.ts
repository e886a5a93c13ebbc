/** How many changes a principal may make, and which principals are forgotten. */
import { expect, test } from 'vitest'
import type { ChangeLane } from '../../sidecar/directory/author.ts'
import { ChangeRates } from '../../sidecar/usecases/change-rates.ts'

const LIMITS = { burst: 10, administratorPerMinute: 60, userPerMinute: 6 }

/** @returns seconds after which it may be tried again, as both places say it; 0: it is counted */
function spend(rates: ChangeRates, lane: ChangeLane, principal = 'a'): number {
  try {
    rates.spend({ lane, principal })
    return 0
  } catch (error) {
    const { reason, message, metadata } = error as { reason: string; message: string; metadata: object }
    const seconds = Number(
      /^too many changes by this user or caller; try again in (\d+) s$/.exec(message)?.[1],
    )
    expect({ reason, metadata }).toEqual({
      reason: 'CHANGES_THROTTLED',
      metadata: { retry_after_seconds: String(seconds) },
    })
    return seconds
  }
}

test.each<[claim: string, lane: ChangeLane, before: number, laterMs: number, seconds: number]>([
  ['a burst is allowed', 'users', 9, 0, 0],
  ['and no more', 'users', 10, 0, 10],
  ['the rest comes back in time, for a user', 'users', 10, 10_000, 0],
  ['not sooner', 'users', 10, 9_000, 1],
  ['a part of a second is a whole one', 'users', 10, 9_999, 1],
  ['for an administrator sooner', 'administrators', 10, 1_000, 0],
  ['who waits as long as that takes', 'administrators', 10, 0, 1],
  ['an operator has no rate', 'operators', 1_000, 0, 0],
  ['nor has what takes rights away', 'revocations', 1_000, 0, 0],
])('%s', (_claim, lane, before, laterMs, seconds) => {
  const clock = { nowMs: 0 }
  const rates = new ChangeRates(LIMITS, () => clock.nowMs)
  for (let index = 0; index < before; index++) rates.spend({ lane, principal: 'a' })
  clock.nowMs += laterMs
  expect(spend(rates, lane)).toBe(seconds)
  expect(spend(rates, lane, 'b')).toBe(0)
})

test('a requester who waits for long has a burst again, and no more; a refusal costs nothing', () => {
  const clock = { nowMs: 0 }
  const rates = new ChangeRates(LIMITS, () => clock.nowMs)
  const burst = () => Array.from({ length: 11 }, () => spend(rates, 'users'))
  const [allowed, refused] = [Array.from({ length: 10 }, () => 0), 10]
  expect(burst()).toEqual([...allowed, refused])
  clock.nowMs += 5_000
  expect(spend(rates, 'users')).toBe(5)
  clock.nowMs += 5_000
  expect([spend(rates, 'users'), spend(rates, 'users')]).toEqual([0, 10])
  clock.nowMs += 3_600_000
  expect(burst()).toEqual([...allowed, refused])
})

test('the changes of a principal in one lane do not count in another', () => {
  const rates = new ChangeRates(LIMITS, () => 0)
  for (let index = 0; index < 10; index++) rates.spend({ lane: 'users', principal: 'a' })
  expect([spend(rates, 'users'), spend(rates, 'administrators')]).toEqual([10, 0])
})

test('a monotonic clock is the default, and a principal without a rate takes no place', () => {
  const rates = new ChangeRates(LIMITS)
  for (let index = 0; index < 10; index++) rates.spend({ lane: 'users', principal: 'a' })
  for (let index = 0; index < 10_000; index++) rates.spend({ lane: 'operators', principal: `${index}` })
  expect(spend(rates, 'users')).toBeGreaterThan(0)
})

test('ten thousand principals are counted, and the one that changed least recently is forgotten first', () => {
  const rates = new ChangeRates({ ...LIMITS, burst: 1 }, () => 0)
  const all = Array.from({ length: 10_000 }, (_, index) => `principal-${index}`)
  for (const principal of all) rates.spend({ lane: 'users', principal })
  const [first = '', second = '', third = ''] = all
  // It is refused, and is the one that asked last.
  expect(spend(rates, 'users', first)).toBe(10)
  expect(spend(rates, 'users', 'another')).toBe(0)
  expect([first, third].map((each) => spend(rates, 'users', each))).toEqual([10, 10])
  expect(spend(rates, 'users', second)).toBe(0)
})
