/**
 * The program of an attacker who asks for little and holds much: connections, streams, answers that are not
 * read, messages that do not end. It attacks until its input ends, and then prints how its connections and
 * calls have ended.
 */
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { encoded } from '../contract/black-box.ts'
import { field } from '../contract/protobuf-bytes.ts'
import { callOf, FRAME, frame, many, messageFrame, open, PREFACE } from '../http2/frames.ts'
import { endpointOf } from '../interop/raw-connection.ts'
import { reportAndEnd } from './attack-report.ts'

/** The calls that an attacker holds. A row of a scenario. */
export type Holding = {
  readonly connections: number
} & (
  | { readonly type: 'idle_grpc' | 'idle_http' | 'unfinished_logins' | 'unread_requests' }
  /** A `CheckStream` on each connection, with this many questions. */
  | { readonly type: 'check_streams'; readonly questions: number }
  /** Calls of each connection. */
  | {
      readonly type: 'unread_batches' | 'watches' | 'unfinished_checks' | 'empty_headers'
      readonly calls: number
    }
)

/** Size of the largest message that is allowed. */
const MESSAGE_BYTES = 4_194_304

const SERVICE = '/portcullis.v1.AuthorizationService'
const claims = { api: 'balance', token: { kind: 'static_token', scope: { account: '123456' } } }

/** Time before a connection that was closed is opened again, or a call made again, in milliseconds. */
const AGAIN_MS = 20

/**
 * The pause before a watch that was refused is asked for again. The attack measures what it holds, and not
 * how fast it asks.
 */
const WATCH_AGAIN_MS = 10_000

const endings: Record<string, number> = {}
let over = false

function ended(how: string): void {
  endings[how] = (endings[how] ?? 0) + 1
}

/** Keeps a connection open on which these bytes were sent, and reads what comes, by default. */
async function hold(address: string, bytes: Buffer, reads = true): Promise<void> {
  while (!over) {
    const socket: Socket = connect(endpointOf(address)).on('error', () => {})
    if (reads) socket.resume()
    else socket.pause()
    socket.write(bytes)
    // A client does not notice what it does not read, either.
    const closed = new Promise<string>((resolve) => socket.once('close', () => resolve('connections closed')))
    ended(await closed)
    await sleep(AGAIN_MS)
  }
}

/** Keeps a connection open with this many calls on it, and makes each again that has ended. */
async function call(address: string, calls: number, { path, message, window, ends }: Call): Promise<void> {
  while (!over) {
    const session = connectHttp2(`http://${address}`, {
      settings: { initialWindowSize: window ?? 65_535, enablePush: false },
      maxSessionMemory: 1_000,
    })
    const closed = new Promise<void>((resolve) => session.once('close', () => resolve()))
    session.on('error', () => {})
    await Promise.race([closed, new Promise((resolve) => session.once('remoteSettings', resolve))])
    for (let index = 0; index < calls; index++) void repeat(session, path, message, ends)
    await closed
    ended('connections closed')
    await sleep(AGAIN_MS)
  }
}

interface Call {
  readonly path: string
  readonly message: Buffer
  /** The window of each stream; absent: the usual one. */
  readonly window?: number
  /** Whether the message is the whole request. */
  readonly ends: boolean
}

async function repeat(
  session: ClientHttp2Session,
  path: string,
  message: Buffer,
  ends: boolean,
): Promise<void> {
  while (!over && !session.closed && !session.destroyed) {
    const stream = session.request({
      ':method': 'POST',
      ':path': `${SERVICE}/${path}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    let status: unknown
    const note = (headers: Record<string, unknown>) => {
      status = headers['grpc-status'] ?? status
    }
    stream
      .on('response', note)
      .on('trailers', note)
      .on('error', () => {})
      .resume()
    stream.write(message)
    if (ends) stream.end()
    await new Promise((resolve) => stream.once('close', resolve))
    const { rstCode } = stream
    ended(
      status === undefined
        ? `calls reset with ${rstCode ?? constants.NGHTTP2_NO_ERROR}`
        : `calls ended with ${status}`,
    )
    await sleep(path === 'WatchMatrix' ? WATCH_AGAIN_MS : AGAIN_MS)
  }
}

/** As many empty headers as a message has room for: two bytes each. */
function emptyHeaders(): Buffer {
  return messageFrame(field(2, Buffer.alloc(MESSAGE_BYTES - 16, Buffer.of(0x0a, 0))))
}

/** A message of the largest size without its last byte. */
function unfinished(): Buffer {
  return messageFrame(Buffer.alloc(MESSAGE_BYTES, 1)).subarray(0, -1)
}

/** A stream of checks that goes on. */
function checkStream(questions: number): Buffer {
  const payload = messageFrame(encoded('CheckStreamRequest', { check: claims }))
  return Buffer.concat([
    PREFACE,
    open(1, callOf(`${SERVICE}/CheckStream`)),
    many(questions, () => frame(FRAME.data, { stream: 1, payload })),
  ])
}

function attack(grpc: string, http: string, holding: Holding): Promise<void> {
  const login = `POST /identity/v3/auth/tokens HTTP/1.1\r\nHost: ${http}\r\nContent-Type: application/json\r\nContent-Length: 114688\r\n\r\n`
  const get = `GET /identity/v3 HTTP/1.1\r\nHost: ${http}\r\n\r\n`
  switch (holding.type) {
    case 'idle_grpc':
      return hold(grpc, PREFACE)
    case 'check_streams':
      return hold(grpc, checkStream(holding.questions))
    case 'idle_http':
      return hold(http, Buffer.from(get))
    case 'unfinished_logins':
      return hold(http, Buffer.from(login + 'x'.repeat(114_687)))
    case 'unread_requests':
      return hold(http, Buffer.from(get.repeat(10_000)), false)
    case 'unread_batches': {
      const message = messageFrame(encoded('CheckBatchRequest', { checks: Array(1_000).fill(claims) }))
      return call(grpc, holding.calls, { path: 'CheckBatch', message, window: 0, ends: true })
    }
    case 'watches':
      return call(grpc, holding.calls, {
        path: 'WatchMatrix',
        message: messageFrame(Buffer.alloc(0)),
        ends: true,
      })
    case 'unfinished_checks':
      return call(grpc, holding.calls, { path: 'Check', message: unfinished(), ends: false })
    case 'empty_headers':
      return call(grpc, holding.calls, { path: 'Check', message: emptyHeaders(), ends: true })
  }
}

if (import.meta.main) {
  const { grpc, http, holding } = JSON.parse(process.argv[2] ?? '') as {
    grpc: string
    http: string
    holding: Holding
  }
  setPriority(5)
  process.stdin.resume().on('end', () => {
    over = true
    reportAndEnd(endings)
  })
  for (let connection = 0; connection < holding.connections; connection++) void attack(grpc, http, holding)
  await sleep(500)
  process.stdout.write('attacking\n')
}
