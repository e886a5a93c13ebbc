/**
 * Every error of RFC 9113 is an error here, of the right scope and with the right code. h2spec asks the same
 * of a real connection.
 */
import { expect, test } from 'vitest'
import { constant } from '../support/http2/constant.ts'
import { callOf, field, frame, PREFACE } from '../support/http2/frames.ts'
import { described, TestServer } from '../support/http2/peer.ts'
import { eventually } from '../support/suite/resources.ts'

const [
  DATA,
  HEADERS,
  PRIORITY,
  RST_STREAM,
  SETTINGS,
  PUSH_PROMISE,
  PING,
  GOAWAY,
  WINDOW_UPDATE,
  CONTINUATION,
] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
const END_STREAM = 0x1
const ACK = 0x1
const END_HEADERS = 0x4
const PADDED = 0x8
const WITH_PRIORITY = 0x20

const number = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const setting = (id: number, value: number) => Buffer.concat([Buffer.of(0, id), number(value)])
const request = callOf('/')
const open = (stream = 1, payload = request) => frame(HEADERS, { flags: END_HEADERS, stream, payload })
const whole = (stream = 1, payload = request) =>
  frame(HEADERS, { flags: END_HEADERS | END_STREAM, stream, payload })
const fields = (...rows: [string, string][]) => Buffer.concat(rows.map(([name, value]) => field(name, value)))
const good: [string, string][] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
]

interface Row {
  readonly claim: string
  readonly frames: readonly Buffer[]
  /** The frames that follow the server's own settings. */
  readonly answer: readonly string[]
}

const rows = (answer: string[], cases: [claim: string, ...frames: Buffer[]][]): Row[] =>
  cases.map(([claim, ...frames]) => ({ claim, frames, answer }))

