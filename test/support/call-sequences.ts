/**
 * Calls as clients make them and as no client should, at random from a seed: what one server answers, another has to answer as
 * well. They are made with Node's own HTTP/2, which shares no code with either transport's server.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2'
import { gzipSync } from 'node:zlib'
import { messageType } from './black-box.ts'
import { messageFrame } from './http2-frames.ts'

/** What the servers allow. */
export const MESSAGE_BYTES_MAX = 65_536

const SERVICE = '/portcullis.v1.AuthorizationService'

/** What a client sends, and what it does with the answer. */
export interface SequenceCall {
  readonly what: string
  readonly headers: Readonly<Record<string, string>>
  /** The body, in the parts in which it is written. */
  readonly parts: readonly Buffer[]
  /** What happens after the last part: the end of the stream, nothing (the server ends it), or a reset. */
  readonly end: 'end' | 'open' | 'reset'
  /** Reads the answer only after so many milliseconds. */
  readonly readsAfterMs: number
  /** After so many messages the client cancels. */
  readonly messagesMax: number
}

/** What came of a call. */
export interface CallOutcome {
  readonly what: string
  readonly http: number | undefined
  readonly type: string | undefined
  readonly status: string | undefined
  readonly message: string | undefined
  readonly details: string | undefined
  /** How the stream has failed. */
  readonly failure: string | undefined
  /** The messages, in order, as hex. */
  readonly messages: readonly string[]
}

type Random = () => number

const below = (random: Random, limit: number) => Math.floor(random() * limit)
const oneOf = <T>(random: Random, values: readonly T[]): T => values[below(random, values.length)] as T

const encoded = (type: string, value: object) => messageType(type).serialize(value)
const CLAIMS = { kind: 'static_token', scope: { account: '1' } }
const CHECKS = [
  { api: 'balance', token: CLAIMS },
  { api: 'iam', token: CLAIMS },
  { api: 'nosuch', token: CLAIMS },
  { api: 'audit-logs', token: { kind: 'iam_token_project_scoped', scope: { account: '1', project: 'p' } } },
  { api: 'balance', token: CLAIMS, target: { account: '2' } },
  { api: 'balance', credentials: { headers: [{ name: 'X-Token', value: 'nobody' }] } },
]
const BAD_CHECKS = [{}, { api: 'balance' }, { api: 'balance', token: CLAIMS, target: { account: '' } }]

interface Plan {
  readonly what: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly messages: readonly Buffer[]
  readonly end?: SequenceCall['end']
  readonly messagesMax?: number
}

const check = (random: Random) => encoded('CheckRequest', oneOf(random, CHECKS))
const streamed = (random: Random, id = `q${below(random, 100)}`) =>
  encoded('CheckStreamRequest', { id: id.padEnd(below(random, 300)), check: oneOf(random, CHECKS) })

