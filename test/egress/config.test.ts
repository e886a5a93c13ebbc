/**
 * The configuration of egress is checked at the start: a sidecar that could send a token elsewhere does not
 * serve.
 */
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../sidecar/config/config.ts'
import { readRoutes } from '../../sidecar/config/egress-config.ts'
import {
  ask,
  egressConfig,
  exchange,
  type RouteWish,
  runEgress,
  startTarget,
} from '../support/sidecar/egress.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const ROUTE = { path: '/a/', url: 'https://api.example/a/', api: 'balance', profile: 'p', callers: 'anyone' }

/** The problems that the reader of routes finds. */
function problemsOf(...routes: readonly object[]): string[] {
  const config = readConfig({
    file: newFile(
      JSON.stringify({
        egress: { address: '127.0.0.1:0', routes: routes.map((route) => ({ ...ROUTE, ...route })) },
        callers: [{ name: 'job', token_sha256: '0'.repeat(64) }],
      }),
      'portcullis.json',
    ),
  })
  try {
    readRoutes(config, new Set(['p']))
    return []
  } catch (error) {
    return (error as Error).message.split('\n').map((line) => line.replace('egress.routes', 'routes'))
  }
}

const PATH =
  'routes[0].path: expected a path with a slash at both ends, whose segments have letters, digits, `.`, `_`, `~` and `-` alone'
const HTTPS =
  'routes[0].url: expected https; http sends a token in the clear, and is for targets on this machine alone'
const CANONICAL = 'routes[0].url: expected a canonical path with a slash at the end'
const overlapping = (path: string) =>
  `routes[1].path: expected a path that is not the beginning of another, found ${path}`

describe('a route is refused:', () => {
  test.each<[claim: string, routes: readonly object[], problems: readonly string[]]>([
    ['no slash at the end', [{ path: '/a' }], [PATH]],
    ['no slash at the beginning', [{ path: 'a/' }], [PATH]],
    ['an empty segment', [{ path: '/a//' }], [PATH]],
    ['a dot segment', [{ path: '/a/../' }], [PATH]],
    ['an encoded path', [{ path: '/a%62/' }], [PATH]],
    ['the same path twice', [{}, {}], [overlapping('/a/')]],
    ['a path within another', [{}, { path: '/a/b/' }], [overlapping('/a/')]],
    ['a path around another', [{ path: '/a/b/' }, { path: '/a/' }], [overlapping('/a/b/')]],
    ['the root beside another', [{}, { path: '/' }], [overlapping('/a/')]],
    ['an unknown profile', [{ profile: 'q' }], ['routes[0].profile: expected the name of a profile']],
    [
      'an unknown caller',
      [{ callers: ['job', 'x'] }],
      ['routes[0].callers[1]: expected the name of a caller who has a token'],
    ],
    [
      'another word than anyone',
      [{ callers: 'everyone' }],
      ['routes[0].callers: expected a list of callers, or the word anyone'],
    ],
    ['no URL', [{ url: 'api.example' }], ['routes[0].url: expected a URL']],
    ['http beyond this machine', [{ url: 'http://api.example/' }], [HTTPS]],
    ['http to a link-local address', [{ url: 'http://169.254.169.254/' }], [HTTPS]],
    ['http to a name that only begins like loopback', [{ url: 'http://127.0.0.1.example/' }], [HTTPS]],
    ['another protocol', [{ url: 'ftp://api.example/' }], [HTTPS]],
    [
      'a query',
      [{ url: 'https://api.example/?a=b' }],
      ['routes[0].url: expected a URL without a query and a fragment', CANONICAL],
    ],
    [
      'a fragment',
      [{ url: 'https://api.example/#' }],
      ['routes[0].url: expected a URL without a query and a fragment', CANONICAL],
    ],
    [
      'credentials',
      [{ url: 'https://user:secret@api.example/' }],
      ['routes[0].url: expected a URL without credentials'],
    ],
    ['no slash at the end of the URL', [{ url: 'https://api.example/v1' }], [CANONICAL]],
    ['dot segments in the URL', [{ url: 'https://api.example/a/../b/' }], [CANONICAL]],
    [
      'certificates for http',
      [{ url: 'http://127.0.0.1/', ca: newFile('x') }],
      [
        'routes[0].ca: expected a URL with https',
        expect.stringMatching(
          /^routes\[0\]\.ca: expected a PEM file with certificates in /,
        ) as unknown as string,
      ],
    ],
    [
      'a file that is not there',
      [{ ca: '/nowhere.pem' }],
      ['routes[0].ca: /nowhere.pem cannot be read (ENOENT)'],
    ],
  ])('%s', (_claim, routes, problems) => {
    expect(problemsOf(...routes)).toEqual(problems)
  })
})