test.each<Row>([
  ...rows(
    ['GOAWAY PROTOCOL_ERROR'],
    [
      ['§4.1 DATA on stream 0', frame(DATA, { payload: Buffer.of(1) })],
      [
        '§4.3 a frame between the parts of header fields',
        frame(HEADERS, { stream: 1 }),
        frame(PING, { payload: Buffer.alloc(8) }),
      ],
      ['§4.3 an unknown frame there', frame(HEADERS, { stream: 1 }), frame(0x42, { stream: 1 })],
      ['§4.3 header fields of another stream there', frame(HEADERS, { stream: 1 }), open(3)],
      ['§5.1 DATA on an idle stream', frame(DATA, { stream: 1 })],
      ['§5.1 RST_STREAM on an idle stream', frame(RST_STREAM, { stream: 1, payload: number(8) })],
      ['§5.1 WINDOW_UPDATE on an idle stream', frame(WINDOW_UPDATE, { stream: 1, payload: number(1) })],
      ['§5.1 CONTINUATION on an idle stream', frame(CONTINUATION, { stream: 1, flags: END_HEADERS })],
      ['§5.1.1 an even stream', open(2)],
      [
        '§6.1 padding as long as the payload',
        open(),
        frame(DATA, { stream: 1, flags: PADDED, payload: Buffer.of(3, 0, 0) }),
      ],
      ['§6.2 HEADERS on stream 0', open(0)],
      ['§6.3 PRIORITY on stream 0', frame(PRIORITY, { payload: Buffer.alloc(5) })],
      ['§6.4 RST_STREAM on stream 0', frame(RST_STREAM, { payload: number(8) })],
      ['§6.5 SETTINGS on a stream', frame(SETTINGS, { stream: 1 })],
      ['§6.5.2 SETTINGS_ENABLE_PUSH of 2', frame(SETTINGS, { payload: setting(2, 2) })],
      ['§6.5.2 SETTINGS_MAX_FRAME_SIZE below 2^14', frame(SETTINGS, { payload: setting(5, 16_383) })],
      ['§6.5.2 SETTINGS_MAX_FRAME_SIZE beyond 2^24-1', frame(SETTINGS, { payload: setting(5, 1 << 24) })],
      ['§6.7 PING on a stream', frame(PING, { stream: 1, payload: Buffer.alloc(8) })],
      ['§6.8 GOAWAY on a stream', frame(GOAWAY, { stream: 1, payload: Buffer.alloc(8) })],
      ['§6.9 WINDOW_UPDATE by 0', frame(WINDOW_UPDATE, { payload: number(0) })],
      [
        '§6.10 CONTINUATION of another stream',
        frame(HEADERS, { stream: 1 }),
        frame(CONTINUATION, { stream: 3 }),
      ],
      ['§8.4 PUSH_PROMISE', frame(PUSH_PROMISE, { stream: 1, payload: number(2) })],
    ],
  ),
  ...rows(
    ['GOAWAY FRAME_SIZE_ERROR'],
    [
      ['§4.2 a frame of 16,385 bytes', frame(PING, { payload: Buffer.alloc(16_385) })],
      [
        '§6.2 HEADERS without its priority',
        frame(HEADERS, { stream: 1, flags: WITH_PRIORITY | END_HEADERS, payload: Buffer.alloc(4) }),
      ],
      ['§6.1 DATA without its padding', open(), frame(DATA, { stream: 1, flags: PADDED })],
      ['§6.4 RST_STREAM of five bytes', open(), frame(RST_STREAM, { stream: 1, payload: Buffer.alloc(5) })],
      ['§6.5 SETTINGS of five bytes', frame(SETTINGS, { payload: Buffer.alloc(5) })],
      ['§6.5 SETTINGS with ACK and a payload', frame(SETTINGS, { flags: ACK, payload: setting(3, 1) })],
      ['§6.7 PING of seven bytes', frame(PING, { payload: Buffer.alloc(7) })],
      ['§6.8 GOAWAY of seven bytes', frame(GOAWAY, { payload: Buffer.alloc(7) })],
      ['§6.9 WINDOW_UPDATE of three bytes', frame(WINDOW_UPDATE, { payload: Buffer.alloc(3) })],
    ],
  ),
  ...rows(
    ['GOAWAY FLOW_CONTROL_ERROR'],
    [
      [
        '§6.5.2 SETTINGS_INITIAL_WINDOW_SIZE beyond 2^31-1',
        frame(SETTINGS, { payload: setting(4, 2 ** 31) }),
      ],
      ['§6.9.1 a window beyond 2^31-1', frame(WINDOW_UPDATE, { payload: number(2 ** 31 - 1) })],
    ],
  ),
  ...rows(
    ['GOAWAY COMPRESSION_ERROR'],
    [
      ['§4.3 header fields that cannot be decoded', open(1, Buffer.of(0x80))],
      ['§4.3 trailers that cannot be decoded', open(), whole(1, Buffer.of(0x80))],
    ],
  ),
  {
    claim: '§5.1.1 a stream that was left out',
    frames: [open(5), open(3)],
    answer: ['GOAWAY PROTOCOL_ERROR'],
  },
  {
    claim: '§5.1 DATA after the end of a stream',
    frames: [whole(), frame(DATA, { stream: 1 })],
    answer: ['GOAWAY STREAM_CLOSED'],
  },
  {
    claim: '§5.1 HEADERS after the end of a stream',
    frames: [whole(), open()],
    answer: ['GOAWAY STREAM_CLOSED'],
  },
  ...rows(
    ['RST_STREAM 1 PROTOCOL_ERROR'],
    [
      [
        '§6.3 a stream that depends on itself',
        open(),
        frame(PRIORITY, { stream: 1, payload: Buffer.concat([number(1), Buffer.of(0)]) }),
      ],
      [
        '§6.9 WINDOW_UPDATE by 0 on a stream',
        open(),
        frame(WINDOW_UPDATE, { stream: 1, payload: number(0) }),
      ],
      ['§8.1 trailers without the end of the stream', open(), open(1, field('a', 'b'))],
      ['§8.1 a pseudo-header field in trailers', open(), whole(1, field(':path', '/'))],
      [
        '§8.1.1 a body that is longer than was said',
        open(1, fields(...good, ['content-length', '1'])),
        frame(DATA, { stream: 1, payload: Buffer.alloc(2) }),
      ],
      [
        '§8.1.1 a body that is shorter than was said',
        open(1, fields(...good, ['content-length', '2'])),
        frame(DATA, { stream: 1, flags: END_STREAM, payload: Buffer.alloc(1) }),
      ],
      ['§8.1.1 no body where one was announced', whole(1, fields(...good, ['content-length', '1']))],
      ['§8.1.1 two lengths', whole(1, fields(...good, ['content-length', '0'], ['content-length', '1']))],
      ['§8.2.1 a name with an upper-case letter', whole(1, fields(...good, ['X-a', 'b']))],
      ['§8.2.1 a name with a space', whole(1, fields(...good, ['x a', 'b']))],
      ['§8.2.1 an empty name', whole(1, fields(...good, ['', 'b']))],
      ['§8.2.1 a value with a line feed', whole(1, fields(...good, ['x-a', 'b\nc']))],
      ['§8.2.1 a value that begins with a space', whole(1, fields(...good, ['x-a', ' b']))],
      ['§8.2.2 a field about the connection', whole(1, fields(...good, ['connection', 'close']))],
      ['§8.2.2 te: gzip', whole(1, fields(...good, ['te', 'gzip']))],
      ['§8.3 an unknown pseudo-header field', whole(1, fields(...good, [':a', 'b']))],
      ['§8.3 a pseudo-header field of an answer', whole(1, fields(...good, [':status', '200']))],
      ['§8.3 a pseudo-header field after another field', whole(1, fields(['a', 'b'], ...good))],
      ['§8.3.1 no method', whole(1, fields(...good.slice(1)))],
      ['§8.3.1 two paths', whole(1, fields(...good, [':path', '/']))],
      ['§8.3.1 an empty path', whole(1, fields([':method', 'GET'], [':scheme', 'http'], [':path', '']))],
      [
        '§8.3.1 a host that is not the authority',
        whole(1, fields(...good, [':authority', 'a'], ['host', 'b'])),
      ],
    ],
  ),
  {
    claim: '§6.3 PRIORITY of four bytes',
    frames: [open(), frame(PRIORITY, { stream: 1, payload: Buffer.alloc(4) })],
    answer: ['RST_STREAM 1 FRAME_SIZE_ERROR'],
  },
  {
    claim: '§6.9.1 the window of a stream beyond 2^31-1',
    frames: [open(), frame(WINDOW_UPDATE, { stream: 1, payload: number(2 ** 31 - 1) })],
    answer: ['RST_STREAM 1 FLOW_CONTROL_ERROR'],
  },
])('$claim', ({ frames, answer }) => {
  const server = new TestServer(constant(Buffer.from('hello')))
  const peer = server.connect().send(PREFACE, ...frames)
  const heard = peer.received().map(described)
  expect(heard.slice(0, 2)).toEqual(['SETTINGS', 'WINDOW_UPDATE'])
  const [ended] = answer
  expect(heard.filter((each) => /^(GOAWAY|RST_STREAM)/.test(each))).toEqual(answer)
  expect(peer.ended).toBe(ended?.startsWith('GOAWAY'))
  // An error of a stream leaves the others alone.
  if (ended?.startsWith('RST_STREAM')) {
    peer.send(whole(3))
    expect(peer.received().map(described)).toEqual(['HEADERS 3', 'DATA 3', 'HEADERS 3 END_STREAM'])
  }
})

