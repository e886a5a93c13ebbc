/**
 * A client that may not call learns so from its header fields alone, before a byte of the body has arrived.
 * This holds at every door that takes a body and needs a credential.
 */
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { HealthService } from '../../proto/gen/health/v1/health.ts'
import { AuthorizationServiceService } from '../../proto/gen/portcullis/v1/authorization.ts'
import { DirectoryServiceService } from '../../proto/gen/portcullis/v1/directory.ts'
import { type Method, type Methods, STATUS, StatusError } from '../../sidecar/contract/call.ts'
import { DEFAULT_LIMITS } from '../../sidecar/transports/http2/limits.ts'
import { startTransport } from '../../sidecar/transports/sockets/sockets-transport.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, passing, whenTheFileEnds } from '../support/suite/resources.ts'

const http = {
  public_url: 'https://identity.example',
  trusted_proxies: ['192.0.2.1'],
  authorize: true,
  authzen: true,
  console: true,
  connect: true,
  control_panel: {},
}
const config = newFile(JSON.stringify({ http }), 'portcullis.json')
const { sidecar } = await runSidecar({
  config,
  flags: { 'http.address': '127.0.0.1:0', 'http.connect': true },
})
const [host = '', port = ''] = (sidecar.httpAddress ?? '').split(':')

/** Sends header fields that announce a body, and nothing of the body. @returns the answer */
function answerTo(path: string, headers: Readonly<Record<string, string>>, method = 'POST'): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), host)
    const fields = Object.entries({ host: 'identity.example', 'content-length': '3000000', ...headers })
    socket.write(
      `${method} ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
    )
    let text = ''
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part
      // The sidecar waits for the rest of the request for a while.
      if (isWhole(text)) socket.destroy()
    })
    socket.on('error', reject).on('close', () => resolve(text))
  })
}

/** Whether an answer of HTTP/1.1 has all of its body. */
function isWhole(answer: string): boolean {
  const [head = '', ...body] = answer.split('\r\n\r\n')
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  if (length === undefined) return answer.endsWith('\r\n0\r\n\r\n')
  return body.join('\r\n\r\n').length >= Number(length) && body.length > 0
}

const PATHS = [AuthorizationServiceService, DirectoryServiceService, HealthService].flatMap((service) =>
  Object.values(service).map(({ path, requestStream, responseStream }) => ({
    path,
    streams: requestStream || responseStream,
    // Over HTTP/1.1 there are no streams in both directions.
    served: !requestStream,
  })),
)
const CONTRACT = PATHS.filter(({ served }) => served)

// A stream of messages that is coded as a whole is not a form of a call.
const codings = (type: string) => (/connect|grpc/.test(type) ? [] : [{ 'content-encoding': 'gzip' }])

test.each(CONTRACT)('$path, in every form', async ({ path, streams }) => {
  const forms = streams
    ? ['application/connect+json', 'application/connect+proto']
    : ['application/json', 'application/proto']
  for (const type of [...forms, 'application/grpc-web+proto', 'application/grpc-web+json'])
    for (const more of [{}, { authorization: `Bearer ${'x'.repeat(40)}` }, ...codings(type)]) {
      const answer = await answerTo(path, { 'content-type': type, ...more })
      // In an envelope the status comes at the end.
      const status = /^HTTP\/1.1 401 /.test(answer) || /unauthenticated|grpc-status: 16/.test(answer)
      expect({ type, more, status, answer }).toMatchObject({ status: true })
    }
})

test.each([
  '/access/v1/evaluation',
  '/access/v1/evaluations',
  '/access/v1/search/subject',
  '/access/v1/search/resource',
  '/access/v1/search/action',
])('%s', async (path) => {
  for (const more of [{}, { authorization: `Bearer ${'x'.repeat(40)}` }])
    expect(await answerTo(path, { 'content-type': 'application/json', ...more })).toMatch(/^HTTP\/1.1 401 /)
})

test('a login that is too long', async () => {
  // A login needs no credential, because its body is one. So its length alone can refuse it.
  expect(await answerTo('/identity/v3/auth/tokens', { 'content-type': 'application/json' })).toMatch(
    /^HTTP\/1.1 413 /,
  )
})

test.each(['/identity/v3/auth/tokens', '/identity/v3/auth/catalog'])('GET %s with a body', async (path) => {
  for (const more of [{}, { 'x-auth-token': 'x'.repeat(40) }])
    expect(await answerTo(path, { 'content-length': '1000', ...more }, 'GET')).toMatch(/^HTTP\/1.1 401 /)
})

test('a client that is still sending reads the refusal', async () => {
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      sent++
      controller.enqueue(new Uint8Array(1_000))
      // It never ends by itself.
      return passing(5)
    },
  })
  const answer = await fetch(`http://${sidecar.httpAddress}/portcullis.v1.AuthorizationService/CheckBatch`, {
    method: 'POST',
    body,
    duplex: 'half',
    headers: { 'content-type': 'application/json' },
  } as RequestInit)
  expect(answer.status).toBe(401)
  expect(await answer.json()).toMatchObject({ code: 'unauthenticated' })
  expect(sent).toBeGreaterThan(0)
})