test.each<[claim: string, routes: readonly object[]]>([
  ['https', [{}]],
  [
    'http on this machine',
    [
      { url: 'http://127.0.0.1:8080/' },
      { path: '/b/', url: 'http://[::1]/' },
      { path: '/c/', url: 'http://localhost/x/' },
    ],
  ],
  ['the root alone', [{ path: '/' }]],
  ['paths of which one only looks like the beginning of another', [{ path: '/a/' }, { path: '/ab/' }]],
  ['callers, the administrator of the data folder included', [{ callers: ['job', 'administrator'] }]],
])('a route is accepted: %s', (_claim, routes) => {
  expect(problemsOf(...routes)).toEqual([])
})

describe('under the matrix', () => {
  test.each<[claim: string, route: Partial<RouteWish>, problem: string]>([
    ['an unknown API', { api: 'balances' }, '.api: expected the id of an API of the matrix'],
    [
      'no project where every token is bound to one',
      { api: 'cdn' },
      '.project: expected the name of a project, because every token that the API accepts is bound to one',
    ],
    [
      'no static token where nothing else opens the API',
      { api: 'reports' },
      '.profile: expected a profile with a static token, because the API accepts no other token',
    ],
    [
      'a place that the token has not',
      { place: 'Authorization: Bearer' },
      '.place: expected a place of an account-scoped IAM token that needs no other header: `X-Auth-Token`',
    ],
  ])('%s is refused', async (_claim, route, problem) => {
    const { folder, config } = await egressConfig([{ url: 'http://127.0.0.1:1/', ...route }])
    await expect(runSidecar({ folder, config })).rejects.toThrow(`egress.routes[0]${problem}`)
  })
})

test.each<[address: string, message: string]>([
  [
    '0.0.0.0:0',
    'egress address 0.0.0.0:0: expected HOST:PORT of this machine (127.0.0.1, [::1] or localhost), unix:PATH, or off',
  ],
  [
    '[::]:0',
    'egress address [::]:0: expected HOST:PORT of this machine (127.0.0.1, [::1] or localhost), unix:PATH, or off',
  ],
  ['nonsense', 'egress.address: expected HOST:PORT with a port from 0 to 65535, or unix:PATH, or off'],
])('%s is not an address for egress', async (address, message) => {
  const { folder, config } = await egressConfig([{ url: 'http://127.0.0.1:1/' }])
  await expect(runSidecar({ folder, config, flags: { 'egress.address': address } })).rejects.toThrow(message)
})

test('an address in use is named', async () => {
  const target = await startTarget()
  const address = target.url.slice('http://'.length, -1)
  const { folder, config } = await egressConfig([{ url: target.url }])
  await expect(runSidecar({ folder, config, flags: { 'egress.address': address } })).rejects.toThrow(
    `egress address ${address} is in use`,
  )
})

test('routes without an address are off, and an address without routes is refused', async () => {
  const off = await runEgress([{ url: 'http://127.0.0.1:1/' }], { flags: { 'egress.address': 'off' } })
  expect(off.sidecar.egressAddress).toBeUndefined()
  await expect(runSidecar({ flags: { 'egress.address': '127.0.0.1:0' } })).rejects.toThrow(
    'egress.routes: expected one route or more',
  )
})

test('a stopping sidecar finishes what it forwards, and ends connections that are idle', async () => {
  const { promise: release, resolve } = Promise.withResolvers<void>()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const target = await startTarget(async (_incoming, response) => {
    reach()
    await release
    response.end('finished')
  })
  const { egress, sidecar } = await runEgress([{ url: target.url }])
  const idle = exchange(egress, `GET / HTTP/1.1\r\nHost: evil\r\n\r\n`)
  const answer = ask(egress, '/', { headers: { connection: 'keep-alive' } })
  await reached
  const closing = sidecar.close()
  expect(await idle).toMatch(/^HTTP\/1\.1 403/)
  resolve()
  expect(await answer).toMatchObject({ status: 200, text: 'finished' })
  await closing
  await expect(ask(egress, '/')).rejects.toThrow('ECONNREFUSED')
})
