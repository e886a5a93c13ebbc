/** The health listener answers probes and nothing else, and no client keeps a probe from it. */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type HealthState, healthOfAll, isReady } from '../../sidecar/base/health.ts'
import { readConfig, startSidecar } from '../../sidecar/index.ts'
import {
  CONNECTIONS_MAX,
  HEADER_BYTES_MAX,
  startHealthServer,
} from '../../sidecar/signals/health/health-server.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const SERVING: HealthState = { phase: 'serving', problems: {}, matrixDigests: ['sha256:a'] }

/** A listener without a sidecar, with what it is asked about. */
async function listenerFor(source: { state: HealthState }, connectionMs?: number) {
  const server = await startHealthServer(source, '127.0.0.1:0', connectionMs)
  whenTheFileEnds(() => server.close())
  return server.address
}

async function ask(address: string, path: string, method = 'GET') {
  const response = await fetch(`http://${address}${path}`, { method })
  const text = await response.text()
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>),
  }
}

/** A connection with this text sent on it. It collects what comes back. */
function raw(address: string, text: string, localAddress?: string) {
  const [host, port] = address.split(':')
  const socket: Socket = connect({ host, port: Number(port), localAddress })
  whenTheFileEnds(() => socket.destroy())
  let received = ''
  socket.setEncoding('utf8').on('data', (part) => {
    received += part
  })
  socket.on('error', () => {})
  const connected = new Promise<void>((resolve) => {
    socket.once('connect', () => socket.write(text, () => resolve()))
  })
  const closed = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(received))
  })
  return { socket, connected, closed }
}

const GET = 'GET /healthz HTTP/1.1\r\nHost: a\r\n'

describe('the listener of a sidecar', async () => {
  const { sidecar } = await runSidecar({
    flags: { 'health.address': '127.0.0.1:0', 'http.address': '127.0.0.1:0' },
  })
  const address = sidecar.healthAddress ?? ''

  test.each<[path: string, method: string, status: number, body: unknown]>([
    ['/healthz', 'GET', 200, { status: 'ok' }],
    ['/healthz', 'HEAD', 200, undefined],
    ['/healthz?a=b', 'GET', 200, { status: 'ok' }],
    ['/readyz', 'GET', 200, { status: 'ready' }],
    ['/readyz', 'POST', 405, { error: 'expected GET or HEAD' }],
    ['/healthz', 'DELETE', 405, { error: 'expected GET or HEAD' }],
    ['/', 'GET', 404, expect.anything()],
    ['/healthz/', 'GET', 404, expect.anything()],
    ['/readyz/../identity/v3', 'GET', 404, expect.anything()],
    ['/identity/v3', 'GET', 404, expect.anything()],
    ['/authorize', 'GET', 404, expect.anything()],
  ])('%s %s: %i', async (path, method, status, body) => {
    const answer = await ask(address, path, method)
    expect([answer.status, answer.body]).toEqual([status, body])
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', connection: 'close' })
  })

  test('with ?verbose says the result of every check, and which matrix is in force', async () => {
    const { body } = await ask(address, '/readyz?verbose')
    expect(body).toEqual({
      status: 'ready',
      checks: [
        { name: 'signing_keys', status: 'ok', problems: [] },
        { name: 'directory', status: 'ok', problems: [] },
        { name: 'matrix', status: 'ok', problems: [] },
        { name: 'decision_log', status: 'ok', problems: [] },
        { name: 'proxies', status: 'ok', problems: [] },
      ],
      matrix_digests: [sidecar.matrixDigest],
    })
    expect((await ask(sidecar.httpAddress ?? '', '/readyz?verbose')).body).toEqual(body)
  })

  test('a client that asks with the name of another host, as Prometheus and kubelets do, is answered', async () => {
    const { closed } = raw(address, 'GET /readyz HTTP/1.1\r\nHost: portcullis.example\r\n\r\n')
    expect(await closed).toContain('200 OK')
  })
})