/** Every kind of call. */
const PLANS: readonly ((random: Random) => Plan)[] = [
  (random) => ({ what: 'a check', messages: [messageFrame(check(random))] }),
  (random) => ({
    what: 'a check that is not complete',
    messages: [messageFrame(encoded('CheckRequest', oneOf(random, BAD_CHECKS)))],
  }),
  (random) => ({
    what: 'a batch',
    path: 'CheckBatch',
    messages: [
      messageFrame(
        encoded('CheckBatchRequest', {
          checks: Array.from({ length: below(random, 100) }, () => oneOf(random, CHECKS)),
        }),
      ),
    ],
  }),
  () => ({ what: 'the matrix', path: 'GetMatrix', messages: [messageFrame(Buffer.alloc(0))] }),
  (random) => ({
    what: 'a stream',
    path: 'CheckStream',
    messages: Array.from({ length: below(random, 30) }, () => messageFrame(streamed(random))),
  }),
  (random) => ({
    what: 'a stream with an error in it',
    path: 'CheckStream',
    messages: [
      ...Array.from({ length: below(random, 8) }, () => messageFrame(streamed(random))),
      messageFrame(encoded('CheckStreamRequest', { id: 'bad' })),
      messageFrame(streamed(random)),
    ],
  }),
  (random) => ({
    what: 'a stream of large messages',
    path: 'CheckStream',
    messages: Array.from({ length: 3 }, (_, index) =>
      messageFrame(streamed(random, `${index}`.padEnd(40_000, 'x'))),
    ),
  }),
  (random) => ({
    what: 'a stream that is reset',
    path: 'CheckStream',
    messages: Array.from({ length: below(random, 5) }, () => messageFrame(streamed(random))),
    end: 'reset',
  }),
  () => ({
    what: 'a watch that is left',
    path: 'WatchMatrix',
    messages: [messageFrame(Buffer.alloc(0))],
    messagesMax: 1,
  }),
  () => ({
    what: 'a watch until its deadline',
    path: 'WatchMatrix',
    headers: { 'grpc-timeout': '400m' },
    messages: [messageFrame(Buffer.alloc(0))],
  }),
  () => ({
    what: 'a stream until its deadline',
    path: 'CheckStream',
    headers: { 'grpc-timeout': '60m' },
    messages: [],
    end: 'open',
  }),
  (random) => ({
    what: 'bytes that are no message',
    messages: [messageFrame(Buffer.from(Array.from({ length: 1 + below(random, 30) }, () => 0xff)))],
  }),
  (random) => ({
    what: 'random bytes',
    messages: [
      messageFrame(Buffer.from(Array.from({ length: below(random, 60) }, () => below(random, 256)))),
    ],
  }),
  (random) => ({
    what: 'a compressed check',
    headers: { 'grpc-encoding': 'gzip' },
    messages: [messageFrame(gzipSync(check(random)), 1)],
  }),
  (random) => ({
    what: 'compressed and other messages of a stream',
    path: 'CheckStream',
    headers: { 'grpc-encoding': 'gzip' },
    messages: Array.from({ length: 1 + below(random, 6) }, () =>
      random() < 0.5 ? messageFrame(gzipSync(streamed(random)), 1) : messageFrame(streamed(random)),
    ),
  }),
  (random) => ({
    what: 'a compressed message that is damaged',
    headers: { 'grpc-encoding': 'gzip' },
    messages: [messageFrame(gzipSync(check(random)).subarray(0, 12), 1)],
  }),
  () => ({
    what: 'a compressed message that grows beyond the limit',
    headers: { 'grpc-encoding': 'gzip' },
    messages: [messageFrame(gzipSync(Buffer.alloc(4 * MESSAGE_BYTES_MAX)), 1)],
  }),
  (random) => ({
    what: 'an unknown encoding',
    headers: { 'grpc-encoding': 'br' },
    messages: [messageFrame(check(random), 1)],
  }),
  () => ({
    what: 'a message beyond the limit',
    messages: [messageFrame(Buffer.alloc(MESSAGE_BYTES_MAX + 1))],
  }),
  () => ({ what: 'a message of the largest size', messages: [messageFrame(largest())] }),
  (random) => ({
    what: 'two messages',
    messages: [messageFrame(check(random)), messageFrame(check(random))],
  }),
  () => ({ what: 'no message', messages: [] }),
  (random) => ({ what: 'an unknown method', path: 'Nosuch', messages: [messageFrame(check(random))] }),
  (random) => ({
    what: 'an unknown service',
    path: '/nosuch.Service/Check',
    messages: [messageFrame(check(random))],
  }),
  (random) => ({
    what: 'metadata',
    headers: { 'x-one': 'two', 'x-trace-bin': 'AAEC/w', 'x-long': 'v'.repeat(below(random, 3000)) },
    messages: [messageFrame(check(random))],
  }),
  (random) => ({
    what: 'a deadline that is not reached',
    headers: { 'grpc-timeout': oneOf(random, ['1H', '99999999S', '10M', '20000000u']) },
    messages: [messageFrame(check(random))],
  }),
  (random) => ({
    what: 'another content type',
    headers: { 'content-type': oneOf(random, ['text/plain', 'application/json']) },
    messages: [messageFrame(check(random))],
  }),
  (random) => ({
    what: 'the content type with its codec',
    headers: { 'content-type': 'application/grpc+proto' },
    messages: [messageFrame(check(random))],
  }),
  () => ({
    what: 'a revocation by nobody',
    path: 'Revoke',
    messages: [messageFrame(encoded('RevokeRequest', { token_id: 'A'.repeat(22) }))],
  }),
  () => ({
    what: 'a revocation by an unknown caller',
    path: 'Revoke',
    headers: { authorization: 'Bearer nobody' },
    messages: [messageFrame(encoded('RevokeRequest', { token_id: 'A'.repeat(22) }))],
  }),
  () => ({
    what: 'health',
    path: '/grpc.health.v1.Health/Check',
    messages: [messageFrame(Buffer.alloc(0))],
  }),
  () => ({
    what: 'the health of an unknown service',
    path: '/grpc.health.v1.Health/Check',
    messages: [messageFrame(Buffer.concat([Buffer.of(0x0a, 6), Buffer.from('nosuch')]))],
  }),
  () => ({
    what: 'reflection',
    path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    messages: [messageFrame(Buffer.of(0x3a, 0))],
  }),
]

