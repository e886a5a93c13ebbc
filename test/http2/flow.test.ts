/** Flow control (RFC 9113, §5.2): what is sent fits the peer's windows, shares are fair, and nothing is lost or repeated. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Application } from '../../sidecar/http2/application.ts'
import { HeaderDecoder } from '../../sidecar/http2/hpack/decoder.ts'
import { constant } from '../support/http2/constant.ts'
import { described, type TestPeer, TestServer } from '../support/http2/peer.ts'
import { callOf, END_HEADERS, FRAME, field, frame, PREFACE } from '../support/http2-frames.ts'

const END_STREAM = 0x1
const WINDOW_UPDATE = 0x8
const request = callOf('/')
const whole = (stream: number) =>
  frame(FRAME.headers, { flags: END_HEADERS | END_STREAM, stream, payload: request })
const open = (stream: number) => frame(FRAME.headers, { flags: END_HEADERS, stream, payload: request })
const number = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
/** What an open stream of that request holds, beside its body. */
const HEAD_BYTES = 2_048 + new HeaderDecoder(0, 1_000).decode(request, 0, request.length).bytes
const initialWindow = (bytes: number) =>
  frame(FRAME.settings, { payload: Buffer.concat([Buffer.of(0, 4), number(bytes)]) })
const widen = (stream: number, bytes: number) => frame(WINDOW_UPDATE, { stream, payload: number(bytes) })
const data = (peer: TestPeer) => peer.received().filter(({ type }) => type === FRAME.data)

test('a window of one byte gets one byte at a time (§6.9.2)', () => {
  const peer = new TestServer(constant(Buffer.from('hello')))
    .connect()
    .send(PREFACE, initialWindow(1), whole(1))
  expect(data(peer).map(({ payload }) => payload.toString())).toEqual(['h'])
  peer.send(widen(1, 2))
  expect(data(peer).map(({ payload }) => payload.toString())).toEqual(['el'])
  peer.send(widen(1, 100))
  expect(peer.received().map(described)).toEqual(['DATA 1', 'HEADERS 1 END_STREAM'])
})

test('settings that make a window negative stop a stream until the peer has made up for it (§6.9.2)', () => {
  const peer = new TestServer(constant(Buffer.from('hello')))
    .connect()
    .send(PREFACE, initialWindow(3), whole(1))
  expect(data(peer).map(({ payload }) => payload.toString())).toEqual(['hel'])
  peer.send(initialWindow(0), widen(1, 3))
  expect(data(peer)).toEqual([])
  peer.send(widen(1, 1))
  expect(data(peer).map(({ payload }) => payload.toString())).toEqual(['l'])
  peer.send(initialWindow(1))
  expect(data(peer).map(({ payload }) => payload.toString())).toEqual(['o'])
})

test('streams share the window of a connection, one frame after the other', () => {
  const peer = new TestServer(constant(Buffer.alloc(100_000, 'x'))).connect()
  peer.send(PREFACE, initialWindow(1_000_000), whole(1), whole(3), whole(5))
  const first = data(peer)
  expect(first.reduce((sum, { payload }) => sum + payload.length, 0)).toBe(65_535)
  expect(first.slice(0, 3).map(({ stream }) => stream)).toEqual([1, 3, 5])
  peer.send(widen(0, 1_000_000))
  const counts = new Map<number, number>()
  for (const { stream, payload } of [...first, ...data(peer)])
    counts.set(stream, (counts.get(stream) ?? 0) + payload.length)
  expect([...counts]).toEqual([
    [1, 100_000],
    [3, 100_000],
    [5, 100_000],
  ])
})

test('an answer that a window holds back does not hold back header fields of another stream', () => {
  const peer = new TestServer(constant(Buffer.alloc(70_000))).connect().send(PREFACE, whole(1))
  peer.received()
  peer.send(whole(3))
  expect(peer.received().map(described)).toEqual(['HEADERS 3'])
})

test('whatever the windows, every answer arrives whole and in order', () => {
  const body = Buffer.from(Array.from({ length: 50_000 }, (_, index) => index % 251))
  fc.assert(
    fc.property(
      fc.nat(70_000),
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.record({ stream: fc.nat(6), bytes: fc.integer({ min: 1, max: 40_000 }) }), {
        maxLength: 30,
      }),
      (initial, streams, updates) => {
        const peer = new TestServer(constant(body)).connect().send(PREFACE, initialWindow(initial))
        const ids = Array.from({ length: streams }, (_, index) => 2 * index + 1)
        const windows = new Map(ids.map((id) => [id, initial]))
        let connection = 65_535
        const bodies = new Map<number, Buffer[]>(ids.map((id) => [id, []]))
        const take = () => {
          for (const { stream, payload } of data(peer)) {
            connection -= payload.length
            windows.set(stream, (windows.get(stream) ?? 0) - payload.length)
            expect(connection).toBeGreaterThanOrEqual(0)
            expect(windows.get(stream)).toBeGreaterThanOrEqual(0)
            bodies.get(stream)?.push(payload)
          }
        }
        peer.send(...ids.map(whole))
        take()
        for (const { stream, bytes } of updates) {
          const id = ids[stream % streams] ?? 1
          peer.send(widen(0, bytes), widen(id, bytes))
          connection += bytes
          windows.set(id, (windows.get(id) ?? 0) + bytes)
          take()
        }
        peer.send(widen(0, 1_000_000), ...ids.map((id) => widen(id, 1_000_000)))
        connection += 1_000_000
        for (const id of ids) windows.set(id, (windows.get(id) ?? 0) + 1_000_000)
        take()
        for (const id of ids) expect(Buffer.concat(bodies.get(id) ?? []).equals(body)).toBe(true)
      },
    ),
    { numRuns: 60 },
  )
})