describe('a client that', async () => {
  const address = await listenerFor({ state: SERVING })

  test('sends too many headers is refused', async () => {
    const { closed } = raw(address, `${GET}x: ${'x'.repeat(HEADER_BYTES_MAX)}\r\n\r\n`)
    expect(await closed).toContain('431 Request Header Fields Too Large')
  })

  test('speaks something else is refused', async () => {
    expect(await raw(address, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n').closed).toContain('400 Bad Request')
  })

  test('sends a body is answered, and the connection ends', async () => {
    const { closed } = raw(address, `${GET}content-length: 1000000000\r\n\r\n${'x'.repeat(100_000)}`)
    expect(await closed).toContain('200 OK')
  })

  test('sends a second request gets no second answer', async () => {
    expect((await raw(address, `${GET}\r\n${GET}\r\n`).closed).match(/200 OK/g)).toHaveLength(1)
  })

  test('holds every connection cannot block probes', async () => {
    const held = Array.from({ length: 2 * CONNECTIONS_MAX }, () => raw(address, GET))
    await Promise.all(held.map(({ connected }) => connected))
    for (let asked = 0; asked < 5; asked++) expect((await ask(address, '/readyz')).status).toBe(200)
  })

  test('floods loses its own connections, and not that of a probe from another address', async () => {
    const probe = raw(address, GET, '127.0.0.2')
    await probe.connected
    // Its first bytes are there before the flood.
    await ask(address, '/healthz')
    const held = Array.from({ length: 2 * CONNECTIONS_MAX }, () => raw(address, GET))
    // The flood has taken every place, and begun to lose its own.
    await held[0]?.closed
    probe.socket.write('\r\n')
    expect(await probe.closed).toContain('200 OK')
  })
})

test('a connection ends after its time, whatever the client does', async () => {
  const address = await listenerFor({ state: SERVING }, 100)
  const silent = raw(address, '')
  const slow = raw(address, GET)
  const drip = setInterval(() => slow.socket.write('a'), 10)
  await Promise.all([slow.closed, silent.closed])
  clearInterval(drip)
})

test('a Unix socket and every address of a host can be listened on', async () => {
  const path = join(newFolder(), 'health.sock')
  const server = await startHealthServer({ state: SERVING }, `unix:${path}`)
  whenTheFileEnds(() => server.close())
  const status = await new Promise((resolve, reject) => {
    request({ socketPath: path, path: '/readyz' }, (response) => resolve(response.statusCode))
      .on('error', reject)
      .end()
  })
  expect(status).toBe(200)
})

test.each([
  ['9180', 'health.address: expected HOST:PORT with a port from 0 to 65535, or unix:PATH, or off'],
  ['unix:', 'health.address: expected unix:PATH with a path of 1 to 107 bytes'],
])('the address %s is refused before anything is opened', async (address, message) => {
  const data = join(newFolder(), 'data')
  const config = readConfig({
    flags: { 'health.address': address, 'http.address': 'off', 'grpc.address': '127.0.0.1:0', data },
  })
  await expect(startSidecar(config)).rejects.toThrow(message)
})

test('it is off by default, and an address in use is named', async () => {
  const { sidecar } = await runSidecar()
  expect(sidecar.healthAddress).toBeUndefined()
  const address = await listenerFor({ state: SERVING })
  await expect(runSidecar({ flags: { 'health.address': address } })).rejects.toThrow(
    `health address ${address} is in use`,
  )
})

test('a sidecar that has not completed its start, or that ends, is alive and not ready', async () => {
  const source = { state: { ...SERVING, phase: 'starting' } as HealthState }
  const address = await listenerFor(source)
  for (const phase of ['starting', 'stopping'] as const) {
    source.state = { ...SERVING, phase }
    expect((await ask(address, '/healthz')).status).toBe(200)
    expect(await ask(address, '/readyz')).toMatchObject({ status: 503, body: { status: phase } })
  }
})

test.each<[claim: string, workers: HealthState[], stopping: boolean, ready: boolean]>([
  ['none, yet', [], false, false],
  ['one that starts', [{ ...SERVING, phase: 'starting' }], false, false],
  ['one that serves beside one that starts', [SERVING, { ...SERVING, phase: 'starting' }], false, true],
  ['one that serves beside one that ends', [SERVING, { ...SERVING, phase: 'stopping' }], false, true],
  ['one of two with a problem', [SERVING, { ...SERVING, problems: { matrix_stale: 1 } }], false, false],
  ['one of two with a warning', [SERVING, { ...SERVING, problems: { matrix_refused: 1 } }], false, true],
  ['two that serve, while the primary ends', [SERVING, SERVING], true, false],
])('a group of workers with %s', (_claim, workers, stopping, ready) => {
  expect(isReady(healthOfAll(workers, stopping))).toBe(ready)
})

test('a group of workers has each problem once, since it was first seen, and every digest', () => {
  const others = { ...SERVING, matrixDigests: ['sha256:b'] }
  const group = healthOfAll(
    [
      { ...SERVING, problems: { matrix_stale: 5 } },
      { ...others, problems: { matrix_stale: 3, directory_replaced: 9 } },
      others,
    ],
    false,
  )
  expect(group).toEqual({
    phase: 'serving',
    problems: { matrix_stale: 3, directory_replaced: 9 },
    matrixDigests: ['sha256:a', 'sha256:b'],
  })
})

test('while a sidecar lets its last calls finish, it is alive and not ready', async () => {
  const { sidecar, address } = await runSidecar({
    flags: { 'health.address': '127.0.0.1:0', drain_ms: 60_000 },
  })
  const session = connectHttp2(`http://${address}`)
  whenTheFileEnds(() => session.destroy())
  await once(session, 'remoteSettings')
  const stream = session.request({
    ':method': 'POST',
    ':path': '/portcullis.v1.AuthorizationService/Check',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  stream.on('error', () => {})
  // Half a message: the call is under way.
  stream.write(Buffer.alloc(3))
  await new Promise((resolve) => session.ping(resolve))
  const closing = sidecar.close()
  await eventually(async () => (await ask(sidecar.healthAddress ?? '', '/readyz')).status === 503)
  expect((await ask(sidecar.healthAddress ?? '', '/readyz')).body).toEqual({ status: 'stopping' })
  expect((await ask(sidecar.healthAddress ?? '', '/healthz')).status).toBe(200)
  stream.close()
  session.close()
  await closing
  await expect(ask(sidecar.healthAddress ?? '', '/healthz')).rejects.toThrow()
})
