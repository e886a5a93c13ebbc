/**
 * Calls of every method, as clients make them and as no client should: with messages, credentials and
 * metadata of every sort, in any framing, with what breaks the protocol.
 */
import type { OutgoingHttpHeaders } from 'node:http2'
import { gzipSync } from 'node:zlib'
import type { DescMessage } from '@bufbuild/protobuf'
import * as fc from 'fast-check'
import type { Method } from '../../../sidecar/contract/call.ts'
import { messageFrame } from '../http2/frames.ts'
import { Dice, randomFrom } from '../inputs/random.ts'
import { messagesOf, type TextsOf, UNKNOWN_FIELDS } from './messages.ts'
import type { SentCall } from './outcomes.ts'

/** The limit of the servers. */
export const MESSAGE_BYTES_MAX = 65_536

/** A method that is asked. */
export interface Asked {
  readonly path: string
  readonly type: Method['type']
  /** Its requests: any, by its descriptor, or from these. */
  readonly requests: fc.Arbitrary<Uint8Array>
}

/** A call with what it is made of. */
export interface GeneratedCall extends SentCall {
  /** Of the method. */
  readonly path: string
  /** The oddity of the call. */
  readonly twist: string
}

/** A request of the type, or one with fields of a later version. */
export function requestsOf(type: DescMessage, textsOf: TextsOf): fc.Arbitrary<Uint8Array> {
  return fc
    .tuple(messagesOf(type, textsOf), fc.nat(7))
    .map(([bytes, chance]) => (chance === 0 ? Buffer.concat([bytes, UNKNOWN_FIELDS]) : bytes))
}

/** A call whose parts can still be replaced. */
interface Draft {
  readonly asked: Asked
  readonly headers: OutgoingHttpHeaders
  readonly messages: readonly Buffer[]
  readonly end: SentCall['end']
  readonly readsAfterMs: number
  readonly messagesMax: number
}

/** Something that is odd with a call. */
interface Twist {
  readonly what: string
  /** The types of methods that it fits to; default: all. */
  readonly on?: readonly Method['type'][]
  readonly change: (draft: Draft, dice: Dice) => Partial<Draft>
}

const first = ({ messages }: Draft) => (messages[0] ?? messageFrame(Buffer.alloc(0))).subarray(5)
const withHeaders = (draft: Draft, headers: OutgoingHttpHeaders) => ({
  headers: { ...draft.headers, ...headers },
})
const gzip = { 'grpc-encoding': 'gzip' }
const zipped = (message: Uint8Array) => messageFrame(gzipSync(message), 1)

/** Nothing is odd with a call. */
export const USUAL: Twist = { what: 'as usual', change: () => ({}) }

