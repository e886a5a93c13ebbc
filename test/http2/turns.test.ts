/** Turns: a connection does not keep the others waiting, and its bytes go nowhere else. */
import { expect, test } from 'vitest'
import type { Application } from '../../sidecar/http2/application.ts'
import { FrameWriter } from '../../sidecar/http2/frame-writer.ts'
import { DEFAULT_LIMITS } from '../../sidecar/http2/limits.ts'
import { constant } from '../support/http2/constant.ts'
import { described, type TestPeer, TestServer } from '../support/http2/peer.ts'
import { callOf, END_HEADERS, FRAME, frame, PREFACE } from '../support/http2-frames.ts'

const whole = (stream: number) =>
  frame(FRAME.headers, { flags: END_HEADERS | 0x1, stream, payload: callOf('/') })
const COUNT = 60
/** As they are where nobody tests. */
const TURNS = { turnMs: DEFAULT_LIMITS.turnMs }

/** Answers after a millisecond of work. */
const plain = constant(Buffer.from('hello'))
const working: Application<undefined> = {
  ...plain,
  open: (stream) => {
    for (const end = performance.now() + 1; performance.now() < end; );
    plain.open(stream)
  },
}

const answersOf = (peer: TestPeer) =>
  peer
    .received()
    .map(described)
    .filter((each) => each.endsWith('END_STREAM')).length

test('a connection with much work is interrupted, another one is answered meanwhile, and nothing is lost', async () => {
  const server = new TestServer(working, TURNS)
  const [busy, other] = [server.connect().send(PREFACE), server.connect().send(PREFACE)]
  busy.send(...Array.from({ length: COUNT }, (_, index) => whole(2 * index + 1)))
  let answered = answersOf(busy)
  // The clock is looked at after every eight requests.
  expect(answered).toBeLessThanOrEqual(8)
  other.send(whole(1))
  expect(answersOf(other)).toBe(1)
  while (answered < COUNT) {
    await new Promise(setImmediate)
    const more = answersOf(busy)
    expect(more).toBeLessThanOrEqual(8)
    answered += more
  }
  expect(answered).toBe(COUNT)
})

test('what arrives while a connection waits for its turn is not lost', async () => {
  const server = new TestServer(working, TURNS)
  const peer = server.connect().send(PREFACE)
  const bytes = Buffer.concat(Array.from({ length: COUNT }, (_, index) => whole(2 * index + 1)))
  peer.send(bytes.subarray(0, 1_000)).send(bytes.subarray(1_000, 1_101)).send(bytes.subarray(1_101))
  let answered = answersOf(peer)
  while (answered < COUNT) {
    await new Promise(setImmediate)
    answered += answersOf(peer)
  }
  expect(answered).toBe(COUNT)
})

test('two connections never have their turn at the same time, because they share the buffer of answers', () => {
  const server = new TestServer<undefined>({ ...plain, open: () => void other.send(whole(1)) })
  const other = server.connect()
  const peer = server.connect().send(PREFACE)
  expect(() => peer.send(whole(1))).toThrow('two connections have their turn at the same time')
  const writer = new FrameWriter()
  writer.claim()
  writer.release()
  writer.claim()
  expect(() => writer.claim()).toThrow()
})
