/** What a peer may make the server hold or do. Each bound ends the connection or the stream that exceeds it, and is counted. */
import { expect, test } from 'vitest'
import type { Application } from '../../sidecar/http2/application.ts'
import type { Limits } from '../../sidecar/http2/limits.ts'
import type { Bound } from '../../sidecar/http2/protocol.ts'
import { constant } from '../support/http2/constant.ts'
import { debugData, described, type Received, TestServer } from '../support/http2/peer.ts'
import { ACK, callOf, END_HEADERS, FRAME, field, frame, PREFACE } from '../support/http2-frames.ts'

const END_STREAM = 0x1
const WINDOW_UPDATE = 0x8
const PRIORITY = 0x2
/** A field whose value in Huffman's code has padding of more than seven bits (RFC 7541, §5.2). */
const WRONG_PADDING = Buffer.of(0x00, 0x01, 0x78, 0x84, 0xff, 0xff, 0xff, 0xff)
const CANCEL = Buffer.of(0, 0, 0, 8)
const request = callOf('/')
const open = (stream: number, payload = request) =>
  frame(FRAME.headers, { flags: END_HEADERS, stream, payload })
const whole = (stream: number, payload = request) =>
  frame(FRAME.headers, { flags: END_HEADERS | END_STREAM, stream, payload })
const number = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const cancelled = (stream: number) =>
  Buffer.concat([open(stream), frame(FRAME.rstStream, { stream, payload: CANCEL })])
const many = (count: number, made: (index: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, index) => made(index)))

interface Flood {
  readonly what: string
  readonly limits: Partial<Limits>
  readonly opening?: Buffer
  /** What is sent again and again. */
  readonly each: (index: number) => Buffer
  /** How often it may be sent. */
  readonly allowed: number
  readonly bound: Bound
}

const ping = frame(FRAME.ping, { payload: Buffer.alloc(8) })
const control = { controlFramesPerSecond: 20 }
const floods: readonly Flood[] = [
  {
    what: 'pings',
    limits: control,
    each: () => frame(FRAME.ping, { payload: Buffer.alloc(8) }),
    allowed: 20,
    bound: 'pings',
  },
  {
    what: 'answers to pings that were never sent',
    limits: control,
    each: () => frame(FRAME.ping, { flags: ACK, payload: Buffer.alloc(8) }),
    allowed: 20,
    bound: 'pings',
  },
  // One came with the preface.
  { what: 'settings', limits: control, each: () => frame(FRAME.settings), allowed: 19, bound: 'settings' },
  // The request pays for four.
  {
    what: 'empty DATA',
    limits: control,
    opening: open(1),
    each: () => frame(FRAME.data, { stream: 1 }),
    allowed: 24,
    bound: 'idle_frames',
  },
  {
    what: 'window updates',
    limits: control,
    each: () => frame(WINDOW_UPDATE, { payload: number(1) }),
    allowed: 20,
    bound: 'idle_frames',
  },
  {
    what: 'priorities',
    limits: control,
    each: () => frame(PRIORITY, { stream: 1, payload: Buffer.alloc(5) }),
    allowed: 20,
    bound: 'idle_frames',
  },
  { what: 'unknown frames', limits: control, each: () => frame(0x42), allowed: 20, bound: 'idle_frames' },
  {
    what: 'streams that are reset at once',
    limits: { resetsPerSecond: 20 },
    each: (index) => cancelled(2 * index + 1),
    allowed: 20,
    bound: 'resets',
  },
  {
    what: 'malformed requests',
    limits: { resetsPerSecond: 20 },
    each: (index) => open(2 * index + 1, field('a', 'b')),
    allowed: 20,
    bound: 'resets',
  },
  {
    what: 'streams that must be reset: a window wider by nothing',
    limits: { resetsPerSecond: 20 },
    each: (index) =>
      Buffer.concat([
        open(2 * index + 1),
        frame(WINDOW_UPDATE, { stream: 2 * index + 1, payload: number(0) }),
      ]),
    allowed: 20,
    bound: 'resets',
  },
  {
    what: 'windows of a closed stream that are wider by nothing',
    limits: { resetsPerSecond: 20 },
    opening: whole(1),
    each: () => frame(WINDOW_UPDATE, { stream: 1, payload: number(0) }),
    allowed: 20,
    bound: 'resets',
  },
  {
    what: 'streams that must be reset: trailers that end nothing',
    limits: { resetsPerSecond: 20 },
    each: (index) => Buffer.concat([open(2 * index + 1), open(2 * index + 1)]),
    allowed: 20,
    bound: 'resets',
  },
  {
    what: 'streams that must be reset: a window that is too wide',
    limits: { resetsPerSecond: 20 },
    each: (index) =>
      Buffer.concat([
        open(2 * index + 1),
        frame(WINDOW_UPDATE, { stream: 2 * index + 1, payload: number(0x7fff_ffff) }),
      ]),
    allowed: 20,
    bound: 'resets',
  },
  {
    what: 'DATA of a stream that was reset, beyond what could be on its way',
    limits: control,
    opening: Buffer.concat([open(1), open(1)]),
    each: () => frame(FRAME.data, { stream: 1, payload: Buffer.alloc(1) }),
    // As many of 16 bytes as the window of a stream has, 20 that are free, and four that the request earned.
    allowed: 262_144 / 16 + 24,
    bound: 'idle_frames',
  },
  {
    what: 'empty parts of header fields',
    limits: {},
    opening: frame(FRAME.headers, { stream: 1 }),
    each: () => frame(FRAME.continuation, { stream: 1 }),
    allowed: 31,
    bound: 'header_block',
  },
  {
    what: 'header fields without end',
    limits: { headerListBytes: 8_192 },
    opening: frame(FRAME.headers, { stream: 1 }),
    each: () => frame(FRAME.continuation, { stream: 1, payload: Buffer.alloc(1_024) }),
    allowed: 16,
    bound: 'header_block',
  },
]

