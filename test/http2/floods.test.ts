/** Frames that cost work and bring no request further: how many a peer may send, and what earns them. */
import { expect, test } from 'vitest'
import type { Application } from '../../sidecar/transports/http2/application.ts'
import type { Limits } from '../../sidecar/transports/http2/limits.ts'
import type { Bound } from '../../sidecar/transports/http2/protocol.ts'
import { constant } from '../support/http2/constant.ts'
import {
  ACK,
  cancel,
  cancelled,
  FRAME,
  field,
  frame,
  many,
  open,
  PREFACE,
  uint32,
  whole,
} from '../support/http2/frames.ts'
import { debugData, described, type Received, TestServer } from '../support/http2/peer.ts'

interface Flood {
  readonly what: string
  readonly limits: Partial<Limits>
  readonly opening?: Buffer
  /** The frames that are sent again and again. */
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
    each: () => frame(FRAME.windowUpdate, { payload: uint32(1) }),
    allowed: 20,
    bound: 'idle_frames',
  },
  {
    what: 'priorities',
    limits: control,
    each: () => frame(FRAME.priority, { stream: 1, payload: Buffer.alloc(5) }),
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
        frame(FRAME.windowUpdate, { stream: 2 * index + 1, payload: uint32(0) }),
      ]),
    allowed: 20,
    bound: 'resets',
  },
  {
    what: 'windows of a closed stream that are wider by nothing',
    limits: { resetsPerSecond: 20 },
    opening: whole(1),
    each: () => frame(FRAME.windowUpdate, { stream: 1, payload: uint32(0) }),
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
        frame(FRAME.windowUpdate, { stream: 2 * index + 1, payload: uint32(0x7fff_ffff) }),
      ]),
    allowed: 20,
    bound: 'resets',
  },
  {
    what: 'DATA of a stream that was reset, beyond what could be on its way',
    limits: control,
    opening: Buffer.concat([open(1), open(1)]),
    each: () => frame(FRAME.data, { stream: 1, payload: Buffer.alloc(1) }),
    // As many of 16 bytes as the window of a stream has, 20 free ones, and four that the request earned.
    allowed: Math.floor(65_535 / 16) + 24,
    bound: 'idle_frames',
  },
  {
    what: 'thousands of fields in a block',
    limits: {},
    each: () => open(1, Buffer.alloc(1_025, 0x82)),
    allowed: 0,
    bound: 'header_list',
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
  '$what: the connection learns why, and is closed',
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
      // The first second has less room: it has the settings of the preface. The request that paid is not in
      // the others.
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
  data: (stream, _bytes, start, end) => {
    stream.release(end - start)
    stream.expect(1)
    stream.sendData(Buffer.alloc(5), Buffer.from('an answer'))
  },
}
const message = frame(FRAME.data, { stream: 1, payload: Buffer.alloc(30) })
/** The frames that gRPC's C core sends for each message that it has read. */
const read = Buffer.concat([
  frame(FRAME.windowUpdate, { stream: 1, payload: uint32(14) }),
  frame(FRAME.windowUpdate, { payload: uint32(14) }),
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

test('earned frames are not lost at the end of a second, and do not last forever', () => {
  const server = new TestServer(echo, control)
  const peer = server.connect().send(PREFACE, open(1))
  peer.send(many(1_000, () => message))
  server.pass(5_000)
  peer.send(many(1_000, () => read))
  expect(peer.ended).toBe(false)
  // The request has earned 4, each answer 4, and its 14 bytes their share. Of the window updates 20 were
  // free, as 20 of the pings are.
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
  for (let stream = 1; stream < 1_000; stream += 2) peer.send(answered(stream)).send(cancel(stream))
  expect(peer.ended).toBe(false)
})
