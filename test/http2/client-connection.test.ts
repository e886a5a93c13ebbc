/**
 * The client's end of a connection: against a server of Node's, and against frames that no server of Node's
 * sends.
 */
import { once } from 'node:events'
import { constants, createServer, type ServerHttp2Stream, type ServerOptions } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { duplexPair } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { ClientConnection } from '../../sidecar/transports/http2/client-connection.ts'
import type { Field } from '../../sidecar/transports/http2/hpack/encoder.ts'
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  FRAME,
  field,
  frame,
  frameReader,
  settingsOf,
  uint32,
} from '../support/http2/frames.ts'

const MOST_BYTES = 4_000_000
const LARGE = Buffer.alloc(1_000_000, 'portcullis')

/** The header fields of a request. */
function post(path: string): readonly Field[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', 'localhost'],
    [':path', path],
  ]
}

async function connectedTo(answer: (stream: ServerHttp2Stream) => void, options: ServerOptions = {}) {
  const server = createServer(options).on('stream', answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connection = new ClientConnection(connect((server.address() as AddressInfo).port), MOST_BYTES)
  onTestFinished(() => {
    connection.fail(new Error('the test is over'))
    server.close()
  })
  return connection
}

/** Answers with what was asked, and with trailers. */
async function echo(stream: ServerHttp2Stream): Promise<void> {
  const body = await buffer(stream)
  stream.respond({ 'x-long': 'a'.repeat(40_000), 'x-of': 'fields' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-of': 'trailers' }))
  stream.end(body)
}

test.each<{ server: string; options: ServerOptions }>([
  { server: 'with settings of its own', options: {} },
  { server: 'whose windows are small', options: { settings: { initialWindowSize: 100 } } },
  { server: 'that keeps no table', options: { settings: { headerTableSize: 0 } } },
  { server: 'that pads', options: { paddingStrategy: constants.PADDING_STRATEGY_MAX } },
])(
  'bodies larger than windows, and fields longer than frames, with a server $server',
  async ({ options }) => {
    const connection = await connectedTo(echo, options)
    const bodies = [LARGE, Buffer.alloc(0), LARGE.subarray(1), Buffer.from('short')]
    const answers = await Promise.all(bodies.map((body) => connection.request(post('/'), body)))
    expect(answers.map(({ body }, index) => bodies[index]?.compare(body))).toEqual(bodies.map(() => 0))
    for (const { fields } of answers)
      expect([fields.get(':status'), fields.get('x-long')?.length, fields.get('x-of')]).toEqual([
        '200',
        40_000,
        'trailers',
      ])
  },
)

test('a longer answer than the client takes', async () => {
  const connection = await connectedTo((stream) => stream.end(Buffer.alloc(MOST_BYTES + 1)))
  await expect(connection.request(post('/'), LARGE)).rejects.toThrow(
    'expected an answer of at most 4000000 bytes',
  )
})

/** A connection whose server is the test, with a request (stream 1) and another (stream 3). */
function scripted() {
  const [near, far] = duplexPair()
  const connection = new ClientConnection(near, MOST_BYTES)
  const asked = [1, 2].map(() => connection.request(post('/'), Buffer.from('body')))
  const outcomes = Promise.all(
    asked.map((each) =>
      each.then(
        ({ fields, body }) => `${fields.get(':status')} ${body}`,
        ({ name, message }: Error) => `${name}: ${message}`,
      ),
    ),
  )
  return { near, far, outcomes }
}

const SETTINGS = frame(FRAME.settings)
const head = (stream: number, flags = END_HEADERS) =>
  frame(FRAME.headers, { stream, flags, payload: field(':status', '200') })
const data = (stream: number, text: string) =>
  frame(FRAME.data, { stream, flags: END_STREAM, payload: Buffer.from(text) })
const goAway = (last: number) =>
  frame(FRAME.goAway, { payload: Buffer.concat([uint32(last), uint32(0), Buffer.from('drain')]) })
const reset = (stream: number, code: number) => frame(FRAME.rstStream, { stream, payload: uint32(code) })
const both = (outcome: string) => [outcome, outcome]

test.each<{ sent: string; bytes: Buffer[]; outcomes: string[] }>([
  {
    sent: 'answers in another order',
    bytes: [SETTINGS, head(3), head(1), data(3, 'three'), data(1, 'one')],
    outcomes: ['200 one', '200 three'],
  },
  {
    sent: 'an answer of fields only',
    bytes: [SETTINGS, head(1, END_HEADERS | END_STREAM), head(3), data(3, '')],
    outcomes: ['200 ', '200 '],
  },
  {
    sent: 'an interim answer, fields in parts, and frames of no meaning',
    bytes: [
      SETTINGS,
      frame(FRAME.headers, { stream: 1, flags: END_HEADERS, payload: field(':status', '103') }),
      frame(FRAME.headers, { stream: 1, payload: field(':status', '200').subarray(0, 5) }),
      frame(FRAME.continuation, {
        stream: 1,
        flags: END_HEADERS,
        payload: field(':status', '200').subarray(5),
      }),
      frame(0x77, { stream: 1, payload: Buffer.from('grease') }),
      data(1, 'one'),
      head(3),
      data(3, 'three'),
    ],
    outcomes: ['200 one', '200 three'],
  },
  {
    sent: 'a farewell that leaves out the second',
    bytes: [SETTINGS, goAway(1), head(1), data(1, 'one')],
    outcomes: ['200 one', 'StreamReset: the server ended the request (HTTP/2 error 7)'],
  },
  {
    sent: 'ends of single requests',
    bytes: [SETTINGS, reset(1, 8), reset(3, 7)],
    outcomes: [8, 7].map((code) => `StreamReset: the server ended the request (HTTP/2 error ${code})`),
  },
  {
    sent: 'HTTP/1.1',
    bytes: [Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')],
    outcomes: both('Error: Protocol error: a frame that is too long'),
  },
  {
    sent: 'frames before the settings',
    bytes: [frame(FRAME.ping, { payload: Buffer.alloc(8) })],
    outcomes: both('Error: Protocol error: expected the settings of HTTP/2 first'),
  },
  {
    sent: 'a window without a number',
    bytes: [SETTINGS, frame(FRAME.windowUpdate)],
    outcomes: both('Error: Protocol error: a payload of 0 bytes, expected 4'),
  },
  {
    sent: 'half a setting',
    bytes: [frame(FRAME.settings, { payload: Buffer.alloc(5) })],
    outcomes: both('Error: Protocol error: a payload of 5 bytes, expected 6'),
  },
  {
    sent: 'endless fields',
    bytes: [
      SETTINGS,
      frame(FRAME.headers, { stream: 1 }),
      ...Array.from({ length: 65 }, () =>
        frame(FRAME.continuation, { stream: 1, payload: Buffer.alloc(16_384) }),
      ),
    ],
    outcomes: both('Error: Protocol error: too many header fields'),
  },
])('a server that sends $sent', async ({ bytes, outcomes }) => {
  const server = scripted()
  server.far.write(Buffer.concat(bytes))
  expect(await server.outcomes).toEqual(outcomes)
})

test.each([
  { when: 'before it spoke', bytes: Buffer.alloc(0), outcome: 'Error: Failed to connect' },
  { when: 'later', bytes: SETTINGS, outcome: 'Error: the server ended the connection' },
])('a server that ends the connection $when', async ({ bytes, outcome }) => {
  const server = scripted()
  if (bytes.length > 0) {
    server.far.write(bytes)
    await once(server.near, 'data')
  }
  server.near.destroy()
  expect(await server.outcomes).toEqual(both(outcome))
})

test('settings and pings are answered', async () => {
  const { far } = scripted()
  const acknowledged = new Promise<Buffer[]>((resolve) => {
    const seen: Buffer[] = []
    const read = frameReader((bytes) => {
      if (((bytes[4] as number) & ACK) !== 0 && [FRAME.settings, FRAME.ping].includes(bytes[3] as 4))
        seen.push(bytes)
      if (seen.length === 2) resolve(seen)
    })
    // The preface stands before the first frame.
    far.once('data', (first: Buffer) => {
      read(first.subarray(24))
      far.on('data', read)
    })
  })
  far.write(
    Buffer.concat([
      frame(FRAME.settings, { payload: settingsOf({ 4: 10 }) }),
      frame(FRAME.ping, { payload: Buffer.from('12345678') }),
    ]),
  )
  expect(await acknowledged).toEqual([
    frame(FRAME.settings, { flags: ACK }),
    frame(FRAME.ping, { flags: ACK, payload: Buffer.from('12345678') }),
  ])
})