test.each(floods)(
  '$what: the connection is told why, and closed',
  ({ limits, opening, each, allowed, bound }) => {
    const server = new TestServer(constant(Buffer.from('hello')), limits)
    const neighbour = server.connect().send(PREFACE)
    const peer = server.connect().send(PREFACE, opening ?? Buffer.alloc(0), many(allowed, each))
    expect(peer.ended).toBe(false)
    peer.received()
    peer.send(each(allowed))
    const [goAway] = peer.received().slice(-1)
    expect(goAway && described(goAway)).toBe('GOAWAY ENHANCE_YOUR_CALM')
    expect(goAway && debugData(goAway)).toMatch(/^more than \d+ /)
    expect(peer.ended).toBe(true)
    expect(server.exceeded).toEqual([bound])
    expect(server.http2.exceededCounts[bound]).toBe(1)
    neighbour.received()
    neighbour.send(whole(1))
    expect(neighbour.received().map(described)).toEqual(['HEADERS 1', 'DATA 1', 'HEADERS 1 END_STREAM'])
  },
)

test.each(floods.filter(({ bound }) => bound !== 'header_block'))(
  '$what: as many again are allowed in the next second',
  ({ limits, opening, each, allowed }) => {
    const server = new TestServer(constant(Buffer.from('hello')), limits)
    const peer = server.connect().send(PREFACE, opening ?? Buffer.alloc(0))
    for (let second = 0; second < 3; second++) {
      // The first second has less room: the settings of the preface are in it, and the request that paid is not in the others.
      peer.send(many(Math.min(19, allowed), (index) => each(second * 100 + index)))
      server.pass(1_000)
    }
    expect(peer.ended).toBe(false)
    expect(server.exceeded).toEqual([])
  },
)