function largest(): Buffer {
  const message = encoded('CheckRequest', {
    ...{ api: 'balance', credentials: { headers: [{ name: 'x', value: 'v'.repeat(MESSAGE_BYTES_MAX) }] } },
  })
  const value = MESSAGE_BYTES_MAX - (message.length - MESSAGE_BYTES_MAX)
  return encoded('CheckRequest', {
    ...{ api: 'balance', credentials: { headers: [{ name: 'x', value: 'v'.repeat(value) }] } },
  })
}

/** The calls that one connection makes at the same time. */
export function sequenceOf(random: Random): SequenceCall[] {
  return Array.from({ length: 1 + below(random, 6) }, () => {
    const plan = oneOf(random, PLANS)(random)
    const { path = 'Check', headers, messages, messagesMax = Number.POSITIVE_INFINITY, end = 'end' } = plan
    return {
      what: plan.what,
      headers: {
        ':method': 'POST',
        ':path': path.startsWith('/') ? path : `${SERVICE}/${path}`,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...headers,
      },
      parts: cut(Buffer.concat(messages), random),
      end,
      readsAfterMs: random() < 0.1 ? 5 + below(random, 20) : 0,
      messagesMax,
    }
  })
}

/** Parts of any length, so that DATA frames begin and end anywhere. */
function cut(body: Buffer, random: Random): Buffer[] {
  if (random() < 0.5 || body.length === 0) return [body]
  const parts: Buffer[] = []
  const longest = oneOf(random, [3, 100, 10_000])
  for (let at = 0; at < body.length; at += parts.at(-1)?.length ?? 0)
    // A few parts and then the rest: a body of a byte a frame would be what limits for frames are about.
    parts.push(body.subarray(at, parts.length > 20 ? body.length : at + 1 + below(random, longest)))
  return parts
}

/** Makes the calls over a connection of their own. */
export async function outcomesOf(address: string, calls: readonly SequenceCall[]): Promise<CallOutcome[]> {
  const session = connect(`http://${address}`)
  session.on('error', () => {})
  try {
    return await Promise.all(calls.map((call) => outcomeOf(session, call)))
  } finally {
    session.destroy()
  }
}

/** It only ends what hangs. */
const CALL_MS_MAX = 20_000

