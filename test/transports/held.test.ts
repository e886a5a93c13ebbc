/**
 * The most that a client may hold, on both transports alike: connections, messages that do not end, answers
 * that it does not read.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { encoded } from '../support/contract/black-box.ts'
import { messageFrame, PREFACE } from '../support/http2/frames.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, whenTheFileEnds } from '../support/suite/resources.ts'

const CLAIMS = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }
const BATCH = messageFrame(encoded('CheckBatchRequest', { checks: Array(200).fill(CLAIMS) }))

const STREAMED = messageFrame(encoded('CheckStreamRequest', { id: '1', check: CLAIMS }))

function open(address: string, initialWindowSize = 65_535): ClientHttp2Session {
  const session = connectHttp2(`http://${address}`, { settings: { initialWindowSize } }).on('error', () => {})
  whenTheFileEnds(() => session.destroy())
  return session
}

function call(session: ClientHttp2Session, method: string, message: Buffer): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/portcullis.v1.AuthorizationService/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  stream.on('error', () => {}).resume()
  stream.write(message)
  return stream
}

/** The bounds at which something was refused, as the log says it. */
function refusedAt(logLines: readonly string[]): string[] {
  const refusals = logLines
    .map((line) => JSON.parse(line) as { readonly msg: string; readonly exceeded: object })
    .filter(({ msg }) => msg === 'connections or calls were refused because a limit was reached')
  return [...new Set(refusals.flatMap(({ exceeded }) => Object.keys(exceeded)))]
}

/** A message of this many bytes without its last one. */
const unfinished = (bytes: number) => messageFrame(Buffer.alloc(bytes)).subarray(0, -1)

