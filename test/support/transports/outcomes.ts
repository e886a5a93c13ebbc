/**
 * A client's view of calls: Node's own HTTP/2, which shares no code with the server of either transport of
 * ours and says all that a library would hide.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { HANGS_MS } from '../suite/resources.ts'

/** A client's call, and its treatment of the answer. */
export interface SentCall {
  readonly what: string
  readonly headers: OutgoingHttpHeaders
  /** The body, in the parts in which it is written. */
  readonly parts: readonly Buffer[]
  /** The event after the last part: the end of the stream, nothing (the server ends it), or a reset. */
  readonly end: 'end' | 'open' | 'reset'
  /** Reads the answer only after this time. */
  readonly readsAfterMs: number
  /** After this many messages the client cancels. */
  readonly messagesMax: number
}

type Fields = Readonly<Record<string, string | readonly string[] | undefined>>

/** The outcome of a call. */
export interface Outcome {
  readonly http: number | undefined
  readonly headers: Fields
  readonly trailers: Fields
  /** In order, with their prefixes, as hex. */
  readonly messages: readonly string[]
  /** The code of RST_STREAM; 0: there was no error. */
  readonly reset: number
}

/**
 * Makes the calls at the same time, over a separate connection.
 *
 * @param windowBytes how much of each answer the client lets come at once
 */
export async function outcomesOf(
  address: string,
  calls: readonly SentCall[],
  windowBytes = 65_535,
): Promise<Outcome[]> {
  const session = connect(`http://${address}`, { settings: { initialWindowSize: windowBytes } })
  session.on('error', () => {})
  try {
    return await Promise.all(calls.map((call) => outcomeOf(session, call)))
  } finally {
    session.destroy()
  }
}

async function outcomeOf(session: ClientHttp2Session, call: SentCall): Promise<Outcome> {
  const stream = session.request(call.headers, { endStream: false })
  const limit = setTimeout(() => stream.destroy(new Error(`${call.what}: no end`)), HANGS_MS)
  let [headers, trailers]: IncomingHttpHeaders[] = [{}, {}]
  let reset: number | undefined
  // The code of a reset says the same.
  stream.on('error', () => {})
  stream.once('response', (fields) => {
    headers = fields
  })
  stream.once('trailers', (fields) => {
    trailers = fields
  })
  const messages = collect(stream, call)
  const closed = new Promise((resolve) => stream.once('close', resolve))
  // After its answer has ended, a call has nothing more to send.
  stream.once('end', () =>
    setImmediate(() => {
      reset = stream.rstCode ?? 0
      stream.destroy()
    }),
  )
  await write(stream, call)
  await closed
  clearTimeout(limit)
  const { ':status': status, ...fields } = headers as Fields
  return {
    http: status === undefined ? undefined : Number(status),
    headers: fields,
    trailers: { ...trailers } as Fields,
    messages,
    reset: reset ?? stream.rstCode ?? 0,
  }
}

async function write(stream: ClientHttp2Stream, { parts, end }: SentCall): Promise<void> {
  for (const part of parts) {
    if (stream.closed || stream.destroyed) return
    if (part.length > 0) stream.write(part)
    // The next part is a separate frame.
    if (parts.length > 1) await new Promise((resolve) => setImmediate(resolve))
  }
  if (end === 'end') stream.end()
  if (end === 'reset') stream.close(constants.NGHTTP2_CANCEL)
}

/** Reads messages as they come. */
function collect(stream: ClientHttp2Stream, { readsAfterMs, messagesMax }: SentCall): string[] {
  const found: string[] = []
  let rest: Buffer = Buffer.alloc(0)
  const read = () =>
    stream.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes])
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const end = 5 + rest.readUInt32BE(1)
        found.push(rest.subarray(0, end).toString('hex'))
        rest = rest.subarray(end)
        if (found.length === messagesMax) stream.close(constants.NGHTTP2_CANCEL)
      }
    })
  if (readsAfterMs === 0) read()
  else setTimeout(read, readsAfterMs)
  return found
}