test('/console/rules.json', async () => {
  for (const more of [{}, { authorization: `Bearer ${'x'.repeat(40)}` }])
    expect(await answerTo('/console/rules.json', more, 'GET')).toMatch(/^HTTP\/1.1 401 /)
})

test.each([
  ['GET', '/authorize'],
  ['GET', '/authorize/balance'],
  ['POST', '/ext-authz/api=balance/v1/items'],
  ['GET', '/ext-authz/api=balance/v1/items'],
])('%s %s, for a stranger', async (method, path) => {
  // A header that only a proxy may send does not make a proxy of a stranger.
  const claims = [{}, { authorization: `Bearer ${'x'.repeat(40)}` }, { 'x-forwarded-for': '192.0.2.1' }]
  for (const more of claims) expect(await answerTo(path, more, method)).toMatch(/^HTTP\/1.1 403 /)
})

test.each(['/console/session/login', '/console/factors/password'])(
  '%s, for a client that is not the page',
  async (path) => {
    const asked = { 'content-type': 'application/json', 'content-length': '1000' }
    expect(await answerTo(path, asked)).toMatch(/^HTTP\/1.1 400 /)
  },
)

/** Stays empty: a client is refused before anything of its request is here. */
const handled: string[] = []
const refused: Method[] = [
  {
    type: 'unary',
    handle: (request) => {
      handled.push('unary')
      return request
    },
  },
  { type: 'server_stream', handle: () => void handled.push('server_stream') },
  {
    type: 'bidi',
    handle: () => {
      handled.push('bidi')
      return { next: () => {}, end: () => {} }
    },
  },
]
const METHODS: Methods = new Map(
  refused.map((method) => [
    `/a.Service/${method.type}`,
    {
      ...method,
      admit: () => {
        throw new StatusError({ code: STATUS.UNAUTHENTICATED, message: 'refused' })
      },
    },
  ]),
)

test.each([...METHODS.keys()])('gRPC: %s', async (path) => {
  const transport = await startTransport(METHODS, {
    address: '127.0.0.1:0',
    certificates: undefined,
    connections: undefined,
    maxMessageBytes: 100_000,
    maxConcurrentStreams: 100,
    maxConnectionIdleMs: 60_000,
    maxConnectionAgeMs: 60_000,
    bounds: DEFAULT_LIMITS,
    statusOf: (error) => (error as StatusError).status,
    onExceeded: () => {},
  })
  whenTheFileEnds(() => transport.close(0))
  const session = connectHttp2(`http://${transport.address}`).on('error', () => {})
  const stream = session.request({
    ...{ ':method': 'POST', ':path': path, te: 'trailers' },
    'content-type': 'application/grpc',
  })
  const headers = await new Promise<Record<string, unknown>>((resolve) => stream.once('response', resolve))
  expect(headers).toMatchObject({ 'grpc-status': '16', 'grpc-message': 'refused' })
  expect(handled).toEqual([])
  stream.on('error', () => {}).destroy()
  session.destroy()
})
