/** gRPC over HTTP/2 as its specification says, by frames that no client library would send. */
import { once } from 'node:events'
import { type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { encoded } from '../support/contract/black-box.ts'
import {
  callOf,
  END_HEADERS,
  END_STREAM,
  FRAME,
  field,
  frame,
  PREFACE,
  settingsOf,
} from '../support/http2/frames.ts'
import { openRaw } from '../support/interop/raw-connection.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually } from '../support/suite/resources.ts'

const MESSAGE_BYTES_MAX = 65_536

const CHECK = '/portcullis.v1.AuthorizationService/Check'
const STREAM = '/portcullis.v1.AuthorizationService/CheckStream'
const WATCH = '/portcullis.v1.AuthorizationService/WatchMatrix'

const good = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const check = encoded('CheckRequest', good)
const message = (bytes: Uint8Array, flag = 0) => {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt8(flag)
  prefix.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([prefix, bytes])
}

/** How a call ended: the HTTP status if it is not 200, or else the status of gRPC, and the messages. */
interface Outcome {
  readonly http: number
  readonly code: string | undefined
  readonly messages: number
  readonly details: boolean
  /** The error code of RST_STREAM. */
  readonly reset: number
}

const { address } = await runSidecar({ flags: { 'grpc.max_message_bytes': MESSAGE_BYTES_MAX } })
const session = connect(`http://${address}`)
afterAll(() => session.destroy())

interface Call {
  readonly path?: string
  readonly headers?: OutgoingHttpHeaders
  /** The parts that are sent, each in separate frames. */
  readonly parts?: readonly Uint8Array[]
  /** Whether the client ends its side; default: it does. */
  readonly ends?: boolean
}

async function outcomeOf({
  path = CHECK,
  headers,
  parts = [message(check)],
  ends = true,
}: Call): Promise<Outcome> {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  return ended(stream, parts, ends)
}

async function ended(
  stream: ClientHttp2Stream,
  parts: readonly Uint8Array[],
  ends: boolean,
): Promise<Outcome> {
  let http = 0
  let status: OutgoingHttpHeaders = {}
  const body: Buffer[] = []
  stream.on('error', () => {})
  stream.on('response', (fields) => {
    http = Number(fields[':status'])
    if (fields['grpc-status'] !== undefined) status = fields
  })
  stream.on('trailers', (fields) => {
    status = fields
  })
  stream.on('data', (bytes: Buffer) => body.push(bytes))
  for (const part of parts) stream.write(part)
  if (ends) stream.end()
  await Promise.race([once(stream, 'end'), once(stream, 'close')])
  // A client that has its answer sends nothing further.
  if (!stream.closed) stream.close()
  return {
    http,
    code: status['grpc-status']?.toString(),
    messages: countMessages(Buffer.concat(body)),
    details: status['grpc-status-details-bin'] !== undefined,
    reset: stream.rstCode ?? 0,
  }
}

function countMessages(body: Buffer): number {
  let count = 0
  for (let at = 0; at + 5 <= body.length; at += 5 + body.readUInt32BE(at + 1)) count++
  return count
}

const answered = { http: 200, code: '0', messages: 1 }
const failed = (code: number) => ({ http: 200, code: String(code), messages: 0 })
const [INVALID_ARGUMENT, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL] = [3, 4, 8, 12, 13]

interface Row {
  readonly claim: string
  readonly call: Call
  readonly outcome: Partial<Outcome>
}

const large = encoded('CheckRequest', { ...good, api: 'x'.repeat(MESSAGE_BYTES_MAX) })
const gzip = { 'grpc-encoding': 'gzip' }

const rows: readonly Row[] = [
  { claim: 'a call', call: {}, outcome: answered },
  {
    claim: 'a call with +proto',
    call: { headers: { 'content-type': 'application/grpc+proto' } },
    outcome: answered,
  },
  {
    claim: 'a content type that is not of gRPC',
    call: { headers: { 'content-type': 'application/json' } },
    outcome: { http: 415 },
  },
  {
    claim: 'gRPC-Web',
    call: { headers: { 'content-type': 'application/grpc-web' } },
    outcome: { http: 415 },
  },
  {
    claim: 'messages in JSON',
    call: { headers: { 'content-type': 'application/grpc+json' } },
    outcome: { http: 415 },
  },
  {
    claim: 'PUT',
    call: { headers: { ':method': 'PUT' } },
    outcome: { http: 405 },
  },
  {
    claim: 'an unknown method',
    call: { path: '/portcullis.v1.AuthorizationService/None' },
    outcome: failed(UNIMPLEMENTED),
  },
  { claim: 'an unknown service', call: { path: '/none' }, outcome: failed(UNIMPLEMENTED) },
  {
    claim: 'a message in bytes',
    call: { parts: [...message(check)].map((byte) => Buffer.of(byte)) },
    outcome: answered,
  },
  {
    claim: 'a message that the contract refuses',
    call: { parts: [message(Buffer.alloc(0))] },
    outcome: { ...failed(INVALID_ARGUMENT), details: true },
  },
  { claim: 'no message', call: { parts: [] }, outcome: failed(UNIMPLEMENTED) },
  {
    claim: 'two messages',
    call: { parts: [message(check), message(check)] },
    outcome: failed(UNIMPLEMENTED),
  },
  {
    claim: 'half a prefix',
    call: { parts: [message(check).subarray(0, 3)] },
    outcome: failed(INTERNAL),
  },
  {
    claim: 'half a message',
    call: { parts: [message(check).subarray(0, 9)] },
    outcome: failed(INTERNAL),
  },
  {
    claim: 'a message beyond the limit',
    call: { parts: [message(large)] },
    outcome: failed(RESOURCE_EXHAUSTED),
  },
  {
    claim: 'the prefix of such a message, and no end',
    call: { parts: [message(large).subarray(0, 5)], ends: false },
    outcome: failed(RESOURCE_EXHAUSTED),
  },
  { claim: 'gzip', call: { headers: gzip, parts: [message(gzipSync(check), 1)] }, outcome: answered },
  { claim: 'gzip that was announced and not used', call: { headers: gzip }, outcome: answered },
  {
    claim: 'gzip that was not announced',
    call: { parts: [message(gzipSync(check), 1)] },
    outcome: failed(INTERNAL),
  },
  {
    claim: 'invalid gzip',
    call: { headers: gzip, parts: [message(check, 1)] },
    outcome: failed(INTERNAL),
  },
  {
    claim: 'gzip that becomes too large',
    call: { headers: gzip, parts: [message(gzipSync(large), 1)] },
    outcome: failed(RESOURCE_EXHAUSTED),
  },
  {
    claim: 'a flag of 2',
    call: { parts: [message(check, 2)] },
    outcome: failed(INTERNAL),
  },
  {
    claim: 'an unknown encoding',
    call: { headers: { 'grpc-encoding': 'br' } },
    outcome: failed(UNIMPLEMENTED),
  },
  {
    claim: 'an invalid timeout',
    call: { headers: { 'grpc-timeout': 'soon' } },
    outcome: failed(INTERNAL),
  },
  {
    claim: 'a deadline that passes before the message comes',
    call: { headers: { 'grpc-timeout': '20m' }, parts: [], ends: false },
    outcome: failed(DEADLINE_EXCEEDED),
  },
  {
    claim: 'a deadline within half a message',
    call: { headers: { 'grpc-timeout': '20m' }, parts: [message(check).subarray(0, 9)], ends: false },
    outcome: failed(DEADLINE_EXCEEDED),
  },
  {
    claim: 'a stream without messages',
    call: { path: STREAM, parts: [] },
    outcome: { ...answered, messages: 0 },
  },
  {
    claim: 'a stream that fails after an answer',
    call: {
      path: STREAM,
      parts: [message(encoded('CheckStreamRequest', { id: 'a', check: good })), message(Buffer.of(0))],
    },
    outcome: { http: 200, code: String(INVALID_ARGUMENT), messages: 1, details: true },
  },
  {
    claim: 'a stream that ends within a message',
    call: {
      path: STREAM,
      parts: [message(encoded('CheckStreamRequest', { id: 'a', check: good })), Buffer.of(0, 0)],
    },
    outcome: { http: 200, code: String(INTERNAL), messages: 1 },
  },
  {
    claim: 'a watch with a deadline',
    call: { path: WATCH, headers: { 'grpc-timeout': '1S' }, parts: [message(Buffer.alloc(0))] },
    outcome: { http: 200, code: String(DEADLINE_EXCEEDED), messages: 1 },
  },
]

test.each(rows)('$claim', async ({ call, outcome }) => {
  expect(await outcomeOf(call)).toMatchObject(outcome)
  // Whatever a call does, the next one on the connection is answered.
  expect(await outcomeOf({})).toMatchObject(answered)
})

/** Calls of one connection. */
const CALLS = 200

test('a call that has ended keeps no timer for its deadline', async () => {
  const before = timers()
  let ends = 0
  const { socket, closed } = openRaw(address, (received) => {
    if (received[3] === FRAME.headers && (received[4] ?? 0) & END_STREAM && ++ends === CALLS) socket.destroy()
  })
  // Answers wait for a window, and then come all at once.
  const windows = (bytes: number) => frame(FRAME.settings, { payload: settingsOf({ 4: bytes }) })
  socket.write(Buffer.concat([PREFACE, windows(0), ...callsWithDeadlines()]))
  socket.write(windows(65_535))
  await closed
  expect(ends).toBe(CALLS)
  await eventually(() => timers() < before + CALLS / 4)
})

/** Unary calls and streams, of which each has a deadline that is far away. */
function callsWithDeadlines(): Buffer[] {
  const streamed = encoded('CheckStreamRequest', { id: 'q', check: good })
  return Array.from({ length: CALLS }, (_, index) => {
    const stream = 2 * index + 1
    const [path, request] = index % 2 === 0 ? [STREAM, streamed] : [CHECK, check]
    const payload = Buffer.concat([callOf(path), field('grpc-timeout', '2000000S')])
    return Buffer.concat([
      frame(FRAME.headers, { flags: END_HEADERS, stream, payload }),
      frame(FRAME.data, { flags: END_STREAM, stream, payload: message(request) }),
    ])
  })
}

/** How many timers this process has. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
}
