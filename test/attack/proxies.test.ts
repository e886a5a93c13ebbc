/**
 * A process of the sidecar's machine pretends to be its proxy: it gets as many guesses as it would as itself,
 * and no further.
 */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { attackedSidecar, report, type Scene } from '../support/attack/attack-scene.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFile, whenTheFileEnds } from '../support/suite/resources.ts'

const SECRET = 'the-secret-that-the-proxy-alone-can-read'
const GUESSES = 400
/** Failures after which a source must wait. */
const FAILURES = 20

let scene: Scene
/** Ports of the sidecar, and of a proxy before it that others on the machine can use. */
let direct: number
let proxied: number
beforeAll(async () => {
  scene = await attackedSidecar({
    http: { trusted_proxies: ['127.0.0.1'], proxy_secret_file: newFile(SECRET, 'proxy.secret') },
    login_throttle: { failures: 5, source_failures: FAILURES },
  })
  direct = Number(scene.served.ready.http?.split(':').at(-1))
  proxied = await proxyBefore(direct)
})

/**
 * A proxy that appends the address of its client to X-Forwarded-For, as nginx does with
 * $proxy_add_x_forwarded_for.
 */
async function proxyBefore(port: number): Promise<number> {
  const proxy = createServer((asked, answer) => {
    const { 'x-forwarded-for': before, ...headers } = asked.headers
    const forwarded = [before, asked.socket.remoteAddress].filter((each) => each !== undefined).join(', ')
    const onwards = request({
      port,
      host: '127.0.0.1',
      method: asked.method,
      path: asked.url,
      headers: {
        ...headers,
        host: `127.0.0.1:${port}`,
        'x-forwarded-for': forwarded,
        'x-portcullis-proxy-secret': SECRET,
      },
    })
    onwards.on('response', (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers)
      answered.pipe(answer)
    })
    asked.pipe(onwards)
  })
  proxy.listen(0, '127.0.0.1')
  await new Promise((resolve) => proxy.once('listening', resolve))
  whenTheFileEnds(() => void proxy.close().closeAllConnections())
  return (proxy.address() as AddressInfo).port
}

async function logIn(port: number, password: string, headers: Record<string, string>): Promise<number> {
  const user = { name: 'account', domain: { name: ACCOUNT }, password }
  const auth = {
    identity: { methods: ['password'], password: { user } },
    scope: { domain: { name: ACCOUNT } },
  }
  const response = await fetch(`http://127.0.0.1:${port}/identity/v3/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ auth }),
  })
  await response.text()
  return response.status
}

test.each<[claim: string, port: () => number, headers: Record<string, string>]>([
  ['without the secret', () => direct, {}],
  ['with its own secret', () => direct, { 'x-portcullis-proxy-secret': 'x'.repeat(SECRET.length) }],
  ['as a client of the proxy', () => proxied, {}],
])('guessing passwords from a forged address each, %s, is throttled', async (claim, port, headers) => {
  const statuses: Record<number, number> = {}
  for (let guess = 0; guess < GUESSES; guess++) {
    const forged = `203.0.${guess >> 8}.${guess & 255}`
    const status = await logIn(port(), `guess ${guess}`, { ...headers, 'x-forwarded-for': forged })
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  report(`forged addresses ${claim}`, {
    'passwords tried': statuses[401] ?? 0,
    statuses: JSON.stringify(statuses),
  })
  expect(statuses[401] ?? 0).toBeLessThanOrEqual(FAILURES)
})

test('an address restriction is not passed by a forged address', async () => {
  await scene.operator.directory.setAddressRestriction({ account: ACCOUNT, ranges: ['203.0.113.0/24'] })
  const password = scene.secrets.passwordOf('account')
  const forged = { 'x-forwarded-for': '203.0.113.5' }
  const statuses = [
    await logIn(direct, password, {}),
    await logIn(direct, password, forged),
    await logIn(direct, password, { ...forged, 'x-portcullis-proxy-secret': 'guessed' }),
    await logIn(proxied, password, forged),
    // The proxy's own word opens it, so it is the address that was missing.
    await logIn(direct, password, { ...forged, 'x-portcullis-proxy-secret': SECRET }),
  ]
  report('a restricted account', { statuses: statuses.join(' ') })
  expect(statuses).toEqual([401, 403, 403, 401, 201])
})
