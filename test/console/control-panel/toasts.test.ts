/** Messages with an undo: what they announce is done once, unless it is undone. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { newToaster } from '../../../console/panel/model/toasts.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function announced() {
  const done: string[] = []
  const toaster = newToaster()
  toaster.say({ text: 'revoked', undo: () => done.push('undone'), gone: () => void done.push('gone') })
  const close = (undone: boolean) => toaster.close(toaster.shown()[0]?.id ?? 0, undone)
  return { done, toaster, close }
}

test('it is done after ten seconds', () => {
  const { done, toaster } = announced()
  vi.advanceTimersByTime(9_999)
  expect([done, toaster.shown().length]).toEqual([[], 1])
  vi.advanceTimersByTime(1)
  expect([done, toaster.shown().length]).toEqual([['gone'], 0])
})

test('it is not done when it is undone', () => {
  const { done, close } = announced()
  close(true)
  vi.advanceTimersByTime(60_000)
  expect(done).toEqual(['undone'])
})

test('it is done at once when the message is closed or the page is left, and not again', async () => {
  const { done, toaster, close } = announced()
  close(false)
  await toaster.flush()
  vi.advanceTimersByTime(60_000)
  expect(done).toEqual(['gone'])
})

test('whoever logs out waits for it, and a failure of one does not keep the others', async () => {
  const { done, toaster } = announced()
  toaster.say({ text: 'a', gone: () => Promise.reject(new Error('no')) })
  toaster.say({ text: 'b', gone: async () => void done.push('b') })
  await toaster.flush()
  expect([done, toaster.shown()]).toEqual([['gone', 'b'], []])
})

test('a message without an undo stays five seconds', () => {
  const toaster = newToaster()
  toaster.say({ text: 'saved' })
  vi.advanceTimersByTime(4_999)
  expect(toaster.shown()).toHaveLength(1)
  vi.advanceTimersByTime(1)
  expect(toaster.shown()).toHaveLength(0)
})
