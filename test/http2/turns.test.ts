/** Turns: a connection does not keep the others waiting, and its bytes go nowhere else. */
import { expect, test } from 'vitest'
import type { Application } from '../../sidecar/transports/http2/application.ts'
import { FrameWriter } from '../../sidecar/transports/http2/frame-writer.ts'
import { constant } from '../support/http2/constant.ts'
import {
  cancelled,
  END_HEADERS,
  FRAME,
  field,
  frame,
  many,
  open,
  PREFACE,
  uint32,
  whole,
} from '../support/http2/frames.ts'
import { described, type TestPeer, TestServer } from '../support/http2/peer.ts'

const COUNT = 60

const plain = constant(Buffer.from('hello'))

/** A server that works for a millisecond on each request. */
function workingServer(): TestServer<undefined> {
  const working: Application<undefined> = {
    ...plain,
    open: (stream) => {
      server.nowMs++
      plain.open(stream)
    },
  }
  const server = new TestServer(working)
  return server
}

const answersOf = (peer: TestPeer) =>
  peer
    .received()
    .map(described)
    .filter((each) => each.endsWith('END_STREAM')).length

test('a connection with much work is interrupted, another one is answered meanwhile, and nothing is lost', async () => {
  const server = workingServer()
  const [busy, other] = [server.connect().send(PREFACE), server.connect().send(PREFACE)]
  busy.send(...Array.from({ length: COUNT }, (_, index) => whole(2 * index + 1)))
  let answered = answersOf(busy)
  // The clock is looked at after every eight requests.
  expect(answered).toBeLessThanOrEqual(8)
  // The time of this round is spent, and the one that was quiet is first in the next one.
  other.send(whole(1))
  const otherAnswered = [answersOf(other)]
  while (answered < COUNT) {
    await new Promise(setImmediate)
    const more = answersOf(busy)
    expect(more).toBeLessThanOrEqual(8)
    otherAnswered.push(answersOf(other))
    answered += more
  }
  expect(answered).toBe(COUNT)
  expect(otherAnswered.slice(0, 2)).toEqual([0, 1])
})

test('of those that never stop the one that has waited longest is next, and a quiet connection comes before them', async () => {
  const server = workingServer()
  const requests = many(COUNT, (index) => whole(2 * index + 1))
  const busy = Array.from({ length: 4 }, () => server.connect().send(PREFACE))
  for (const peer of busy) peer.send(requests)
  // All have had a turn that was too short.
  for (let round = 0; round < 4; round++) await new Promise(setImmediate)
  for (const peer of busy) expect(answersOf(peer)).toBeGreaterThan(0)
  const order: number[] = []
  const quiet = server.connect().send(PREFACE, whole(1))
  await new Promise(setImmediate)
  expect(answersOf(quiet)).toBe(1)
  while (order.length < 12) {
    for (const [index, peer] of busy.entries()) if (answersOf(peer) > 0) order.push(index)
    await new Promise(setImmediate)
  }
  for (let turn = 4; turn < order.length; turn++) expect(order[turn]).toBe(order[turn - 4])
})

test('a socket that always has more is read for one turn', () => {
  const server = workingServer()
  const peer = server.connect().send(PREFACE)
  for (let read = 0; read < 32; read++) peer.send(whole(2 * read + 1))
  // Each read brought less than a turn has time for.
  expect(answersOf(peer)).toBeLessThanOrEqual(8)
})

const small = { turnMs: -1, controlFramesPerSecond: 10_000, resetsPerSecond: 10_000 }
test.each<[what: string, frames: (index: number) => Buffer]>([
  ['pings', () => frame(FRAME.ping, { payload: Buffer.alloc(8) })],
  ['settings', () => frame(FRAME.settings)],
  ['window updates', () => frame(FRAME.windowUpdate, { payload: uint32(1) })],
  ['priorities', () => frame(FRAME.priority, { stream: 1, payload: Buffer.alloc(5) })],
  ['frames of an unknown type', () => frame(0x42)],
  ['empty DATA', () => frame(FRAME.data, { stream: 1 })],
  ['calls that do not end', (index) => open(2 * index + 3)],
  ['calls that are cancelled', (index) => cancelled(2 * index + 3)],
  ['trailers that end nothing', (index) => Buffer.concat([open(2 * index + 3), open(2 * index + 3)])],
  ['DATA of a stream that was reset', () => frame(FRAME.data, { stream: 3, payload: Buffer.alloc(1) })],
  [
    'parts of header fields',
    (index) =>
      Buffer.concat([
        frame(FRAME.headers, { stream: 2 * index + 3 }),
        ...Array(30).fill(frame(FRAME.continuation, { stream: 2 * index + 3 })),
        frame(FRAME.continuation, { flags: END_HEADERS, stream: 2 * index + 3, payload: field('a', 'b') }),
      ]),
  ],
])('a turn ends between frames of any kind: %s', async (_what, frames) => {
  const server = new TestServer(plain, small)
  const peer = server.connect().send(PREFACE, open(1))
  await new Promise(setImmediate)
  peer.send(open(3), open(3), many(100, frames), whole(1_001))
  expect(answersOf(peer)).toBe(0)
  for (let rounds = 0; answersOf(peer) === 0; rounds++) {
    expect(rounds).toBeLessThan(1_000)
    await new Promise(setImmediate)
  }
  expect(peer.ended).toBe(false)
})

test('bytes that arrive while a connection waits for its turn are not lost', async () => {
  const server = workingServer()
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
