/**
 * Invalid HTTP, and requests that are too large or too slow: the error has Keystone's format, and the server
 * keeps answering.
 */
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { about, errorOf, startIdentity, TOKENS } from '../support/identity/identity.ts'

const sidecar = await startIdentity()
const { ask, port, tokenFor, running } = sidecar

/** Sends bytes, and resolves with everything that the server sends until it closes the connection. */
function exchange(sent: string, to = port): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(to, '127.0.0.1')
    let received = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      received += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
    socket.write(sent)
  })
}

const hostOf = (to: number) => `Host: 127.0.0.1:${to}\r\n`
const postTo = (to: number) => `POST ${TOKENS} HTTP/1.1\r\n${hostOf(to)}Content-Type: application/json\r\n`
const HOST = hostOf(port)
const POST = postTo(port)
const CLOSE = 'Connection: close\r\n'
const bodyOf = (response: string) => JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4))

afterEach(async () => {
  expect((await ask({ path: '/healthz' })).status).toBe(200)
  expect(running.logLines.filter((line) => JSON.parse(line).level >= 50)).toEqual([])
})

test.each([
  ['bytes that are not HTTP', 'hello\r\n\r\n', 400],
  ['TLS', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03', 400],
  ['no Host', `GET /identity HTTP/1.1\r\n${CLOSE}\r\n`, 400],
  ['two equal Hosts', `GET /identity HTTP/1.1\r\n${HOST}${HOST}${CLOSE}\r\n`, 400],
  ['a second Host', `GET /identity HTTP/1.1\r\n${HOST}${CLOSE}host: evil.example\r\n\r\n`, 400],
  ['a Host before ours', `GET /healthz HTTP/1.1\r\nHost: evil.example\r\n${CLOSE}${HOST}\r\n`, 400],
  ['a header without a name', `GET /identity HTTP/1.1\r\n${HOST}: x\r\n\r\n`, 400],
  ['a control character in a header', `GET /identity HTTP/1.1\r\n${HOST}X-Auth-Token: a\x01b\r\n\r\n`, 400],
  ['two lengths', `${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}`, 400],
  ['a length and chunks', `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`, 400],
  ['a chunk without a size', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
  ['headers that are too large', `GET /identity HTTP/1.1\r\n${HOST}X: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
])('%s: %s', async (_claim, sent, status) => {
  const received = await exchange(sent)
  expect(received.split('\r\n')[0]).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  // If only the Host header is missing, Node itself answers.
  if (!received.includes('{')) return
  expect(bodyOf(received).error).toMatchObject({ code: status, message: expect.any(String) })
  expect(received).toMatch(/^X-Openstack-Request-Id: req-[0-9a-f-]{36}\r$/m)
})

test('a token header that is repeated is refused', async () => {
  const token = await tokenFor({})
  const line = `X-Auth-Token: ${token}\r\n`
  const get = (lines: string) =>
    exchange(`GET ${TOKENS}?nocatalog HTTP/1.1\r\n${HOST}${CLOSE}X-Subject-Token: ${token}\r\n${lines}\r\n`)
  expect(await get(line)).toMatch(/^HTTP\/1.1 200 /)
  expect(await get(line + line)).toMatch(/^HTTP\/1.1 401 /)
  expect(await get(line + line.toLowerCase())).toMatch(/^HTTP\/1.1 401 /)
})

test('HTTP/1.0 without a Host is refused', async () => {
  expect(await exchange('GET /identity/v3 HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 403 /)
})

test('a client that disconnects in the middle of a body leaves nothing behind', async () => {
  await new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`${POST}Content-Length: 100\r\n\r\n{"auth":`, () => socket.destroy())
    })
    socket.on('close', () => resolve())
  })
})

test('the server does not wait for a slow client', async () => {
  const impatient = await startIdentity({
    times: { http: { headersMs: 100, requestMs: 200, checkIntervalMs: 50 } },
  })
  const received = await Promise.all([
    exchange('GET /identity HTTP/1.1\r\nHos', impatient.port),
    exchange(`${postTo(impatient.port)}Content-Length: 1000\r\n\r\n{"auth":`, impatient.port),
  ])
  for (const response of received) {
    expect(response).toMatch(/^HTTP\/1.1 408 /)
    expect(bodyOf(response)).toEqual(
      errorOf(408, 'Request Timeout', expect.stringMatching(/^expected the complete request/)),
    )
  }
})

test('many tokens over one connection', async () => {
  const token = await tokenFor({})
  const headers = about(token)
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  const one = `HEAD ${TOKENS} HTTP/1.1\r\n${HOST}${lines}`
  const received = await exchange(`${`${one}\r\n`.repeat(3)}${one}${CLOSE}\r\n`)
  expect(received.match(/HTTP\/1.1 200 /g)).toHaveLength(4)
})
