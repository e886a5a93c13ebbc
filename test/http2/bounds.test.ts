/**
 * The most that a peer may make the server hold. Each bound ends the connection or the stream that exceeds
 * it, and is counted.
 */
import { expect, test } from 'vitest'
import { constant } from '../support/http2/constant.ts'
import {
  ACK,
  callOf,
  cancel,
  FRAME,
  frame,
  many,
  open,
  PREFACE,
  uint32,
  whole,
} from '../support/http2/frames.ts'
import { described, TestServer } from '../support/http2/peer.ts'
import { working } from '../support/suite/resources.ts'

/** A field whose value in Huffman's code has padding of more than seven bits (RFC 7541, §5.2). */
const WRONG_PADDING = Buffer.of(0x00, 0x01, 0x78, 0x84, 0xff, 0xff, 0xff, 0xff)
const request = callOf('/')

test('a header list beyond the limit reaches the application as far as it fits', () => {
  const server = new TestServer(constant(Buffer.from('hello')), {
    headerListBytes: 4_096,
    resetsPerSecond: 10,
  })
  const peer = server.connect().send(PREFACE)
  // A few bytes that stand for a field of 4 KB, again and again: an HPACK bomb.
  const large = Buffer.concat([
    Buffer.of(0x40, 1),
    Buffer.from('a'),
    Buffer.of(0x7f, 0x81, 0x1e),
    Buffer.alloc(4_000, 'x'),
  ])
  const bomb = (stream: number) => whole(stream, Buffer.concat([request, Buffer.alloc(400, 0xbe)]))
  peer.send(whole(1, Buffer.concat([request, large, Buffer.alloc(400, 0xbe)])))
  expect(peer.received().map(described)).toContain('HEADERS 1')
  expect(server.exceeded).toEqual(['header_list'])
  // Again and again, it ends the connection.
  for (let index = 0; index < 10; index++) peer.send(bomb(2 * index + 3))
  expect(peer.ended).toBe(true)
  expect(peer.received().map(described)).toContain('GOAWAY ENHANCE_YOUR_CALM')
  expect(server.exceeded).toContain('resets')
})

test('streams beyond the limit are refused, also while handlers of streams that were reset still run', () => {
  const app = { ...constant(Buffer.from('hello')), data: () => {}, open: () => {} }
  const busy: { busy: boolean; finished(): void }[] = []
  const server = new TestServer(
    { ...app, open: (stream) => void busy.push(Object.assign(stream, { busy: true })) },
    { streams: 3 },
  )
  const peer = server.connect().send(
    PREFACE,
    many(3, (index) => whole(2 * index + 1)),
  )
  peer.received()
  peer.send(whole(7))
  expect(peer.received().map(described)).toEqual(['RST_STREAM 7 REFUSED_STREAM'])
  peer.send(cancel(1), whole(9))
  expect(peer.received().map(described)).toEqual(['RST_STREAM 9 REFUSED_STREAM'])
  busy[0]?.finished()
  peer.send(whole(11))
  expect(peer.received().map(described)).toEqual([])
  expect(busy).toHaveLength(4)
})

const inUse = { ...constant(Buffer.from('hello')), data: () => {}, open: () => {} }

test('beyond the limits the connection is closed that is idle for longest, of the same address if that has reached its limit', () => {
  const server = new TestServer(inUse, { connections: 4, connectionsPerAddress: 2 })
  const connected = ['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2'].map((address) => {
    const peer = server.connect(address).send(PREFACE)
    server.pass(1_000)
    return peer
  })
  const [first, second, third] = connected
  // It was the first one, but is in use later than the second one.
  first?.send(open(1), cancel(1))
  server.pass(1_000)
  const another = server.connect('192.0.2.1')
  expect(another.socket.destroyed).toBe(false)
  expect(second?.received().slice(-1).map(described)).toEqual(['GOAWAY NO_ERROR'])
  expect(connected.map(({ socket }) => socket.destroyed)).toEqual([false, true, false, false])
  // Both addresses have two, and a third one has none: the connection with the longest wait ends.
  expect(server.connect('192.0.2.3').socket.destroyed).toBe(false)
  expect(third?.socket.destroyed).toBe(true)
  expect(server.exceeded).toEqual(['connections_per_address', 'connections'])
  expect(server.http2.connections).toBe(4)
})

