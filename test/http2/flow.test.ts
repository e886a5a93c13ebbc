/**
 * Flow control (RFC 9113, §5.2): all bytes fit the peer's windows, shares are fair, and nothing is lost or
 * repeated.
 */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Application } from '../../sidecar/transports/http2/application.ts'
import { HeaderDecoder } from '../../sidecar/transports/http2/hpack/decoder.ts'
import { constant } from '../support/http2/constant.ts'
import { callOf, END_HEADERS, FRAME, field, frame, PREFACE } from '../support/http2/frames.ts'
import { described, type TestPeer, TestServer } from '../support/http2/peer.ts'
import { collecting, PoliteClient } from '../support/http2/polite.ts'

const ACK = 0x1
const END_STREAM = 0x1
const NOTHING = Buffer.alloc(0)
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
/** The bytes that an open stream of that request holds, beside its body. */
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
    { numRuns: 20 },
  )
})

/** Answers when there is room for the answer. */
const answeringWhatFits: Application<undefined> = {
  ...constant(Buffer.from('hello')),
  data: (stream) => {
    if (stream.remoteEnded) answeringWhatFits.resume(stream)
  },
  resume: (stream) => {
    if (stream.congested) stream.waitForRoom()
    else constant(Buffer.from('hello')).open(stream)
  },
}

/** It keeps what it gets, so that no window opens again. */
const keeping: Application<undefined> = { ...constant(NOTHING), data: () => {} }
const chunk = (bytes = 16_000) => frame(FRAME.data, { stream: 1, payload: Buffer.alloc(bytes) })
const acknowledged = frame(FRAME.settings, { flags: ACK })
const refusals = (peer: TestPeer) =>
  peer
    .received()
    .map(described)
    .filter((each) => /^(RST_STREAM|GOAWAY)/.test(each))

test('a peer may send what the windows say, and no byte more', () => {
  const send = (...frames: readonly Buffer[]) => {
    // The windows of all streams together are half of what a connection may hold.
    const server = new TestServer(keeping, { connectionBufferBytes: 400_000, streams: 10 })
    const peer = server.connect().send(PREFACE, ...frames)
    return [...refusals(peer), server.http2.budget.bytes]
  }
  expect(send(acknowledged, open(1), chunk(), chunk(4_000))).toEqual([HEAD_BYTES + 20_000])
  expect(send(acknowledged, open(1), chunk(), chunk(4_001))).toEqual(['RST_STREAM 1 FLOW_CONTROL_ERROR', 0])
  // A peer that does not know the settings yet has the window of the protocol.
  const most = [open(1), ...Array<Buffer>(4).fill(chunk(16_383))]
  expect(send(...most, chunk(3))).toEqual([HEAD_BYTES + 65_535])
  expect(send(...most, chunk(4))).toEqual(['RST_STREAM 1 FLOW_CONTROL_ERROR', 0])
})

test('the window of a stream that began before the settings were known is the smaller one afterwards (§6.9.2)', () => {
  const server = new TestServer(collecting(40_000), { connectionBufferBytes: 400_000, streams: 10 })
  const peer = server.connect().send(PREFACE, open(1), chunk(), chunk(), acknowledged)
  const updates = peer.received().filter(({ type, stream }) => type === WINDOW_UPDATE && stream === 1)
  // 32,000 of 20,000 have come, and 8,000 are missing. Some more are for padding and the end.
  expect(updates.map(({ payload }) => payload.readUInt32BE(0))).toEqual([20_000 + 1_024])
})

test('a peer that heeds the windows loses no request, and no connection holds more than it may', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300_000 }),
      fc.integer({ min: 1, max: 10 }),
      fc.integer({ min: 600_000, max: 3_000_000 }),
      (bytes, count, connectionBufferBytes) => {
        const server = new TestServer(collecting(bytes), { connectionBufferBytes, streams: 10 })
        const client = new PoliteClient(server)
        client.request(count, bytes)
        let most = 0
        while (client.send()) most = Math.max(most, server.http2.budget.bytes)
        expect([client.answered, client.errors]).toEqual([count, []])
        expect(most).toBeLessThanOrEqual(connectionBufferBytes + count * HEAD_BYTES)
        expect(server.http2.budget.bytes).toBe(0)
      },
    ),
    { numRuns: 15 },
  )
})

test('connections that together have more than fits wait, and all of them are answered', () => {
  const bytes = 200_000
  const limits = { bufferBytes: 8_000_000, connectionBufferBytes: 1_000_000 }
  const server = new TestServer(collecting(bytes), limits)
  // The bytes that they may send at the same time complete no request.
  const clients = Array.from({ length: 20 }, () => new PoliteClient(server))
  for (const client of clients) client.request(10, bytes)
  let most = 0
  for (let round = 0; clients.some(({ answered }) => answered < 10); round++) {
    while (clients.filter((client) => client.send()).length > 0)
      most = Math.max(most, server.http2.budget.bytes)
    server.pass(250)
    expect(round).toBeLessThan(1_000)
  }
  expect(clients.flatMap(({ errors }) => errors)).toEqual([])
  expect(server.exceeded).toEqual([])
  // The one whose turn it is goes on even where nothing is left, a little at a time.
  expect(most).toBeLessThanOrEqual(limits.bufferBytes + 3 * 65_535)
})