test('work that is useful pays for pings and window updates', () => {
  const server = new TestServer(constant(Buffer.alloc(10)), control)
  const peer = server.connect().send(PREFACE)
  peer.send(many(1_000, (index) => Buffer.concat([whole(2 * index + 1), ping, ping])))
  expect(peer.ended).toBe(false)
})

/** Answers each message of a stream with one. */
const echo: Application<undefined> = {
  ...constant(Buffer.alloc(0)),
  open: (stream) => stream.sendHeaders([['status', '200']]),
  data: (stream) => stream.sendData(Buffer.alloc(5), Buffer.from('an answer')),
}
const message = frame(FRAME.data, { stream: 1, payload: Buffer.alloc(30) })
/** What gRPC's C core sends for each message that it has read. */
const read = Buffer.concat([
  frame(WINDOW_UPDATE, { stream: 1, payload: number(14) }),
  frame(WINDOW_UPDATE, { payload: number(14) }),
])

test('each message of a stream pays for what a client sends when it has read the answer', () => {
  const server = new TestServer(echo, control)
  const peer = server.connect().send(PREFACE, open(1))
  for (let asked = 0; asked < 5_000; asked++) peer.send(message, read)
  expect(peer.ended).toBe(false)
  expect(
    peer
      .received()
      .map(described)
      .filter((each) => each === 'DATA 1'),
  ).toHaveLength(5_000)
  expect(server.exceeded).toEqual([])
})

test('what was earned is not lost at the end of a second, and does not last forever', () => {
  const server = new TestServer(echo, control)
  const peer = server.connect().send(PREFACE, open(1))
  peer.send(many(1_000, () => message))
  server.pass(5_000)
  peer.send(many(1_000, () => read))
  expect(peer.ended).toBe(false)
  // The request has earned 4, each answer 4, and its 14 bytes their share. Of the window updates 20 were free, as 20 of the pings are.
  const left = 4 + 1_000 * (4 + 14 / 1_024) - (2_000 - 20)
  peer.send(many(20 + Math.floor(left), () => ping))
  expect(peer.ended).toBe(false)
  peer.send(ping)
  expect(debugData(peer.received().slice(-1)[0] as Received)).toMatch(/^more than 20 pings /)
})

test('of many calls every second one may be cancelled, and no more', () => {
  const server = new TestServer(constant(Buffer.from('hello')), { resetsPerSecond: 20 })
  const peer = server.connect().send(PREFACE)
  peer.send(many(500, (index) => Buffer.concat([whole(4 * index + 1), cancelled(4 * index + 3)])))
  expect(peer.ended).toBe(false)
  peer.send(many(21, (index) => cancelled(2 * index + 2_001)))
  expect(peer.ended).toBe(true)
})

test('a stream that was answered in part may be given up', () => {
  const server = new TestServer(echo, { resetsPerSecond: 20 })
  const peer = server.connect().send(PREFACE)
  const answered = (stream: number) =>
    Buffer.concat([open(stream), frame(FRAME.data, { stream, payload: Buffer.alloc(30) })])
  for (let stream = 1; stream < 1_000; stream += 2)
    peer.send(answered(stream)).send(frame(FRAME.rstStream, { stream, payload: CANCEL }))
  expect(peer.ended).toBe(false)
})

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
  const bomb = (stream: number) => whole(stream, Buffer.concat([request, Buffer.alloc(4_000, 0xbe)]))
  peer.send(whole(1, Buffer.concat([request, large, Buffer.alloc(4_000, 0xbe)])))
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
  peer.send(frame(FRAME.rstStream, { stream: 1, payload: CANCEL }), whole(9))
  expect(peer.received().map(described)).toEqual(['RST_STREAM 9 REFUSED_STREAM'])
  busy[0]?.finished()
  peer.send(whole(11))
  expect(peer.received().map(described)).toEqual([])
  expect(busy).toHaveLength(4)
})

const inUse = { ...constant(Buffer.from('hello')), data: () => {}, open: () => {} }

