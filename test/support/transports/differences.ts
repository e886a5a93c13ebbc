/** Where the two transports of gRPC answer differently on purpose: what each does, and why. */
import { isDeepStrictEqual } from 'node:util'
import type { GeneratedCall } from './generated-calls.ts'
import type { Outcome } from './outcomes.ts'

/** As `grpc-status` has it. */
const [OK, CANCELLED, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL] = ['0', '1', '4', '12', '13']

/** The outcome of a call, without the parts that each transport may say differently. */
interface Compared {
  readonly http: number | undefined
  /** The fields of the headers and the trailers, but for those below. */
  readonly metadata: Readonly<Record<string, unknown>>
  readonly status: string | undefined
  readonly message: string | undefined
  readonly details: string | undefined
  readonly messages: readonly string[]
  readonly reset: number
}

interface Difference {
  readonly claim: string
  readonly because: string
  /** The calls that it is about, by what is odd with them. */
  readonly twist: RegExp
  readonly sockets: (outcome: Compared) => boolean
  readonly grpcJs: (outcome: Compared) => boolean
}

const any = () => true
const http = (status: number) => (outcome: Compared) => outcome.http === status
const ended = (status: string) => (outcome: Compared) => outcome.status === status

export const DIFFERENCES: readonly Difference[] = [
  {
    claim: 'a method of HTTP other than POST',
    because: 'gRPC is POST alone; grpc-js does not look',
    ...{ twist: /^the method /, sockets: http(405), grpcJs: any },
  },
  {
    claim: 'another protocol or codec with `application/grpc` at its beginning',
    because: 'messages would be taken for protobuf; grpc-js looks at the beginning alone',
    ...{ twist: /application\/grpc[-+](web|json)$/, sockets: http(415), grpcJs: any },
  },
  {
    claim: 'a content type in capitals',
    because: 'media types have no case (RFC 9110, §8.3.1); grpc-js thinks they have',
    ...{ twist: /APPLICATION/, sockets: (outcome) => outcome.http === 200, grpcJs: http(415) },
  },
  {
    claim: 'a timeout that has a valid end, or is looked at after the credentials',
    because: 'the grammar is of the whole value, and is checked first; grpc-js matches anywhere',
    ...{ twist: /^the malformed timeout/, sockets: ended(INTERNAL), grpcJs: any },
  },
  {
    claim: 'more than 128 fields of metadata',
    because: 'a client should learn the reason; Node resets the stream (ENHANCE_YOUR_CALM)',
    ...{ twist: /^more fields of metadata/, sockets: ended('8'), grpcJs: ({ reset }) => reset === 11 },
  },
  {
    claim: 'an unknown encoding that no message uses, or after the credentials',
    because: 'the client announced what cannot be read; grpc-js looks when it meets such a message',
    ...{ twist: /^an unknown encoding/, sockets: ended(UNIMPLEMENTED), grpcJs: any },
  },
  {
    claim: 'a flag of 2',
    because: 'the other bits are reserved; grpc-js takes the message for one that is not compressed',
    ...{ twist: /^a flag of 2$/, sockets: ended(INTERNAL), grpcJs: any },
  },
  {
    claim: 'a compressed message that was not announced',
    because: 'the specification says INTERNAL; grpc-js gives the bytes to the method',
    ...{ twist: /was not announced$/, sockets: ended(INTERNAL), grpcJs: any },
  },
  {
    claim: 'half a message at the end',
    because: 'the call is broken; grpc-js does not see bytes that are not a whole message',
    twist: /^half a message$/,
    sockets: ended(INTERNAL),
    grpcJs: ({ status = '' }) => [OK, UNIMPLEMENTED].includes(status),
  },
]

/** Says something of the transport alone: its clock, its codings. */
const OWN_FIELDS = new Set<string>([
  ...['grpc-status', 'grpc-message', 'grpc-status-details-bin'],
  ...['date', 'grpc-encoding', 'grpc-accept-encoding'],
])

/**
 * How the outcomes of a call differ. @returns undefined: they do not; otherwise the difference that is known,
 * or both outcomes
 */
export function differenceOf(
  call: GeneratedCall,
  sockets: Outcome,
  grpcJs: Outcome,
): Difference | readonly Compared[] | undefined {
  // Chance decides which bytes are on their way when a call is cancelled.
  if (call.end === 'reset') return undefined
  const [ours, theirs] = alike(compared(call, sockets), compared(call, grpcJs))
  // Whether so short a deadline passes before the answer is luck, too.
  const isLuck =
    /^the tiny timeout/.test(call.twist) &&
    [ours, theirs].some((each) => ended(DEADLINE_EXCEEDED)(each) || ended(CANCELLED)(each))
  if (isLuck || isDeepStrictEqual(ours, theirs)) return undefined
  return (
    DIFFERENCES.find(
      ({ twist, ...each }) => twist.test(call.twist) && each.sockets(ours) && each.grpcJs(theirs),
    ) ?? [ours, theirs]
  )
}

function compared({ messagesMax, path }: GeneratedCall, outcome: Outcome): Compared {
  // A client that has left does not see the end.
  const left = outcome.messages.length >= messagesMax
  const [messages, timeless] = [outcome.messages.slice(0, messagesMax), path.endsWith('/WatchChanges')]
  // Where no message comes before it, the status may come in the header fields.
  const fields = { ...outcome.headers, ...(!left && outcome.trailers) }
  // Each server chooses the words in which it refuses a request that is not a call.
  if (outcome.http !== 200) return { ...NOTHING, http: outcome.http, reset: outcome.reset }
  const { 'grpc-status': status, 'grpc-message': message, 'grpc-status-details-bin': bytes } = fields
  const details = bytes?.toString().replace(/=+$/, '')
  return {
    messages: timeless ? messages.map(withoutAge) : messages,
    ...{ http: outcome.http, details, status: status?.toString() },
    metadata: Object.fromEntries(Object.entries(fields).filter(([name]) => !OWN_FIELDS.has(name))),
    // The text of the service is the same. Each transport has different words for its texts, and grpc-js says
    // OK to a call with an answer.
    message: details && message && decodeURIComponent(message.toString()),
    reset: left ? 0 : outcome.reset,
  }
}

/** The field `valid_for`, in hexadecimal digits. */
const VALID_FOR_5_S = '22020805'

/**
 * The part of a message of `WatchChanges`, in hexadecimal digits, that does not say how long ago something
 * was. The ages are at the end of the message, behind `valid_for`, and the prefix has the length of all.
 */
function withoutAge(message: string): string {
  const end = message.lastIndexOf(VALID_FOR_5_S)
  return message.slice(10, end === -1 ? undefined : end)
}

const NOTHING = {
  ...{ metadata: {}, status: undefined, message: undefined, details: undefined, messages: [] },
} as const

/** How many messages come before a deadline is luck on a busy machine, and what they say is not. */
function alike(ours: Compared, theirs: Compared): [Compared, Compared] {
  if (ours.status !== DEADLINE_EXCEEDED || theirs.status !== DEADLINE_EXCEEDED) return [ours, theirs]
  const count = Math.min(ours.messages.length, theirs.messages.length)
  const cut = (outcome: Compared) => ({ ...outcome, messages: outcome.messages.slice(0, count) })
  return [cut(ours), cut(theirs)]
}
