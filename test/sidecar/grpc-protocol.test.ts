/**
 * gRPC over HTTP/2 as its specification says, by frames that no client library would send. Both transports
 * get them, and where they differ, the row says what each of them answers.
 */
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { encoded } from '../support/contract/black-box.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'

const MESSAGE_BYTES_MAX = 65_536
const TRANSPORTS = ['sockets', 'grpc-js'] as const
type Transport = (typeof TRANSPORTS)[number]

const CHECK = '/portcullis.v1.AuthorizationService/Check'
const STREAM = '/portcullis.v1.AuthorizationService/CheckStream'
const BATCH = '/portcullis.v1.AuthorizationService/CheckBatch'
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

type Sessions = ReadonlyMap<Transport, ClientHttp2Session>
const sessions = new Map<Transport, ClientHttp2Session>()
/** Clients with a small window, so that answers are sent in many parts. */
const slowSessions = new Map<Transport, ClientHttp2Session>()
for (const transport of TRANSPORTS) {
  const { address } = await runSidecar({
    flags: { 'grpc.transport': transport, 'grpc.max_message_bytes': MESSAGE_BYTES_MAX },
  })
  sessions.set(transport, connect(`http://${address}`))
  slowSessions.set(transport, connect(`http://${address}`, { settings: { initialWindowSize: 500 } }))
}
afterAll(() => {
  for (const session of [...sessions.values(), ...slowSessions.values()]) session.destroy()
})

interface Call {
  readonly path?: string
  readonly headers?: OutgoingHttpHeaders
  /** What is sent, each part in frames of its own. */
  readonly parts?: readonly Uint8Array[]
  /** Whether the client ends its side; default: it does. */
  readonly ends?: boolean
}

async function outcomeOf(
  transport: Transport,
  { path = CHECK, headers, parts = [message(check)], ends = true }: Call,
  clients: Sessions = sessions,
): Promise<Outcome> {
  const stream = requestOf(clients.get(transport) as ClientHttp2Session, path, headers)
  return ended(stream, parts, ends)
}

function requestOf(
  session: ClientHttp2Session,
  path: string,
  headers?: OutgoingHttpHeaders,
): ClientHttp2Stream {
  return session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
}

/** Sends the beginning of a call, and cancels it. */
async function cancel(transport: Transport, path: string, beginning: Uint8Array): Promise<void> {
  const stream = requestOf(sessions.get(transport) as ClientHttp2Session, path)
  stream.on('error', () => {})
  await new Promise((resolve) => stream.write(beginning, resolve))
  stream.close(constants.NGHTTP2_CANCEL)
  await once(stream, 'close')
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
  /** What both transports answer, or each of them. */
  readonly outcome: Partial<Outcome> | Readonly<Record<Transport, Partial<Outcome>>>
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
    outcome: { sockets: { http: 415 }, 'grpc-js': answered },
  },
  {
    claim: 'messages in JSON',
    call: { headers: { 'content-type': 'application/grpc+json' } },
    outcome: { sockets: { http: 415 }, 'grpc-js': answered },
  },
  {
    claim: 'PUT',
    call: { headers: { ':method': 'PUT' } },
    outcome: { sockets: { http: 405 }, 'grpc-js': answered },
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
    outcome: { sockets: failed(INTERNAL), 'grpc-js': failed(UNIMPLEMENTED) },
  },
  {
    claim: 'half a message',
    call: { parts: [message(check).subarray(0, 9)] },
    outcome: { sockets: failed(INTERNAL), 'grpc-js': failed(UNIMPLEMENTED) },
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
    outcome: { sockets: failed(INTERNAL), 'grpc-js': failed(INVALID_ARGUMENT) },
  },
  {
    claim: 'gzip that is none',
    call: { headers: gzip, parts: [message(check, 1)] },
    outcome: { sockets: failed(INTERNAL), 'grpc-js': failed(INTERNAL) },
  },
  {
    claim: 'gzip that becomes too large',
    call: { headers: gzip, parts: [message(gzipSync(large), 1)] },
    outcome: failed(RESOURCE_EXHAUSTED),
  },
  {
    claim: 'a flag of 2',
    call: { parts: [message(check, 2)] },
    outcome: { sockets: failed(INTERNAL), 'grpc-js': { http: 200 } },
  },
  {
    claim: 'an unknown encoding',
    call: { headers: { 'grpc-encoding': 'br' } },
    outcome: { sockets: failed(UNIMPLEMENTED), 'grpc-js': answered },
  },
  {
    claim: 'a timeout that is none',
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
    outcome: {
      sockets: { http: 200, code: String(INTERNAL), messages: 1 },
      'grpc-js': answered,
    },
  },
  {
    claim: 'a watch with a deadline',
    call: { path: WATCH, headers: { 'grpc-timeout': '1S' }, parts: [message(Buffer.alloc(0))] },
    outcome: { http: 200, code: String(DEADLINE_EXCEEDED), messages: 1 },
  },
]

describe.each(TRANSPORTS)('on %s', (transport) => {
  test.each(rows)('$claim', async ({ call, outcome }) => {
    const expected =
      transport in outcome ? (outcome as Record<Transport, Partial<Outcome>>)[transport] : outcome
    expect(await outcomeOf(transport, call)).toMatchObject(expected)
    // Whatever a call does, the next one on the connection is answered.
    expect(await outcomeOf(transport, {})).toMatchObject(answered)
  })
})

test('generated calls in any framing end alike on both transports', async () => {
  const checks = fc.constantFrom(good, { ...good, api: 'iam' }, { ...good, api: 'reports' }, { api: '' })
  const unary = checks.map((one) => ({ path: CHECK, body: message(encoded('CheckRequest', one)) }))
  const batch = fc
    .array(checks, { maxLength: 40 })
    .map((all) => ({ path: BATCH, body: message(encoded('CheckBatchRequest', { checks: all })) }))
  const streams = fc.array(checks, { maxLength: 40 }).map((all) => ({
    path: STREAM,
    body: Buffer.concat(
      all.map((one, index) => message(encoded('CheckStreamRequest', { id: String(index), check: one }))),
    ),
  }))
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(unary, batch, streams),
      fc.array(fc.nat(), { maxLength: 6 }),
      fc.constantFrom(sessions, slowSessions),
      // The client cancels the call when so many bytes of it are sent.
      fc.option(fc.nat(), { freq: 5 }),
      async ({ path, body }, cuts, clients, cancelled) => {
        const at = [0, ...cuts.map((cut) => cut % (body.length + 1)).sort((a, b) => a - b), body.length]
        const parts = at.slice(1).map((end, index) => body.subarray(at[index], end))
        const outcomes = await Promise.all(
          TRANSPORTS.map(async (each) => {
            if (cancelled !== null) await cancel(each, path, body.subarray(0, cancelled % (body.length + 1)))
            return outcomeOf(each, { path, parts }, clients)
          }),
        )
        expect(outcomes[0]).toEqual(outcomes[1])
      },
    ),
    { numRuns: 150 },
  )
})
