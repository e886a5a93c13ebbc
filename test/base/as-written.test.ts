/**
 * HTTP as clients and servers of others write it: names in capitals, an interim answer, blanks, codings, the
 * mark of UTF-8, and targets with their host.
 */
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { IdentityClient } from '../../sidecar/authority/upstream/identity-client.ts'
import { loginBody, TOKENS } from '../support/identity/identity.ts'
import { CALLER_TOKEN, exchange, runEgress } from '../support/sidecar/egress.ts'
import { newFile, whenTheFileEnds } from '../support/suite/resources.ts'

const CHECK = '/portcullis.v1.AuthorizationService/Check'
const ORIGIN = 'https://console.example'

/** A server that answers each request with these bytes. @returns its URL, and the requests that it got */
async function answering(bytes: string): Promise<{ readonly url: string; readonly requests: string[] }> {
  const requests: string[] = []
  const server = createServer((socket) => {
    socket
      .on('error', () => {})
      .on('data', (data) => {
        requests.push(String(data))
        socket.write(bytes)
      })
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  whenTheFileEnds(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/`, requests }
}

const odd = await answering(
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n' +
    'HTTP/1.1 201 Created\r\nX-Subject-Token: opaque \t\r\nX-Odd_Name: 1\r\nx-small: 1\r\nContent-Length: 2 \r\n\r\nok',
)
const { sidecar } = await runEgress([{ path: '/odd/', url: odd.url }], {
  flags: {
    ...{ 'http.address': '127.0.0.1:0', 'http.connect': true, 'http.authzen': true, 'http.console': true },
    ...{ 'health.address': '127.0.0.1:0', 'health.metrics': true },
    ...{ 'traces.otlp.url': 'http://127.0.0.1:9/v1/traces' },
  },
  more: {
    http: {
      ...{ authorize: true, trusted_proxies: ['127.0.0.1'], jwks: true, cors: { origins: [ORIGIN] } },
      proxy_secret_file: newFile('proxy-secret-0123456789abcdef-0123456789'),
    },
  },
})
const LISTENERS = {
  http: sidecar.httpAddress ?? '',
  egress: sidecar.egressAddress ?? '',
  health: sidecar.healthAddress ?? '',
  grpc: sidecar.grpcAddress,
}
type Listener = keyof typeof LISTENERS

interface Wish {
  readonly target: string
  readonly method?: string
  readonly host?: string
  readonly headers?: readonly string[]
  readonly body?: string
}

/** Asks in these bytes. @returns the answer in the bytes that arrive */
function ask(to: Listener, { target, method = 'GET', host, headers = [], body = '' }: Wish): Promise<string> {
  const lines = [`Host: ${host ?? LISTENERS[to]}`, 'Connection: close', ...headers]
  if (body !== '') lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
  const bytes = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  return exchange(LISTENERS[to], bytes.toString('latin1'))
}

const statusOf = (answer: string) => Number(answer.split(' ')[1])
const JSON_TYPE = 'Content-Type: application/json'
const CALLER = `Authorization: Bearer ${CALLER_TOKEN}`
const LOGIN = JSON.stringify(loginBody({ password: 'wrong' }))

describe('names of headers over HTTP/1.1', () => {
  test.each<[to: Listener, wish: Wish, names: string[]]>([
    ['http', { target: '/readyz' }, ['X-Openstack-Request-Id', 'Cache-Control', 'Vary', 'Content-Type']],
    ['http', { target: TOKENS, method: 'POST', headers: [JSON_TYPE], body: LOGIN }, ['WWW-Authenticate']],
    ['http', { target: '/healthz', method: 'PUT' }, ['Allow']],
    ['http', { target: '/healthz', host: 'a b' }, []],
    ['http', { target: '/healthz', headers: ['a b: c'] }, ['X-Openstack-Request-Id', 'Connection']],
    ['http', { target: CHECK, method: 'POST', headers: [JSON_TYPE], body: '{}' }, ['Content-Length']],
    ['http', { target: CHECK, method: 'POST', headers: ['Content-Type: a/b'], body: '{}' }, ['Accept-Post']],
    [
      'http',
      {
        target: CHECK,
        method: 'OPTIONS',
        headers: [`Origin: ${ORIGIN}`, 'Access-Control-Request-Method: POST'],
      },
      ['Access-Control-Allow-Origin', 'Access-Control-Allow-Headers', 'Access-Control-Max-Age'],
    ],
    ['http', { target: '/access/v1/evaluation', method: 'POST', headers: [JSON_TYPE], body: '{}' }, []],
    ['http', { target: '/authorize/balance' }, []],
    ['http', { target: '/.well-known/jwks.json' }, ['Cache-Control']],
    ['http', { target: '/console/' }, ['Content-Security-Policy', 'X-Content-Type-Options', 'ETag']],
    ['health', { target: '/metrics' }, ['Content-Type', 'Cache-Control', 'Connection']],
    ['health', { target: '/readyz', method: 'PUT' }, ['Allow']],
    ['egress', { target: '/nothing' }, ['Portcullis-Reason', 'Cache-Control', 'Content-Length']],
    ['egress', { target: '/odd/', headers: ['a b: c'] }, ['Portcullis-Reason', 'Connection']],
    ['grpc', { target: '/' }, ['Content-Type', 'Content-Length', 'Connection']],
  ])('%s answers %j as documents write them', async (to, wish, expected) => {
    const [head = ''] = (await ask(to, wish)).split('\r\n\r\n')
    const names = head
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(':')[0] ?? '')
    expect(names).toEqual(expect.arrayContaining(expected))
    expect(names.filter((name) => /(^|-)[a-z]/.test(name))).toEqual([])
  })
})

describe('an answer of another server', () => {
  test('goes through egress as it was written, without what comes before it and blanks after values', async () => {
    const answer = await ask('egress', { target: '/odd/' })
    expect(answer).toMatch(/^HTTP\/1\.1 201 /)
    expect(answer).not.toContain('X-Interim')
    for (const line of ['X-Subject-Token: opaque', 'X-Odd_Name: 1', 'x-small: 1', 'Content-Length: 2'])
      expect(answer).toContain(`\r\n${line}\r\n`)
    expect(answer).toMatch(/\r\n\r\nok$/)
  })

  const clientOf = (url: string) => {
    const client = new IdentityClient({ name: 'a', tokensUrl: url, ca: undefined, timeoutMs: 60_000 })
    whenTheFileEnds(() => client.close())
    return client
  }

  test('is read by the client of identity endpoints, which asks for no coding', async () => {
    const { status, headers, body } = await clientOf(odd.url).logIn({})
    expect([status, headers['x-subject-token'], body]).toEqual([201, 'opaque', 'ok'])
    expect(odd.requests.at(-1)).toMatch(/\r\naccept-encoding: identity\r\n/i)
  })

  test.each([
    ['gzip', 'gzip'],
    ['GZIP, br', 'an unknown coding'],
  ])('in %s is an error that names %s', async (coding, named) => {
    const { url } = await answering(
      `HTTP/1.1 201 C\r\nContent-Encoding: ${coding}\r\nContent-Length: 0\r\n\r\n`,
    )
    await expect(clientOf(url).logIn({})).rejects.toThrow(
      `expected a body without Content-Encoding, and it has ${named}`,
    )
  })
})

test.each<[path: string, status: number, body: string]>([
  [TOKENS, 401, LOGIN],
  ['/access/v1/evaluation', 400, '{"subject": {}}'],
  [CHECK, 400, '{"api": "balance"}'],
])('%s reads over a mark of UTF-8 (%i), and refuses a coding', async (target, status, body) => {
  const post = { method: 'POST', target, headers: [JSON_TYPE, CALLER] }
  const plain = await ask('http', { ...post, body })
  expect(statusOf(plain)).toBe(status)
  const marked = await ask('http', { ...post, body: `\ufeff${body}` })
  expect(marked.split('\r\n\r\n')[1]).toBe(plain.split('\r\n\r\n')[1])
  // Connect has an answer of its own for it.
  const refused = target === CHECK ? [501, 'content-encoding'] : [415, 'Content-Encoding']
  const coded = await ask('http', { ...post, headers: [...post.headers, 'Content-Encoding: br'], body })
  expect([statusOf(coded), coded]).toEqual([refused[0], expect.stringContaining(`${refused[1]}: expected`)])
})

test('a stream in a coding is refused, because its messages have their own', async () => {
  const headers = ['Content-Type: application/grpc-web+proto', 'Content-Encoding: gzip']
  expect(statusOf(await ask('http', { method: 'POST', target: CHECK, headers, body: 'aaaaa' }))).toBe(415)
})

test.each<[to: Listener, path: string, status: number]>([
  ['http', '/healthz', 200],
  ['http', '/identity/v3?a=b', 200],
  ['egress', '/odd/', 201],
  ['health', '/readyz?verbose', 200],
])('%s takes %s with its host', async (to, path, status) => {
  const host = LISTENERS[to]
  for (const target of [`http://${host}${path}`, `HTTP://${host.toUpperCase()}${path}`])
    expect(statusOf(await ask(to, { target }))).toBe(status)
  if (to === 'health') return
  for (const wish of [
    { target: `http://evil.example${path}` },
    { target: `http://${host}${path}`, host: 'evil.example' },
    { target: `http://evil@${host}${path}` },
    { target: `http://evil.example${path}`, host: 'evil.example' },
  ])
    expect(statusOf(await ask(to, wish)), JSON.stringify(wish)).toBe(403)
})

test('a preflight allows the fields of a trace where traces are on', async () => {
  const headers = [`Origin: ${ORIGIN}`, 'Access-Control-Request-Method: POST']
  const answer = await ask('http', { method: 'OPTIONS', target: CHECK, headers })
  expect(answer).toMatch(/\r\nAccess-Control-Allow-Headers: .*traceparent, *tracestate\r\n/)
  expect(statusOf(answer)).toBe(204)
})