test('a peer may send what the windows say, and no byte more', () => {
  // It keeps what it gets, so that no window opens again.
  const keeping: Application<undefined> = { ...constant(Buffer.alloc(0)), data: () => {} }
  const send = (bytes: number, streams: number) => {
    const server = new TestServer(keeping, { connectionBufferBytes: 300_000 })
    const peer = server.connect().send(PREFACE)
    for (let stream = 1; stream < 2 * streams; stream += 2) {
      peer.send(open(stream))
      for (let left = bytes; left > 0; left -= 16_384)
        peer.send(frame(FRAME.data, { stream, payload: Buffer.alloc(Math.min(left, 16_384)) }))
    }
    const heard = peer.received().map(described).slice(3)
    const left = streams - heard.filter((each) => each.startsWith('RST_STREAM')).length
    const held = server.http2.budget.bytes - left * HEAD_BYTES
    return { heard: heard.filter((each) => each !== 'WINDOW_UPDATE'), held }
  }
  expect(send(262_144, 1)).toEqual({ heard: [], held: 262_144 })
  expect(send(262_145, 1).heard[0]).toBe('RST_STREAM 1 FLOW_CONTROL_ERROR')
  expect(send(150_000, 2)).toEqual({ heard: [], held: 300_000 })
  expect(send(150_001, 2)).toMatchObject({ heard: ['RST_STREAM 3 ENHANCE_YOUR_CALM'], held: 150_001 })
})

test('where all connections hold too much, who holds much is refused more and then ended, and who holds little is not', async () => {
  const keeping: Application<undefined> = { ...constant(Buffer.alloc(0)), data: () => {} }
  const server = new TestServer(keeping, { bufferBytes: 100_000 })
  const chunk = (stream = 1) => frame(FRAME.data, { stream, payload: Buffer.alloc(16_000) })
  const first = server.connect().send(PREFACE, open(1), ...Array<Buffer>(6).fill(chunk()))
  const second = server.connect().send(PREFACE, open(1), chunk())
  first.send(open(3), chunk(3))
  expect(first.received().map(described)).toContain('RST_STREAM 3 ENHANCE_YOUR_CALM')
  await new Promise((resolve) => setImmediate(resolve))
  expect(first.received().map(described)).toEqual(['GOAWAY ENHANCE_YOUR_CALM'])
  expect(first.ended).toBe(true)
  expect(second.received().map(described)).toEqual(['SETTINGS', 'WINDOW_UPDATE', 'SETTINGS ACK'])
  expect(server.exceeded).toEqual(['buffered_bytes', 'buffered_bytes'])
  expect(server.http2.budget.bytes).toBe(HEAD_BYTES + 16_000)
  second.send(frame(FRAME.rstStream, { stream: 1, payload: number(8) }))
  expect(server.http2.budget.bytes).toBe(0)
})

test('of those that hold much, the first to end has held it longest, and not the one that has just begun', async () => {
  const keeping: Application<undefined> = { ...constant(Buffer.alloc(0)), data: () => {} }
  const server = new TestServer(keeping, { bufferBytes: 800_000 })
  const chunks = (count: number) =>
    Array<Buffer>(count).fill(frame(FRAME.data, { stream: 1, payload: Buffer.alloc(16_000) }))
  const [old, newer] = [0, 1].map(() => {
    const peer = server.connect().send(PREFACE, open(1), ...chunks(16))
    server.pass(250)
    return peer
  })
  const newest = server.connect().send(PREFACE, open(1), ...chunks(16))
  server.connect().send(PREFACE, open(1), ...chunks(3))
  await new Promise((resolve) => setImmediate(resolve))
  expect([old, newer, newest].map((peer) => peer?.ended)).toEqual([true, false, false])
})

const many = (count: number) => Buffer.concat(Array(count).fill(field('a', '')))
test.each<[what: string, fields: Buffer, bytes: number]>([
  ['open streams', request, HEAD_BYTES],
  ['the fields of open streams', Buffer.concat([request, many(100)]), HEAD_BYTES + 100 * 33],
])('%s count at once among what connections hold', async (_what, payload, bytes) => {
  const waiting: Application<undefined> = { ...constant(Buffer.alloc(0)), open: () => {} }
  const server = new TestServer(waiting, { bufferBytes: bytes * 100 })
  const openMany = (count: number) =>
    server
      .connect()
      .send(
        PREFACE,
        ...Array.from({ length: count }, (_, index) =>
          frame(FRAME.headers, { flags: END_HEADERS, stream: 2 * index + 1, payload }),
        ),
      )
  const [greedy, modest] = [openMany(98), openMany(2)]
  await new Promise((resolve) => setImmediate(resolve))
  expect([greedy?.ended, modest?.ended]).toEqual([false, false])
  const last = openMany(1)
  await new Promise((resolve) => setImmediate(resolve))
  expect([greedy, modest, last].map((peer) => peer?.ended)).toEqual([true, false, false])
  expect(server.http2.budget.bytes).toBe(3 * bytes)
})

test('the window of the connection opens again as the application takes what has come', () => {
  const server = new TestServer(constant(Buffer.from('hello')), { connectionBufferBytes: 65_536 })
  const peer = server.connect().send(PREFACE)
  for (let index = 0; index < 100; index++)
    peer.send(
      open(2 * index + 1),
      frame(FRAME.data, { flags: END_STREAM, stream: 2 * index + 1, payload: Buffer.alloc(16_000) }),
    )
  expect(peer.ended).toBe(false)
  expect(
    peer.received().filter(({ type, stream }) => type === WINDOW_UPDATE && stream === 0).length,
  ).toBeGreaterThan(20)
})