test('beyond the limits the connection gives way that is idle for longest, of the same address if that has reached its own', () => {
  const server = new TestServer(inUse, { connections: 4, connectionsPerAddress: 2 })
  const connected = ['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2'].map((address) => {
    const peer = server.connect(address).send(PREFACE)
    server.pass(1_000)
    return peer
  })
  const [first, second, third] = connected
  // It was the first one, but is in use later than the second one.
  first?.send(open(1), frame(FRAME.rstStream, { stream: 1, payload: CANCEL }))
  server.pass(1_000)
  const another = server.connect('192.0.2.1')
  expect(another.socket.destroyed).toBe(false)
  expect(second?.received().slice(-1).map(described)).toEqual(['GOAWAY NO_ERROR'])
  expect(connected.map(({ socket }) => socket.destroyed)).toEqual([false, true, false, false])
  // Both addresses have two, and a third one has none: the longest wait of all gives way.
  expect(server.connect('192.0.2.3').socket.destroyed).toBe(false)
  expect(third?.socket.destroyed).toBe(true)
  expect(server.exceeded).toEqual(['connections_per_address', 'connections'])
  expect(server.http2.connections).toBe(4)
})

test('nobody with fewer connections loses one to somebody with more', () => {
  const server = new TestServer(inUse, { connections: 3, connectionsPerAddress: 3 })
  const one = server.connect('192.0.2.1').send(PREFACE)
  server.pass(60_000)
  const many = Array.from({ length: 10 }, () => server.connect('192.0.2.2').send(PREFACE))
  expect(one.socket.destroyed).toBe(false)
  expect(many.map(({ socket }) => socket.destroyed)).toEqual([...Array(8).fill(true), false, false])
})

test('a connection with a stream gives way where none is idle, and one with a running handler never does', () => {
  const busy: { busy: boolean; finished(): void }[] = []
  const server = new TestServer(
    { ...inUse, open: (stream) => void busy.push(Object.assign(stream, { busy: true })) },
    { connections: 2 },
  )
  const [first, second] = [server.connect(), server.connect()].map((peer) => peer.send(PREFACE, whole(1)))
  expect(server.connect().socket.destroyed).toBe(true)
  expect(server.exceeded).toEqual(['connections'])
  busy[1]?.finished()
  const end = performance.now() + 10
  while (performance.now() < end);
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
  ['bytes that are no HTTP/2', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
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

test('a peer that does not read is disconnected, and what waits for it stays bounded', () => {
  const server = new TestServer(constant(Buffer.alloc(16_000)), { readerMs: 10_000 })
  const peer = server.connect().send(PREFACE)
  peer.send(
    frame(FRAME.settings, { payload: Buffer.concat([Buffer.of(0, 4), number(2 ** 31 - 1)]) }),
    frame(WINDOW_UPDATE, { payload: number(2 ** 30) }),
  )
  peer.socket.reads = false
  for (let index = 0; index < 500; index++) peer.send(whole(2 * index + 1))
  expect(peer.socket.writableLength).toBeLessThan(300_000)
  server.pass(9_000)
  expect(peer.ended).toBe(false)
  server.pass(2_000)
  expect(peer.ended).toBe(true)
  expect(server.exceeded).toEqual(['reader_time'])
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
  // First with the largest id, so that no stream that is on its way is lost; then with the last one that is answered.
  expect(heard.map(described)).toEqual(['GOAWAY NO_ERROR', 'PING', 'GOAWAY NO_ERROR'])
  expect(heard.filter(({ type }) => type === 7).map(({ payload }) => payload.readUInt32BE(0))).toEqual([
    2 ** 31 - 1,
    1,
  ])
  expect(used.ended).toBe(false)
  used.send(open(3), frame(FRAME.data, { stream: 1, flags: END_STREAM, payload: Buffer.alloc(1) }))
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
  // It has nothing left to be told.
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
