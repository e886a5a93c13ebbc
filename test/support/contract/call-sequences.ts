/**
 * Calls as clients make them and as no client should, at random from a seed: what one server answers, another
 * must answer as well. They are made with Node's own HTTP/2, which shares no code with either transport's
 * server.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2'
import { HANGS_MS } from '../suite/resources.ts'
import { below, oneOf, PLANS, type Random } from './call-kinds.ts'

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
  /** Every other field, but for what each transport says of its own. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** How the stream has failed. */
  readonly failure: string | undefined
  /** The messages, in order, as hex. */
  readonly messages: readonly string[]
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

async function outcomeOf(session: ClientHttp2Session, call: SequenceCall): Promise<CallOutcome> {
  const stream = session.request(call.headers, { endStream: false })
  const limit = setTimeout(() => stream.destroy(new Error(`${call.what}: no end`)), HANGS_MS)
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
  // What is no call is refused with words that each server chooses.
  if ((fields[':status'] as unknown) !== 200)
    return { what: call.what, ...NOTHING, http: fields[':status'] as unknown as number }
  const { 'grpc-status': status, 'grpc-message': message, 'grpc-status-details-bin': bytes } = fields
  const details = bytes?.replace(/=+$/, '')
  return {
    what: call.what,
    http: fields[':status'] as number | undefined,
    type: fields['content-type'],
    status,
    // What the service says is the same. What a transport says is in its own words, and grpc-js says OK to
    // what is answered.
    message: details && message && decodeURIComponent(message),
    details,
    metadata: Object.fromEntries(Object.entries(fields).filter(([name]) => !OWN_FIELDS.has(name))),
    failure,
    messages: body.messages,
  }
}

/** Those of the other properties of an outcome, and those of a transport. */
const OWN_FIELDS = new Set<string>([
  ...[':status', 'content-type', 'grpc-status', 'grpc-message', 'grpc-status-details-bin'],
  ...['date', 'grpc-encoding', 'grpc-accept-encoding'],
])

const NOTHING = {
  ...{
    metadata: {},
    http: undefined,
    type: undefined,
    status: undefined,
    message: undefined,
    details: undefined,
  },
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

/**
 * Makes the same connections with both servers.
 *
 * @returns how many calls of each kind were made, and how they differ
 */
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
      if (!areSame(outcomes)) differences.push({ call, outcomes })
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

/** As `grpc-status` has it. */
const DEADLINE_EXCEEDED = '4'

/** How many messages come before a deadline is luck on a busy machine, and what they say is not. */
function areSame([left, right]: Difference['outcomes']): boolean {
  if (left?.status !== DEADLINE_EXCEEDED || right?.status !== DEADLINE_EXCEEDED)
    return JSON.stringify(left) === JSON.stringify(right)
  const count = Math.min(left.messages.length, right.messages.length)
  const shortened = [left, right].map((outcome) =>
    JSON.stringify({ ...outcome, messages: outcome.messages.slice(0, count) }),
  )
  return shortened[0] === shortened[1]
}

const CONNECTIONS_AT_A_TIME = 8

/** How many kinds of calls there are. */
export const KINDS = PLANS.length
