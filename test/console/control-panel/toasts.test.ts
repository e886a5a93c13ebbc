/** Messages go by themselves, or when they are closed. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { newToaster } from '../../../console/panel/model/toasts.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test.each([
  ['five seconds', undefined, 5_000],
  ['as long as it says', 60_000, 60_000],
])('a message stays %s', (_, ms, stays) => {
  const toaster = newToaster()
  toaster.say({ text: 'saved', ...(ms !== undefined && { ms }) })
  vi.advanceTimersByTime(stays - 1)
  expect(toaster.shown()).toHaveLength(1)
  vi.advanceTimersByTime(1)
  expect(toaster.shown()).toHaveLength(0)
})

test('one that is closed goes, and leaves the others', () => {
  const toaster = newToaster()
  toaster.say({ text: 'a' })
  toaster.say({ text: 'b' })
  toaster.close(toaster.shown()[0]?.id ?? 0)
  expect(toaster.shown().map(({ text }) => text)).toEqual(['b'])
})