test.each<Row>([
  { claim: '§4.1 an unknown frame', frames: [frame(0x42, { payload: Buffer.alloc(9) })], answer: [] },
  {
    claim: '§4.1 flags without a meaning',
    frames: [frame(PING, { flags: 0xfe, payload: Buffer.alloc(8) })],
    answer: ['PING ACK'],
  },
  {
    claim: '§5.5 an unknown setting',
    frames: [frame(SETTINGS, { payload: setting(0x42, 1) })],
    answer: ['SETTINGS ACK'],
  },
  {
    claim: '§6.7 the answer to a ping',
    frames: [frame(PING, { flags: ACK, payload: Buffer.alloc(8) })],
    answer: [],
  },
  {
    claim: '§7 an unknown error code',
    frames: [frame(GOAWAY, { payload: Buffer.alloc(8, 0xff) })],
    answer: [],
  },
  {
    claim: '§5.1 frames that were on their way when the stream was reset',
    frames: [open(1, field('a', 'b')), frame(DATA, { stream: 1, payload: Buffer.alloc(5) }), whole(1)],
    answer: ['RST_STREAM 1 PROTOCOL_ERROR'],
  },
  {
    claim: '§6.9 WINDOW_UPDATE on a stream that has ended',
    frames: [whole(), frame(WINDOW_UPDATE, { stream: 1, payload: number(1) })],
    answer: ['HEADERS 1', 'DATA 1', 'HEADERS 1 END_STREAM'],
  },
  {
    claim: '§8.1 trailers',
    frames: [open(), whole(1, field('a', 'b'))],
    answer: ['HEADERS 1', 'DATA 1', 'HEADERS 1 END_STREAM'],
  },
  {
    claim: '§6.10 header fields in three frames',
    frames: [
      frame(HEADERS, { flags: END_STREAM, stream: 1, payload: request.subarray(0, 9) }),
      frame(CONTINUATION, { stream: 1, payload: request.subarray(9, 20) }),
      frame(CONTINUATION, { stream: 1, flags: END_HEADERS, payload: request.subarray(20) }),
    ],
    answer: ['HEADERS 1', 'DATA 1', 'HEADERS 1 END_STREAM'],
  },
  {
    claim: '§6.1 padding',
    frames: [open(), frame(DATA, { stream: 1, flags: PADDED | END_STREAM, payload: Buffer.of(2, 7, 0, 0) })],
    answer: ['HEADERS 1', 'DATA 1', 'HEADERS 1 END_STREAM'],
  },
])('$claim is not an error', ({ frames, answer }) => {
  const peer = new TestServer(constant(Buffer.from('hello'))).connect().send(PREFACE)
  peer.received()
  peer.send(...frames)
  expect(peer.received().map(described)).toEqual(answer)
  expect(peer.ended).toBe(false)
})