test('connections that read no answers are closed when another one waits, and not before', () => {
  const bytes = 200_000
  const requests = collecting(bytes)
  const app = { ...requests, open: constant(Buffer.alloc(bytes)).open }
  const server = new TestServer(app, { bufferBytes: 2_000_000, connectionBufferBytes: 1_000_000 })
  const holders = Array.from({ length: 8 }, () => server.connect().send(PREFACE, initialWindow(0), whole(1)))
  server.pass(10_000)
  expect(holders.filter(({ ended }) => ended)).toEqual([])
  const clients = [1, 2].map(() => new PoliteClient(server))
  for (const client of clients) client.request(3, bytes)
  for (let round = 0; round < 20; round++) {
    while (clients.filter((client) => client.send()).length > 0);
    server.pass(250)
  }
  expect(clients.map(({ answered, errors }) => [answered, errors])).toEqual([
    [3, []],
    [3, []],
  ])
  expect(holders.filter(({ ended }) => ended).length).toBeGreaterThan(0)
  expect(new Set(server.exceeded)).toEqual(new Set(['buffered_bytes']))
})

test('without room, no answer is made that the peer could not take, and a peer that never takes it is ended', () => {
  const server = new TestServer(answeringWhatFits, { bufferBytes: 60_000, readerMs: 10_000 })
  // Three quarters of what may be held.
  server.connect().send(PREFACE, open(1), ...Array<Buffer>(3).fill(chunk(15_000)))
  const ask = (stream: number) => [
    open(stream),
    frame(FRAME.data, { flags: END_STREAM, stream, payload: Buffer.alloc(1) }),
  ]
  const peer = server.connect().send(PREFACE, initialWindow(0), ...ask(1))
  expect(peer.received().map(described)).not.toContain('HEADERS 1')
  peer.send(initialWindow(5))
  expect(peer.received().map(described)).toContain('HEADERS 1 END_STREAM')
  peer.send(initialWindow(0), ...ask(3))
  server.pass(9_000)
  expect(peer.ended).toBe(false)
  server.pass(2_000)
  expect(refusals(peer)).toEqual(['GOAWAY ENHANCE_YOUR_CALM'])
  expect(server.exceeded).toEqual(['reader_time'])
})

test('a connection whose answers are not read is not invited to ask more', () => {
  const server = new TestServer(constant(Buffer.alloc(300_000)))
  // More than half of the window.
  const requests = Array.from({ length: 5 }, (_, index) => 2 * index + 1).flatMap((stream) => [
    open(stream),
    frame(FRAME.data, { flags: END_STREAM, stream, payload: Buffer.alloc(16_000) }),
  ])
  const isInvited = (...windows: readonly Buffer[]) => {
    const peer = server.connect().send(PREFACE, ...windows)
    peer.received()
    peer.send(...requests)
    return peer.received().some(({ type, stream }) => type === WINDOW_UPDATE && stream === 0)
  }
  expect(isInvited(widen(0, 4_000_000), initialWindow(400_000))).toBe(true)
  expect(isInvited(initialWindow(0))).toBe(false)
})

test.each<[what: string, reads: boolean, bytes: Buffer, held: number]>([
  [
    'half a frame',
    true,
    frame(FRAME.data, { stream: 1, payload: Buffer.alloc(16_000) }).subarray(0, 10),
    16_009,
  ],
  ['half a header block', true, frame(FRAME.headers, { stream: 1, payload: Buffer.alloc(5_000) }), 5_000],
  ['an answer that the socket does not take', false, Buffer.concat([widen(0, 900_000), whole(1)]), 20_000],
])('%s counts among what connections hold', (_what, reads, bytes, held) => {
  const server = new TestServer(constant(Buffer.alloc(20_000)))
  const peer = server.connect().send(PREFACE)
  peer.socket.reads = reads
  peer.send(bytes)
  expect(server.http2.budget.bytes).toBeGreaterThanOrEqual(held)
  peer.socket.destroy()
  return expect(
    new Promise((resolve) => peer.socket.once('close', () => resolve(server.http2.budget.bytes))),
  ).resolves.toBe(0)
})

test('where all connections hold too much, the one that holds most is ended', async () => {
  const server = new TestServer(keeping, { bufferBytes: 120_000 })
  const first = server.connect().send(PREFACE, open(1), ...Array<Buffer>(4).fill(chunk()))
  const second = server.connect().send(PREFACE, open(1), ...Array<Buffer>(3).fill(chunk()))
  expect(refusals(first)).toEqual([])
  second.send(chunk(8_000))
  await new Promise((resolve) => setImmediate(resolve))
  expect(refusals(first)).toEqual(['GOAWAY ENHANCE_YOUR_CALM'])
  expect(first.ended).toBe(true)
  expect(refusals(second)).toEqual([])
  expect(server.exceeded).toEqual(['buffered_bytes'])
  second.send(frame(FRAME.rstStream, { stream: 1, payload: number(8) }))
  expect(server.http2.budget.bytes).toBe(0)
})

test('of those that hold much, the first to end has held it longest, and not the one that has just begun', async () => {
  const server = new TestServer(keeping, { bufferBytes: 300 * HEAD_BYTES })
  const holding = (count = 100) =>
    server.connect().send(PREFACE, ...Array.from({ length: count }, (_, index) => open(2 * index + 1)))
  const [old, newer] = [0, 1].map(() => {
    const peer = holding()
    server.pass(250)
    return peer
  })
  const newest = holding()
  holding(1)
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
