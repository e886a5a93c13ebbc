/** The HTTP listener: the health endpoints, and the protection from pages in a browser (DNS rebinding). */
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { runSidecar } from '../support/sidecar/sidecar.ts'

const { sidecar } = await runSidecar({ flags: { 'http.address': '127.0.0.1:0' } })
const address = sidecar.httpAddress ?? ''
const port = address.split(':').at(-1)

interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** Does not use `fetch`, because `fetch` sets the Host header itself. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request(
      `http://${address}`,
      { path, method, headers: { host: address, ...headers }, agent: false, setHost: false },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => {
          text += part
        })
        response.on('end', () =>
          resolve({
            status: response.statusCode,
            headers: response.headers,
            body: text === '' ? undefined : JSON.parse(text),
          }),
        )
      },
    )
      .on('error', reject)
      .end()
  })
}

const FORBIDDEN = {
  error: {
    code: 403,
    message: 'expected a Host header with a name of this server, and no Origin header',
    title: 'Forbidden',
  },
}
const NO_SUCH_PATH = { error: { code: 404, message: 'there is no such path', title: 'Not Found' } }

test.each<[claim: string, path: string, headers: Record<string, string>, status: number, body: unknown]>([
  ['the process lives', '/healthz', {}, 200, { status: 'ok' }],
  ['the sidecar is ready', '/readyz', {}, 200, { status: 'ready' }],
  ['localhost is this machine', '/healthz', { host: `localhost:${port}` }, 200, { status: 'ok' }],
  [
    'the case of a host name does not matter',
    '/healthz',
    { host: `LOCALHOST:${port}` },
    200,
    { status: 'ok' },
  ],
  ['an unknown path', '/metrics-of-others', {}, 404, NO_SUCH_PATH],
  ['a path in capitals', '/HEALTHZ', {}, 404, NO_SUCH_PATH],
  ['the host name of another server', '/healthz', { host: `example.com:${port}` }, 403, FORBIDDEN],
  [
    'a host name that begins with a name of this server',
    '/healthz',
    { host: `localhost.example.com:${port}` },
    403,
    FORBIDDEN,
  ],
  ['another port', '/healthz', { host: 'localhost:1' }, 403, FORBIDDEN],
  ['an empty host', '/healthz', { host: '' }, 403, FORBIDDEN],
  ['a page from another origin', '/healthz', { origin: 'https://example.com' }, 403, FORBIDDEN],
  ['a page from this server', '/healthz', { origin: `http://${address}` }, 403, FORBIDDEN],
  ['a page with the origin `null`', '/healthz', { origin: 'null' }, 403, FORBIDDEN],
  [
    'the host name of another server and an unknown path',
    '/nothing',
    { host: 'example.com' },
    403,
    FORBIDDEN,
  ],
])('%s, and no page of another origin may read the answer', async (_claim, path, headers, status, body) => {
  const answer = await get(path, headers)
  expect(answer).toMatchObject({ status, body })
  expect(Object.keys(answer.headers).filter((name) => /^access-control-/.test(name))).toEqual([])
})

test('a method other than GET and HEAD is refused, and the response names the allowed methods', async () => {
  expect(await get('/healthz', {}, 'POST')).toMatchObject({
    status: 405,
    headers: { allow: 'GET, HEAD, OPTIONS' },
  })
})

test.each(['0.0.0.0:0', '192.0.2.1:0', 'unix:/tmp/x.sock'])(
  'an address that other machines can reach is refused: %s',
  async (http) => {
    await expect(runSidecar({ flags: { 'http.address': http } })).rejects.toThrow(
      new Error(
        `http address ${http}: expected HOST:PORT of this machine (127.0.0.1, [::1] or localhost), or off; an address that other machines can reach needs http.tls`,
      ),
    )
  },
)

test('an address in use is reported, and gRPC does not keep running', async () => {
  const starting = runSidecar({ flags: { 'http.address': address } })
  await expect(starting).rejects.toThrow(new Error(`http address ${address} is in use`))
  // The sidecar that uses the address still answers.
  expect(await get('/healthz')).toMatchObject({ status: 200 })
})

test('if HTTP is off, the sidecar has no HTTP address', async () => {
  expect((await runSidecar()).sidecar.httpAddress).toBeUndefined()
})
