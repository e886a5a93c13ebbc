/** Requests that never reach a target: those for other targets, ambiguous ones, and those of a browser. */
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { exchange, runEgress, startTarget } from '../support/sidecar/egress.ts'
import { eventually, passing } from '../support/suite/resources.ts'

const target = await startTarget()
const { egress } = await runEgress([{ path: '/a/', url: target.url }])
const port = Number(egress.split(':').at(-1))

const slow = await runEgress([{ url: target.url }], { times: { http: { headersMs: 100 } } })

/** A whole request: its lines, and what follows the headers. */
const raw = (lines: readonly string[], rest = '') => `${lines.join('\r\n')}\r\n\r\n${rest}`
const HOST = `Host: ${egress}`

interface Refused {
  readonly status: number
  readonly reason: string | undefined
}

function read(answer: string): Refused {
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]),
    reason: /\r\nportcullis-reason: (\S+)/i.exec(answer)?.[1],
  }
}

const INVALID = { status: 400, reason: 'REQUEST_INVALID' }
const FORBIDDEN = { status: 403, reason: 'HOST_NOT_ALLOWED' }
const METHOD = { status: 405, reason: 'METHOD_NOT_SUPPORTED' }

test.each<[claim: string, request: string, refused: Refused]>([
  [
    'a whole URL of another host',
    raw(['GET http://elsewhere.example/a/ HTTP/1.1', HOST, 'Connection: close']),
    FORBIDDEN,
  ],
  // It could get an answer in chunks, which it does not know.
  ['HTTP/1.0', raw(['GET /a/ HTTP/1.0', HOST]), INVALID],
  ['HTTP/1.0 that takes chunks', raw(['GET /a/ HTTP/1.0', HOST, 'TE: chunked']), INVALID],
  ['another version', raw(['GET /a/ HTTP/2.0', HOST]), INVALID],
  ['CONNECT', raw(['CONNECT elsewhere.example:443 HTTP/1.1', HOST]), METHOD],
  ['asterisk-form', raw(['OPTIONS * HTTP/1.1', HOST, 'Connection: close']), INVALID],
  ['TRACE, which echoes the credential', raw(['TRACE /a/ HTTP/1.1', HOST, 'Connection: close']), METHOD],
  [
    'a length and chunks',
    raw(
      ['POST /a/ HTTP/1.1', HOST, 'Content-Length: 5', 'Transfer-Encoding: chunked'],
      '0\r\n\r\nGET /a/x HTTP/1.1\r\n\r\n',
    ),
    INVALID,
  ],
  [
    'chunks and a length',
    raw(['POST /a/ HTTP/1.1', HOST, 'Transfer-Encoding: chunked', 'Content-Length: 5'], '0\r\n\r\n'),
    INVALID,
  ],
  [
    'two lengths',
    raw(['POST /a/ HTTP/1.1', HOST, 'Content-Length: 5', 'Content-Length: 6'], 'abcdef'),
    INVALID,
  ],
  [
    'two equal lengths',
    raw(['POST /a/ HTTP/1.1', HOST, 'Content-Length: 5', 'Content-Length: 5'], 'abcde'),
    INVALID,
  ],
  ['a list of lengths', raw(['POST /a/ HTTP/1.1', HOST, 'Content-Length: 5, 5'], 'abcde'), INVALID],
  ['a length with a sign', raw(['POST /a/ HTTP/1.1', HOST, 'Content-Length: +5'], 'abcde'), INVALID],
  [
    'another last coding than chunked',
    raw(['POST /a/ HTTP/1.1', HOST, 'Transfer-Encoding: chunked, gzip'], '0\r\n\r\n'),
    INVALID,
  ],
  [
    'a coding with a vertical tab',
    raw(['POST /a/ HTTP/1.1', HOST, 'Transfer-Encoding: \x0bchunked'], '0\r\n\r\n'),
    INVALID,
  ],
  ['a folded header', raw(['GET /a/ HTTP/1.1', HOST, 'X-A: b', ' c']), INVALID],
  [
    'a folded coding',
    raw(['POST /a/ HTTP/1.1', HOST, 'Transfer-Encoding:', ' chunked'], '0\r\n\r\n'),
    INVALID,
  ],
  ['a space before the colon', raw(['POST /a/ HTTP/1.1', HOST, 'Content-Length : 5'], 'abcde'), INVALID],
  ['a bare line feed', `GET /a/ HTTP/1.1\n${HOST}\n\n`, INVALID],
  ['a header with NUL', raw(['GET /a/ HTTP/1.1', HOST, 'X-A: b\0c']), INVALID],
  ['a path with NUL', raw(['GET /a/\0 HTTP/1.1', HOST]), INVALID],
  ['a path with bytes beyond ASCII', raw(['GET /a/\xe9 HTTP/1.1', HOST, 'Connection: close']), INVALID],
  ['dot segments', raw(['GET /a/../b HTTP/1.1', HOST, 'Connection: close']), INVALID],
  ['an encoded slash', raw(['GET /a/%2fb HTTP/1.1', HOST, 'Connection: close']), INVALID],
  ['HTTP/2 without TLS', raw(['PRI * HTTP/2.0'], 'SM\r\n\r\n'), INVALID],
  ['no Host', raw(['GET /a/ HTTP/1.1', 'Connection: close']), INVALID],
  ['two Hosts', raw(['GET /a/ HTTP/1.1', HOST, HOST, 'Connection: close']), INVALID],
  [
    'the Host of another server: DNS rebinding',
    raw(['GET /a/ HTTP/1.1', 'Host: evil.example', 'Connection: close']),
    FORBIDDEN,
  ],
  [
    'a Host with another port',
    raw(['GET /a/ HTTP/1.1', 'Host: 127.0.0.1:1', 'Connection: close']),
    FORBIDDEN,
  ],
  [
    'a page of a browser',
    raw(['GET /a/ HTTP/1.1', HOST, 'Origin: http://evil.example', 'Connection: close']),
    FORBIDDEN,
  ],
  [
    'an image in a page',
    raw(['GET /a/ HTTP/1.1', HOST, 'Sec-Fetch-Site: cross-site', 'Connection: close']),
    FORBIDDEN,
  ],
  [
    'WebSocket',
    raw(['GET /a/ HTTP/1.1', HOST, 'Connection: Upgrade, close', 'Upgrade: websocket']),
    { status: 501, reason: 'UPGRADE_NOT_SUPPORTED' },
  ],
  [
    'headers that are too long',
    raw(['GET /a/ HTTP/1.1', HOST, `X-A: ${'a'.repeat(17_000)}`]),
    { status: 431, reason: 'REQUEST_INVALID' },
  ],
])('%s is refused', async (_claim, request, refused) => {
  const before = target.received.length
  expect(read(await exchange(egress, request))).toEqual(refused)
  expect(target.received).toHaveLength(before)
})