test('a client that was answered before keeps its connection while others of its address hold streams and come back', () => {
  const server = new TestServer(constant(Buffer.from('hello')), { connectionsPerAddress: 4 })
  const neighbour = server.connect('127.0.0.1').send(PREFACE, whole(1))
  const others = Array.from({ length: 20 }, () => {
    server.pass(1_000)
    return server.connect('127.0.0.1').send(PREFACE, open(1))
  })
  expect(neighbour.socket.destroyed).toBe(false)
  expect(others.map(({ socket }) => socket.destroyed)).toEqual([
    ...Array(17).fill(true),
    ...Array(3).fill(false),
  ])
})

test('a connection with a stream is closed where none is idle, and one with a running handler never is', () => {
  const busy: { busy: boolean; finished(): void }[] = []
  const server = new TestServer(
    { ...inUse, open: (stream) => void busy.push(Object.assign(stream, { busy: true })) },
    { connections: 2 },
  )
  const [first, second] = [server.connect(), server.connect()].map((peer) => peer.send(PREFACE, whole(1)))
  expect(server.connect().socket.destroyed).toBe(true)
  expect(server.exceeded).toEqual(['connections'])
  busy[1]?.finished()
  working(10)
  expect(server.connect().socket.destroyed).toBe(false)
  expect([first, second].map((peer) => peer?.socket.destroyed)).toEqual([false, true])
})

test.each<[what: string, bytes: Buffer, ends: boolean]>([
  ['no preface', Buffer.alloc(0), true],
  ['half a preface', PREFACE.subarray(0, 12), true],
  ['half a frame', Buffer.concat([PREFACE, open(1).subarray(0, 20)]), true],
  ['half a header block', Buffer.concat([PREFACE, frame(FRAME.headers, { stream: 1 })]), true],
  ['the preface, and nothing to do', PREFACE, false],
])('%s: the connection is closed after a while: %s', (_what, bytes, ends) => {
  const server = new TestServer(constant(Buffer.from('hello')), { requestMs: 5_000 })
  const peer = server.connect().send(bytes)
  server.pass(4_000)
  expect(peer.ended).toBe(false)
  server.pass(1_500)
  expect(peer.ended).toBe(ends)
  if (ends) expect(server.exceeded).toEqual(['request_time'])
})

