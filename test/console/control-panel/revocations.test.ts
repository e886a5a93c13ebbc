/** Revocations that can be undone: when the call is made, and when it is not. The clock is the test's. */
import { expect, test } from 'vitest'
import { ApiError, GIVEN_UP, UNREACHABLE } from '../../../console/panel/model/errors.ts'
import {
  type Revocation,
  revocationsIn,
  secondsLeft,
  UNDO_MS,
} from '../../../console/panel/model/revocations.ts'

interface Key {
  readonly id: string
  readonly name: string
}

const KEY: Key = { id: '1', name: 'ci' }
const OTHER: Key = { id: '2', name: 'laptop' }

/** Revocations whose calls the test answers. */
function opened() {
  let now = 0
  const timers = new Set<{ at: number; work: () => void }>()
  const sent: string[] = []
  const states: (Revocation['state'] | undefined)[] = []
  const answers: { resolve: () => void; reject: (error: ApiError) => void }[] = []
  const revocations = revocationsIn<Key>(({ id }) => id, {
    send: ({ name }) => {
      sent.push(name)
      return new Promise((resolve, reject) => answers.push({ resolve, reject }))
    },
    now: () => now,
    later: (ms, work) => {
      const timer = { at: now + ms, work }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    changed: (_key, revocation) => states.push(revocation?.state),
  })
  const pass = (ms: number) => {
    now += ms
    for (const timer of [...timers])
      if (timer.at <= now) {
        timers.delete(timer)
        timer.work()
      }
  }
  const answer = async (error?: ApiError) => {
    const { resolve, reject } = answers.shift() as (typeof answers)[number]
    if (error === undefined) resolve()
    else reject(error)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { revocations, sent, states, pass, answer, timers }
}

test('nothing is sent for ten seconds, and then the revocation', async () => {
  const { revocations, sent, states, pass, answer } = opened()
  revocations.announce(KEY)
  expect(revocations.of('1')).toEqual({ state: 'waiting', untilMs: UNDO_MS })
  pass(UNDO_MS - 1)
  expect(sent).toEqual([])
  pass(1)
  expect(sent).toEqual(['ci'])
  await answer()
  expect(states).toEqual(['waiting', 'sending', 'revoked'])
})

test('one that is undone is never sent, and can be announced again', () => {
  const { revocations, sent, pass, timers } = opened()
  revocations.announce(KEY)
  pass(9_000)
  revocations.undo('1')
  expect([revocations.of('1'), timers.size]).toEqual([undefined, 0])
  pass(60_000)
  expect(sent).toEqual([])
  revocations.announce(KEY)
  pass(9_999)
  expect(sent).toEqual([])
  pass(1)
  expect(sent).toEqual(['ci'])
})

test('`now` sends at once and once', async () => {
  const { revocations, sent, pass, answer } = opened()
  revocations.announce(KEY)
  const now = revocations.sendNow('1')
  void revocations.sendNow('1')
  pass(UNDO_MS)
  await answer()
  await now
  expect([sent, revocations.of('1')]).toEqual([['ci'], { state: 'revoked' }])
})

test('one that was sent cannot be undone', async () => {
  const { revocations, pass, answer } = opened()
  revocations.announce(KEY)
  pass(UNDO_MS)
  revocations.undo('1')
  expect(revocations.of('1')).toEqual({ state: 'sending' })
  await answer()
  revocations.undo('1')
  expect(revocations.of('1')).toEqual({ state: 'revoked' })
})

test('leaving the page sends everything that waits, before it returns', () => {
  const { revocations, sent } = opened()
  revocations.announce(KEY)
  revocations.announce(OTHER)
  void revocations.leave()
  // A page that is left has no time for more than that.
  expect(sent).toEqual(['ci', 'laptop'])
})

test('leaving sends neither what was sent nor what failed', async () => {
  const { revocations, sent, pass, answer } = opened()
  revocations.announce(KEY)
  pass(UNDO_MS)
  void revocations.leave()
  await answer(new ApiError('INTERNAL', ''))
  await revocations.leave()
  expect(sent).toEqual(['ci'])
})

test('a revocation that failed says so, and is sent again when it is asked for', async () => {
  const { revocations, sent, pass, answer } = opened()
  revocations.announce(KEY)
  pass(UNDO_MS)
  await answer(new ApiError(UNREACHABLE, ''))
  expect(revocations.of('1')).toEqual({
    state: 'failed',
    message: expect.stringContaining('The sidecar does not answer'),
  })
  pass(UNDO_MS)
  expect(sent).toEqual(['ci'])
  void revocations.sendNow('1')
  await answer()
  expect([sent, revocations.of('1')]).toEqual([['ci', 'ci'], { state: 'revoked' }])
})

test('one for which the user did not log in again says that the key may still work', async () => {
  const { revocations, pass, answer } = opened()
  revocations.announce(KEY)
  pass(UNDO_MS)
  await answer(new ApiError(GIVEN_UP, 'the session has ended', { status: 401 }))
  expect(revocations.of('1')).toEqual({ state: 'failed', message: 'The session has ended.' })
})

test('a key that failed to be revoked can be kept', async () => {
  const { revocations, pass, answer } = opened()
  revocations.announce(KEY)
  pass(UNDO_MS)
  await answer(new ApiError('INTERNAL', ''))
  revocations.undo('1')
  expect(revocations.of('1')).toBeUndefined()
})

test('a key that another user revoked meanwhile is revoked', async () => {
  const { revocations, pass, answer } = opened()
  revocations.announce(KEY)
  pass(UNDO_MS)
  await answer(new ApiError('NOT_FOUND', 'there is no such static token', { status: 404 }))
  expect(revocations.of('1')).toEqual({ state: 'revoked' })
})

test('announcing twice begins one wait', () => {
  const { revocations, pass, sent } = opened()
  revocations.announce(KEY)
  pass(5_000)
  revocations.announce(KEY)
  pass(5_000)
  expect(sent).toEqual(['ci'])
})

test('seconds are whole, and never 0 while there is something to undo', () => {
  expect([10_000, 9_999, 1_001, 1, 0, -5].map((left) => secondsLeft(left, 0))).toEqual([10, 10, 2, 1, 1, 1])
})