describe('is let in:', () => {
  test.each([`localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`, `127.0.0.1:${port}`])(
    'Host %s',
    async (host) => {
      const answer = await exchange(egress, raw(['GET /a/ HTTP/1.1', `Host: ${host}`, 'Connection: close']))
      expect(read(answer)).toEqual({ status: 200, reason: undefined })
    },
  )

  test('one request after the other on a connection, refused ones included', async () => {
    const good = raw(['GET /a/ HTTP/1.1', HOST])
    const unknown = raw(['GET /b/ HTTP/1.1', HOST])
    const last = raw(['GET /a/ HTTP/1.1', HOST, 'Connection: close'])
    const answers = await exchange(egress, good + unknown + last)
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200'])
  })
})

test('after a refused request with a body the connection ends: nothing in the body is taken for a request', async () => {
  const before = target.received.length
  const smuggled = raw(['GET /a/smuggled HTTP/1.1', HOST])
  const request = raw(['POST /b/ HTTP/1.1', HOST, `Content-Length: ${smuggled.length}`], smuggled)
  expect(await exchange(egress, request)).toMatch(/^HTTP\/1\.1 404 [\s\S]*\r\nconnection: close\r\n/i)
  expect(target.received).toHaveLength(before)
})

test('headers that do not come to an end are given up', async () => {
  const answer = await exchange(slow.egress, `GET / HTTP/1.1\r\nHost: ${slow.egress}\r\nX-A:`)
  expect(read(answer)).toEqual({ status: 408, reason: 'REQUEST_INVALID' })
})

test('a small body that does not come to an end is given up, and its place on the route is free', async () => {
  const lines = ['POST / HTTP/1.1', `Host: ${slow.egress}`, 'Content-Length: 10', 'Connection: close']
  const answer = await exchange(slow.egress, raw(lines, 'half'))
  expect(read(answer)).toEqual({ status: 408, reason: 'BODY_LATE' })
})

test('a target gets no whole request from a client that leaves before the end of its body', async () => {
  const before = target.received.length
  const socket = connect({ host: '127.0.0.1', port })
  socket.write(raw(['POST /a/ HTTP/1.1', HOST, 'Content-Length: 10'], 'abc'))
  await passing(20)
  socket.destroy()
  // A later request has passed the same way.
  await exchange(egress, raw(['GET /a/later HTTP/1.1', HOST, 'Connection: close']))
  const found = await eventually(() => target.received.at(-1))
  expect(found.url).toBe('/later')
  expect(target.received).toHaveLength(before + 1)
})