/** The faults and rarities that a call may have. */
const TWISTS: readonly Twist[] = [
  USUAL,
  ...['application/grpc+proto', 'application/grpc;a=b', 'APPLICATION/GRPC'].map((type) => ({
    what: `the content type ${type}`,
    change: (draft: Draft) => withHeaders(draft, { 'content-type': type }),
  })),
  ...['text/plain', 'application/json', 'application/grpc-web', 'application/grpc+json', ''].map((type) => ({
    what: `the content type ${type}`,
    change: (draft: Draft) => withHeaders(draft, { 'content-type': type }),
  })),
  ...['PUT', 'GET'].map((method) => ({
    what: `the method ${method}`,
    change: (draft: Draft) => withHeaders(draft, { ':method': method }),
  })),
  {
    what: 'an unknown method',
    change: (draft) => withHeaders(draft, { ':path': `${draft.asked.path}s` }),
  },
  { what: 'an unknown service', change: (draft) => withHeaders(draft, { ':path': '/nosuch.Service/Check' }) },
  {
    what: 'a path with a query',
    change: (draft) => withHeaders(draft, { ':path': `${draft.asked.path}?a` }),
  },
  { what: 'a path of nothing', change: (draft) => withHeaders(draft, { ':path': '/' }) },
  ...['1H', '99999999H', '99999999S', '00000010M', '20000000u'].map((timeout) => ({
    what: `the timeout ${timeout}`,
    on: ['unary', 'bidi'] as const,
    change: (draft: Draft) => withHeaders(draft, { 'grpc-timeout': timeout }),
  })),
  ...['0n', '1n', '999u', '1m'].map((timeout) => ({
    what: `the tiny timeout ${timeout}`,
    change: (draft: Draft) => withHeaders(draft, { 'grpc-timeout': timeout }),
  })),
  ...['soon', '1', '-1S', '1s', '123456789S', '1.5S', ''].map((timeout) => ({
    what: `the malformed timeout ${timeout}`,
    change: (draft: Draft) => withHeaders(draft, { 'grpc-timeout': timeout }),
  })),
  {
    what: 'a deadline before the end of the requests',
    change: (draft) => ({ ...withHeaders(draft, { 'grpc-timeout': '40m' }), end: 'open' }),
  },
  {
    what: 'a deadline within a message',
    change: (draft) => ({
      ...withHeaders(draft, { 'grpc-timeout': '40m' }),
      messages: [messageFrame(Buffer.alloc(100)).subarray(0, 50)],
      end: 'open',
    }),
  },
  {
    what: 'a compressed message',
    change: (draft) => ({ ...withHeaders(draft, gzip), messages: [zipped(first(draft))] }),
  },
  { what: 'a compression that is announced', change: (draft) => withHeaders(draft, gzip) },
  {
    what: 'the encoding identity',
    change: (draft) => withHeaders(draft, { 'grpc-encoding': 'identity' }),
  },
  {
    what: 'a compressed message that was not announced',
    change: (draft) => ({ messages: [zipped(first(draft))] }),
  },
  {
    what: 'a compressed message that is damaged',
    change: (draft) => ({
      ...withHeaders(draft, gzip),
      messages: [messageFrame(gzipSync(first(draft)).subarray(0, 12), 1)],
    }),
  },
  {
    what: 'a compressed message that grows beyond the limit',
    change: (draft) => ({
      ...withHeaders(draft, gzip),
      messages: [zipped(Buffer.alloc(4 * MESSAGE_BYTES_MAX))],
    }),
  },
  {
    what: 'an unknown encoding',
    change: (draft) => ({
      ...withHeaders(draft, { 'grpc-encoding': 'br' }),
      messages: [messageFrame(first(draft), 1)],
    }),
  },
  {
    what: 'an unknown encoding that is not used',
    change: (draft) => withHeaders(draft, { 'grpc-encoding': 'br' }),
  },
  { what: 'a flag of 2', change: (draft) => ({ messages: [messageFrame(first(draft), 2)] }) },
  {
    what: 'bytes that are no message',
    change: (_, dice) => ({ messages: [messageFrame(Buffer.alloc(1 + dice.of(30), 0xff))] }),
  },
  {
    what: 'random bytes',
    change: (_, dice) => ({
      messages: [messageFrame(Buffer.from(Array.from({ length: dice.of(60) }, () => dice.of(256))))],
    }),
  },
  {
    what: 'half a message',
    change: (draft, dice) => {
      const whole = messageFrame(Buffer.concat([first(draft), UNKNOWN_FIELDS]))
      return { messages: [whole.subarray(0, 1 + dice.of(whole.length - 1))] }
    },
  },
  {
    what: 'more than one message',
    change: ({ messages }) => ({ messages: [...messages, ...messages, messageFrame(UNKNOWN_FIELDS)] }),
  },
  { what: 'no message', change: () => ({ messages: [] }) },
  {
    what: 'a message beyond the limit',
    change: () => ({ messages: [messageFrame(Buffer.alloc(MESSAGE_BYTES_MAX + 1))] }),
  },
  {
    what: 'the beginning of a message beyond the limit',
    change: () => ({
      messages: [messageFrame(Buffer.alloc(MESSAGE_BYTES_MAX + 1)).subarray(0, 5)],
      end: 'open',
    }),
  },
  {
    what: 'a message of the largest size',
    change: (draft) => {
      const begun = first(draft)
      // An unknown field of bytes takes the rest.
      const rest = MESSAGE_BYTES_MAX - begun.length - 6
      const field = Buffer.concat([
        Buffer.of(0xfa, 0xff, 0x08, 0x80 | (rest & 0x7f), 0x80 | ((rest >> 7) & 0x7f), rest >> 14),
        Buffer.alloc(rest),
      ])
      return { messages: [messageFrame(Buffer.concat([begun, field]))] }
    },
  },
  {
    what: 'many fields of metadata',
    change: (draft) =>
      withHeaders(draft, Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x-${index}`, 'y']))),
  },
  {
    what: 'more fields of metadata than are read',
    change: (draft) =>
      withHeaders(draft, Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`x-${index}`, 'y']))),
  },
  { what: 'an answer that is read late', change: () => ({ readsAfterMs: 15 }) },
  { what: 'a stream that is left after an answer', change: () => ({ messagesMax: 1 }) },
  { what: 'a call that is cancelled', change: () => ({ end: 'reset' }) },
  {
    what: 'a call that is cancelled within a message',
    change: (draft) => ({ messages: [messageFrame(first(draft)).subarray(0, 4)], end: 'reset' }),
  },
]

/** Metadata that calls have beside a credential. */
const METADATA: readonly OutgoingHttpHeaders[] = [
  { 'x-one': 'two', 'user-agent': 'a client' },
  { 'x-trace-bin': 'AAEC/w' },
  { 'x-trace-bin': ['AAEC/w', 'AA=='], 'x-many': ['1', '2', '3'] },
  { 'x-long': 'v'.repeat(3_000) },
  { 'x-empty': '' },
  { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'a=b' },
  { traceparent: ['00', '01'] },
  { 'x-portcullis-forwarded': 'address=192.0.2.1' },
  { 'x-portcullis-forwarder': 'Bearer nobody' },
  { 'grpc-accept-encoding': 'gzip', 'grpc-previous-rpc-attempts': '2' },
]

/** Header fields with the credentials of a caller. */
export type Credentials = readonly OutgoingHttpHeaders[]

/** Calls of the methods, with whatever may be odd with a call. */
export function callsOf(
  methods: readonly Asked[],
  credentials: Credentials,
  twists: readonly Twist[] = TWISTS,
): fc.Arbitrary<GeneratedCall> {
  return fc.constantFrom(...methods).chain((asked) => {
    const fitting = twists.filter(({ on }) => on === undefined || on.includes(asked.type))
    const lengths = asked.type === 'bidi' ? { maxLength: 6 } : { minLength: 1, maxLength: 1 }
    return fc
      .record({
        messages: fc.array(asked.requests, lengths),
        credential: fc.constantFrom(...credentials),
        metadata: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, fc.constantFrom(...METADATA)),
        requestId: fc.uuid(),
        twist: fc.oneof(fc.constant(USUAL), { weight: 2, arbitrary: fc.constantFrom(...fitting) }),
        cuts: fc.oneof(fc.constant([]), fc.array(fc.nat(), { maxLength: 20 })),
        seed: fc.nat(),
      })
      .map(({ messages, credential, metadata, requestId, twist, cuts, seed }) => {
        const draft = draftOf(asked, messages, { 'x-request-id': requestId, ...metadata, ...credential })
        const dice = new Dice(randomFrom(seed))
        const { messages: sent, asked: _, ...call } = { ...draft, ...twist.change(draft, dice) }
        const { path } = asked
        const body = cut(Buffer.concat(sent), cuts)
        return { ...call, what: `${path}, ${twist.what}`, path, twist: twist.what, parts: body }
      })
  })
}

function draftOf(asked: Asked, messages: readonly Uint8Array[], more: OutgoingHttpHeaders): Draft {
  // A watch never ends.
  const isWatch = asked.type === 'server_stream'
  return {
    asked,
    headers: {
      ...{ ':method': 'POST', ':path': asked.path, 'content-type': 'application/grpc', te: 'trailers' },
      ...(isWatch && { 'grpc-timeout': '10S' }),
      ...more,
    },
    messages: messages.map((each) => messageFrame(each)),
    ...{ end: 'end', readsAfterMs: 0, messagesMax: isWatch ? 1 : Number.POSITIVE_INFINITY },
  }
}

/** Parts that begin and end anywhere. */
function cut(body: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map((each) => each % (body.length + 1)).sort((a, b) => a - b), body.length]
  return at.slice(1).map((end, index) => body.subarray(at[index], end))
}