test.each([
  ['bytes that are not HTTP/2', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ['a string with wrong padding', Buffer.concat([PREFACE, open(1, Buffer.concat([request, WRONG_PADDING]))])],
])('%s end the connection and are counted', (_what, bytes) => {
  const server = new TestServer(constant(Buffer.from('hello')))
  expect(server.connect().send(bytes).ended).toBe(true)
  expect(server.exceeded).toEqual(['protocol_error'])
})

test('a peer that sends slowly but completes its frames keeps its connection', () => {
  const server = new TestServer(constant(Buffer.from('hello')), { requestMs: 5_000 })
  const peer = server.connect().send(PREFACE)
  const bytes = many(20, (index) => whole(2 * index + 1))
  for (let at = 0; at < bytes.length; at += 50) {
    peer.send(bytes.subarray(at, at + 50))
    server.pass(1_000)
  }
  expect(peer.ended).toBe(false)
})

test('a peer that does not read is disconnected, and what waits for it stays bounded', async () => {
  const server = new TestServer(constant(Buffer.alloc(16_000)), { readerMs: 10_000 })
  const peer = server.connect().send(PREFACE)
  peer.send(
    frame(FRAME.settings, { payload: Buffer.concat([Buffer.of(0, 4), uint32(2 ** 31 - 1)]) }),
    frame(FRAME.windowUpdate, { payload: uint32(2 ** 30) }),
  )
  peer.socket.reads = false
  for (let index = 0; index < 500; index++) peer.send(whole(2 * index + 1))
  expect(peer.socket.writableLength).toBeLessThan(300_000)
  server.pass(9_000)
  expect(peer.ended).toBe(false)
  server.pass(2_000)
  expect(peer.ended).toBe(true)
  expect(server.exceeded).toEqual(['reader_time'])
  // It has had the time to read why. Then the socket holds nothing more for it.
  server.pass(1_250)
  await new Promise((resolve) => setImmediate(resolve))
  expect(server.http2.budget.bytes).toBe(0)
})

test('a connection with calls is not idle, even if none of them lasts', () => {
  const server = new TestServer(constant(Buffer.from('hello')), { idleMs: 5_000 })
  const peer = server.connect().send(PREFACE)
  for (let second = 0; second < 20; second++) {
    peer.send(whole(2 * second + 1))
    server.pass(1_000)
  }
  expect(peer.received().map(described)).not.toContain('GOAWAY NO_ERROR')
})

test('an idle connection is asked to end, and one of full age too; a stream may still end', () => {
  const server = new TestServer(
    { ...constant(Buffer.from('hello')), open: () => {} },
    { idleMs: 5_000, ageMs: 20_000, keepaliveMs: 10_000_000 },
  )
  const idle = server.connect().send(PREFACE)
  const used = server.connect().send(PREFACE, open(1))
  server.pass(5_000)
  expect(idle.received().map(described)).toContain('GOAWAY NO_ERROR')
  server.pass(1_000)
  expect(idle.ended).toBe(true)
  used.received()
  server.pass(17_000)
  const heard = used.received()
  // First with the largest id, so that no stream that is on its way is lost; then with the last one that is
  // answered.
  expect(heard.map(described)).toEqual(['GOAWAY NO_ERROR', 'PING', 'GOAWAY NO_ERROR'])
  expect(heard.filter(({ type }) => type === 7).map(({ payload }) => payload.readUInt32BE(0))).toEqual([
    2 ** 31 - 1,
    1,
  ])
  expect(used.ended).toBe(false)
  used.send(open(3), frame(FRAME.data, { stream: 1, flags: 0x1, payload: Buffer.alloc(1) }))
  expect(used.received().map(described)).toEqual(['HEADERS 1', 'DATA 1', 'HEADERS 1 END_STREAM'])
  expect(used.ended).toBe(true)
})

test('the peer that has read the first GOAWAY gets the second one at once, and its streams until then are answered', () => {
  const server = new TestServer(constant(Buffer.from('hello')))
  const peer = server.connect().send(PREFACE)
  peer.received()
  void server.http2.close(60_000)
  const [goAway, ping] = peer.received()
  expect([goAway, ping].map((each) => each && described(each))).toEqual(['GOAWAY NO_ERROR', 'PING'])
  peer.send(whole(1))
  expect(peer.received().map(described)).toEqual(['HEADERS 1', 'DATA 1', 'HEADERS 1 END_STREAM'])
  peer.send(frame(FRAME.ping, { flags: ACK, payload: ping?.payload ?? Buffer.alloc(8) }))
  expect(peer.received().map(described)).toEqual(['GOAWAY NO_ERROR'])
  expect(peer.ended).toBe(true)
})

test('a peer that ends while the server stops is asked for a sign of life, which fails if it is gone', () => {
  const server = new TestServer(constant(Buffer.from('hello')))
  const peer = server.connect().send(PREFACE, open(1))
  void server.http2.close(60_000)
  const ping = peer.received().at(-1)
  // It has nothing left to learn.
  peer.send(frame(FRAME.ping, { flags: ACK, payload: ping?.payload ?? Buffer.alloc(8) }))
  peer.received()
  peer.socket.emit('end')
  expect(peer.received().map(described)).toEqual(['PING'])
})

test('a silent peer is asked for a sign of life, and given up without one', () => {
  const server = new TestServer(constant(Buffer.from('hello')), {
    keepaliveMs: 10_000,
    keepaliveTimeoutMs: 2_000,
  })
  const [alive, gone] = [server.connect().send(PREFACE), server.connect().send(PREFACE)]
  alive.received()
  server.pass(10_250)
  const [ping] = alive.received()
  expect(ping && described(ping)).toBe('PING')
  alive.send(frame(FRAME.ping, { flags: ACK, payload: ping?.payload ?? Buffer.alloc(8) }))
  server.pass(2_500)
  expect([alive.ended, gone.ended]).toEqual([false, true])
})