async function outcomeOf(session: ClientHttp2Session, call: SequenceCall): Promise<CallOutcome> {
  const stream = session.request(call.headers, { endStream: false })
  const limit = setTimeout(() => stream.destroy(new Error(`${call.what}: no end`)), CALL_MS_MAX)
  let failure: string | undefined
  stream.on('error', ({ message }) => {
    failure = message
  })
  const heads: IncomingHttpHeaders[] = []
  stream.once('response', (head) => heads.push(head))
  stream.once('trailers', (trailers) => heads.push(trailers))
  const body = collect(stream, call)
  const closed = new Promise((resolve) => stream.once('close', resolve))
  // After its answer has ended, a call has nothing more to send.
  stream.once('end', () => setImmediate(() => stream.destroy()))
  await write(stream, call)
  await closed
  clearTimeout(limit)
  const fields = Object.assign({}, ...heads) as IncomingHttpHeaders & Record<string, string | undefined>
  // What is on its way when a call is cancelled is a matter of luck.
  if (call.end === 'reset') return { what: call.what, ...NOTHING }
  if (call.messagesMax < Number.POSITIVE_INFINITY)
    return { what: call.what, ...NOTHING, messages: body.messages.slice(0, call.messagesMax) }
  const { 'grpc-status': status, 'grpc-message': message } = fields
  const details = fields['grpc-status-details-bin']?.replace(/=+$/, '')
  return {
    what: call.what,
    http: fields[':status'] as number | undefined,
    type: fields['content-type'],
    status,
    // What the service says is the same. What a transport says is in its own words, and grpc-js says OK to what is answered.
    message: details && message && decodeURIComponent(message),
    details,
    failure,
    messages: body.messages,
  }
}

const NOTHING = {
  ...{ http: undefined, type: undefined, status: undefined, message: undefined, details: undefined },
  failure: undefined,
  messages: [],
} as const

async function write(stream: ClientHttp2Stream, { parts, end }: SequenceCall): Promise<void> {
  for (const part of parts) {
    if (stream.closed || stream.destroyed) return
    if (part.length > 0) stream.write(part)
    // The next part is a frame of its own.
    if (parts.length > 1) await new Promise((resolve) => setImmediate(resolve))
  }
  if (end === 'end') stream.end()
  if (end === 'reset') stream.close(constants.NGHTTP2_CANCEL)
}

/** Reads messages as they come. */
function collect(
  stream: ClientHttp2Stream,
  { readsAfterMs, messagesMax }: SequenceCall,
): { messages: string[] } {
  const found = { messages: [] as string[] }
  let rest: Buffer = Buffer.alloc(0)
  const read = () =>
    stream.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes])
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const end = 5 + rest.readUInt32BE(1)
        found.messages.push(rest.subarray(0, end).toString('hex'))
        rest = rest.subarray(end)
        if (found.messages.length === messagesMax) stream.close(constants.NGHTTP2_CANCEL)
      }
    })
  if (readsAfterMs === 0) read()
  else setTimeout(read, readsAfterMs)
  return found
}

/** A call whose outcome is not the same on both servers. */
export interface Difference {
  readonly call: SequenceCall
  readonly outcomes: readonly (CallOutcome | undefined)[]
}

/** Makes the same connections with both servers. @returns how many calls of each kind were made, and how they differ */
export async function compareServers(
  addresses: readonly [string, string],
  random: Random,
  connections: number,
): Promise<{ kinds: number; calls: number; differences: Difference[] }> {
  const kinds = new Set<string>()
  const differences: Difference[] = []
  let made = 0
  const connection = async () => {
    const calls = sequenceOf(random)
    const [left, right] = await Promise.all(addresses.map((address) => outcomesOf(address, calls)))
    calls.forEach((call, index) => {
      made++
      kinds.add(call.what)
      const outcomes = [left?.[index], right?.[index]]
      if (JSON.stringify(outcomes[0]) !== JSON.stringify(outcomes[1])) differences.push({ call, outcomes })
    })
  }
  let left = connections
  const connecting = async () => {
    while (left-- > 0) await connection()
  }
  // Several at a time, because some calls wait for their deadlines.
  await Promise.all(Array.from({ length: CONNECTIONS_AT_A_TIME }, connecting))
  return { kinds: kinds.size, calls: made, differences }
}

const CONNECTIONS_AT_A_TIME = 8

/** How many kinds of calls there are. */
export const KINDS = PLANS.length