test('§6.9 WINDOW_UPDATE by 0 on a stream that has ended is an error of that stream', () => {
  const peer = new TestServer(constant(Buffer.from('hello'))).connect().send(PREFACE, whole())
  peer.received()
  peer.send(frame(WINDOW_UPDATE, { stream: 1, payload: number(0) }))
  expect(peer.received().map(described)).toEqual(['RST_STREAM 1 PROTOCOL_ERROR'])
  expect(peer.ended).toBe(false)
})

test.each([
  [
    'a preface with another first frame',
    Buffer.concat([PREFACE.subarray(0, 24), frame(PING, { payload: Buffer.alloc(8) })]),
  ],
  ['bytes of an unknown protocol', Buffer.from('INVALID CONNECTION PREFACE')],
])('%s cannot begin HTTP/2 (§3.4)', (_claim, bytes) => {
  const peer = new TestServer(constant(Buffer.from('hello'))).connect().send(bytes)
  expect(peer.received().map(described)).toEqual(['SETTINGS', 'WINDOW_UPDATE', 'GOAWAY PROTOCOL_ERROR'])
  expect(peer.ended).toBe(true)
})

test.each([
  ['HTTP/1.1', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'HTTP/1.1 505 '],
  ['an upgrade to h2c', 'OPTIONS * HTTP/1.1\r\nUpgrade: h2c\r\n\r\n', 'HTTP/1.1 505 '],
  ['a method that begins as the preface does', 'PROPFIND / HTTP/1.1\r\n\r\n', 'HTTP/1.1 505 '],
  ['a hello of TLS', '\x16\x03\x01\x02\0\x01', '\x15\x03\x03\0\x02\x02\x46'],
])('%s is answered in its own words, however it arrives', (_claim, said, expected) => {
  const answers = [said, ...Array.from(said, (_octet, index) => said.slice(0, index + 1))].map((begun) => {
    const server = new TestServer(constant(Buffer.from('hello')))
    const peer = server.connect()
    // The beginning of the preface may become one. Nothing is said until then.
    for (const octet of begun === said ? [said] : begun) peer.send(Buffer.from(octet, 'latin1'))
    const answer = Buffer.concat(peer.socket.written).toString('latin1')
    expect([answer === '', peer.ended]).toEqual(peer.ended ? [false, true] : [true, false])
    return { answer, exceeded: server.exceeded }
  })
  const [whole] = answers
  expect(whole?.answer.startsWith(expected)).toBe(true)
  expect(whole?.answer).toContain('--http2-prior-knowledge')
  expect(whole?.exceeded).toEqual(['protocol_error'])
  expect(answers.at(-1)).toEqual(whole)
})

test('a client that waits for the settings before it says anything gets them, and is served', async () => {
  const peer = new TestServer(constant(Buffer.from('hello'))).connect()
  await eventually(() => peer.socket.written.length > 0)
  peer.send(PREFACE)
  expect(peer.received().map(described)).toEqual(['SETTINGS', 'WINDOW_UPDATE', 'SETTINGS ACK'])
})

test('a client that has not said its preface hears SETTINGS first when its connection ends', () => {
  const server = new TestServer(constant(Buffer.from('hello')))
  const peer = server.connect()
  expect(peer.received()).toEqual([])
  void server.http2.close(0)
  expect(peer.received().map(described)).toEqual(['SETTINGS', 'WINDOW_UPDATE', 'GOAWAY NO_ERROR', 'PING'])
})

test('requests are the same wherever the network cuts them', () => {
  const bytes = Buffer.concat([
    PREFACE,
    open(1),
    frame(DATA, { stream: 1, flags: END_STREAM, payload: Buffer.alloc(50) }),
    whole(3),
  ])
  const answers = new Set<string>()
  for (let cut = 1; cut < bytes.length; cut++) {
    const peer = new TestServer(constant(Buffer.from('hello'))).connect()
    peer.send(bytes.subarray(0, cut)).send(bytes.subarray(cut))
    answers.add(peer.received().map(described).join())
  }
  const bytewise = new TestServer(constant(Buffer.from('hello'))).connect()
  for (const byte of bytes) bytewise.send(Buffer.of(byte))
  answers.add(bytewise.received().map(described).join())
  expect([...answers]).toEqual([
    'SETTINGS,WINDOW_UPDATE,SETTINGS ACK,HEADERS 1,DATA 1,HEADERS 1 END_STREAM,HEADERS 3,DATA 3,HEADERS 3 END_STREAM',
  ])
})