describe.each(['sockets', 'grpc-js'])('on %s', (transport) => {
  const run = (limits: Readonly<Record<string, number>> = {}) =>
    runSidecar({
      flags: {
        'grpc.transport': transport,
        // A client that delays its end fails the test.
        drain_ms: 600_000,
        ...Object.fromEntries(Object.entries(limits).map(([name, value]) => [`grpc.${name}`, value])),
      },
    })

  test('beyond the bound of connections, the one that is idle for longest is closed', async () => {
    const { address, client, logLines } = await run({ max_connections: 4 })
    const [host = '', port = ''] = address.split(':')
    const sockets = Array.from({ length: 8 }, () => {
      const socket = connect(Number(port), host)
        .on('error', () => {})
        .resume()
      whenTheFileEnds(() => void socket.destroy())
      socket.write(PREFACE)
      return socket
    })
    await eventually(() => sockets.filter(({ closed }) => closed).length === 4)
    expect((await client.check(CLAIMS as never)).allowed).toBe(true)
    await eventually(() => sockets.filter(({ closed }) => !closed).length === 3)
    expect(refusedAt(logLines)).toEqual(['connections'])
  })

  test('an idle connection that is closed learns so first, so that no call of its client is lost', async () => {
    const { address } = await run({ max_connections: 1 })
    const session = open(address)
    const ending = new Promise((resolve) => session.once('goaway', resolve))
    const check = call(session, 'Check', messageFrame(encoded('CheckRequest', CLAIMS))).end()
    await eventually(() => check.closed)
    open(address)
    expect(await ending).toBe(0)
  })

  test('a message that does not arrive in time ends its call, and not the others', async () => {
    const { address, logLines } = await run({ request_timeout_ms: 200 })
    const session = open(address)
    const late = call(session, 'Check', unfinished(10_000))
    const streaming = call(session, 'CheckStream', Buffer.alloc(0))
    await eventually(() => late.closed)
    expect(streaming.closed).toBe(false)
    expect(refusedAt(logLines)).toEqual(['request_time'])
    session.destroy()
  })

  if (transport === 'sockets')
    test('unfinished messages beyond the bytes of a connection wait for the others', async () => {
      const bounds = {
        max_message_bytes: 65_536,
        max_connection_buffer_bytes: 65_536,
        request_timeout_ms: 200,
      }
      const { address, logLines } = await run(bounds)
      const session = open(address)
      // One after the other comes so far that its last byte is late.
      const streams = Array.from({ length: 10 }, () => call(session, 'Check', unfinished(60_000)))
      await eventually(() => streams.every(({ closed }) => closed))
      expect(streams.map(({ rstCode }) => rstCode)).toEqual(streams.map(() => 0))
      expect(refusedAt(logLines)).toEqual(['request_time'])
      session.destroy()
    })

  test('of 1,500 streams that are held, those beyond the bound wait, and others are answered', async () => {
    const { address, client } = await run()
    const session = open(address)
    const ended: unknown[] = []
    session.on('goaway', (code) => ended.push(code)).on('close', () => ended.push('closed'))
    const answered = new Set<ClientHttp2Stream>()
    const streams = Array.from({ length: 1_500 }, () => {
      const stream = call(session, 'CheckStream', STREAMED)
      return stream.on('data', () => answered.add(stream))
    })
    await eventually(() => answered.size === 1_000)
    expect((await client.check(CLAIMS as never)).allowed).toBe(true)
    expect(answered.size).toBe(1_000)
    // The first ones make room for the rest.
    for (const stream of answered) stream.end()
    await eventually(() => answered.size === streams.length)
    expect(streams.filter(({ rstCode }) => rstCode)).toEqual([])
    expect(ended).toEqual([])
    session.destroy()
  })

  test('a client that leaves an answer unread for long is disconnected', async () => {
    const { address, logLines } = await run({ reader_timeout_ms: 200 })
    const session = open(address, 0)
    call(session, 'CheckBatch', BATCH).end()
    await eventually(() => session.destroyed)
    expect(refusedAt(logLines)).toEqual(['reader_time'])
  })

  test('where all hold too much, connections end until it fits, and new ones are served', async () => {
    const { address, client, logLines } = await run({ max_buffer_bytes: 1_048_576 })
    const sessions = Array.from({ length: 10 }, () => open(address, 0))
    for (const session of sessions)
      for (let count = 0; count < 20; count++) call(session, 'CheckBatch', BATCH).end()
    // The bytes that each connection may always send are too many together.
    await eventually(() => sessions.some(({ destroyed }) => destroyed))
    expect((await client.check(CLAIMS as never)).allowed).toBe(true)
    const batches = await Promise.all(
      Array.from({ length: 5 }, () => client.checkBatch(Array(200).fill(CLAIMS) as never)),
    )
    expect(batches.map(({ length }) => length)).toEqual(Array(5).fill(200))
    expect(refusedAt(logLines)).toEqual(['buffered_bytes'])
    for (const session of sessions) session.destroy()
  })

  test.each(['before', 'while'])(
    'a client that leaves %s the server stops keeps nothing open',
    async (when) => {
      const { address, sidecar } = await run()
      const session = open(address)
      call(session, 'Check', unfinished(10_000))
      const streaming = call(session, 'CheckStream', STREAMED)
      await new Promise((resolve) => streaming.once('data', resolve))
      session.destroy()
      if (when === 'before') await new Promise((resolve) => session.once('close', resolve))
      await sidecar.close()
    },
  )
})

test('grpc-js: unfinished messages are refused beyond the bytes of a connection', async () => {
  const { address, logLines } = await runSidecar({
    flags: {
      'grpc.transport': 'grpc-js',
      'grpc.max_message_bytes': 65_536,
      'grpc.max_connection_buffer_bytes': 65_536,
    },
  })
  const session = open(address)
  const streams = Array.from({ length: 10 }, () => call(session, 'Check', unfinished(60_000)))
  // Twice the largest message has room, whatever the configuration says.
  await eventually(() => streams.filter(({ rstCode }) => rstCode === 11).length >= 7)
  expect(streams.filter(({ closed }) => !closed).length).toBeGreaterThan(0)
  expect(refusedAt(logLines)).toEqual(['buffered_bytes'])
  session.destroy()
})

test('grpc-js: calls end whose answers are more than a connection may leave unread', async () => {
  const { address, logLines } = await runSidecar({
    flags: {
      'grpc.transport': 'grpc-js',
      'grpc.max_message_bytes': 65_536,
      'grpc.max_connection_buffer_bytes': 65_536,
    },
  })
  const session = open(address, 0)
  const streams = Array.from({ length: 20 }, () => call(session, 'CheckBatch', BATCH).end())
  await eventually(() => streams.some(({ rstCode }) => rstCode === 11))
  expect(streams.filter(({ closed }) => !closed).length).toBeGreaterThan(0)
  expect(refusedAt(logLines)).toContain('buffered_bytes')
  session.destroy()
})
