/**
 * Requests that servers could read in different ways. Every protocol that finds an API by host, path and
 * method is held to the same rows: `holdsToRoutes` asks each of them, over whatever carries the protocol.
 */
import { describe, expect, test } from 'vitest'
import type { RouteRefusal, RouteSetting, RouteTarget } from '../../../sidecar/rules/routes/route.ts'

/** Request targets that can be written in one way alone, with their path and query. */
export const CANONICAL_TARGETS: readonly (readonly [url: string, path: string, query: string])[] = [
  ['/', '/', ''],
  ['/balance/', '/balance/', ''],
  ['/balance/v1/items.json', '/balance/v1/items.json', ''],
  ['/balance/a-b_c~d/...', '/balance/a-b_c~d/...', ''],
  ['/balance/..a/.%C3%A9/a..%3Bb', '/balance/..a/.%C3%A9/a..%3Bb', ''],
  ["/balance/!$&'()*+,=:@", "/balance/!$&'()*+,=:@", ''],
  ['/balance/caf%C3%A9%20%3Bx%3Fy%23', '/balance/caf%C3%A9%20%3Bx%3Fy%23', ''],
  ['/balance/caf%c3%a9', '/balance/caf%c3%a9', ''],
  ['/balance/100%25', '/balance/100%25', ''],
  ['/balance/100%25-off', '/balance/100%25-off', ''],
  ['/balance/5%25a-b', '/balance/5%25a-b', ''],
  ['/balance?', '/balance', '?'],
  ['/balance?a=1&b=/../;%2F%00', '/balance', '?a=1&b=/../;%2F%00'],
  ['/balance?a?b', '/balance', '?a?b'],
]

const TARGET = 'a request target that begins with a slash, without scheme and host'
const CHARACTERS =
  "a path of letters, digits, -._~!$&'()*+,=:@ and encoded characters, without `;` and backslash"
const SEGMENTS = 'a path without empty segments'
const DOTS = 'a path without the segments `.` and `..`, and without those dots before an encoded character'
const ENCODED =
  'a path without an encoded slash, backslash, dot or control character, and nothing encoded that need not or twice'
const UTF8 = 'encoded characters that are UTF-8'
const QUERY = 'a query of visible ASCII characters without `#`'

/** Request targets of `/balance/` that are not canonical, and what was expected instead. */
export const HOSTILE_TARGETS: readonly (readonly [url: string, expected: string])[] = [
  ['', TARGET],
  ['*', TARGET],
  ['balance/', TARGET],
  ['http://elsewhere.example/balance/', TARGET],
  ['HTTPS://elsewhere.example/', TARGET],
  ['elsewhere.example:443', TARGET],
  ['\\balance\\', TARGET],
  ['//elsewhere.example/', SEGMENTS],
  ['/balance//v1', SEGMENTS],
  ['/balance/.', DOTS],
  ['/balance/./v1', DOTS],
  ['/balance/..', DOTS],
  ['/balance/../iam/', DOTS],
  ['/../balance/', DOTS],
  ['/balance/..?x', DOTS],
  ['/balance/..%3B/iam/', DOTS],
  ['/balance/..%3bx=1/iam/', DOTS],
  ['/balance/.%3F', DOTS],
  ['/balance/..%23x', DOTS],
  ['/balance/..%20/iam/', DOTS],
  ['/balance/%2e%2e/iam/', ENCODED],
  ['/balance/%2E%2E/iam/', ENCODED],
  ['/balance/.%2e/iam/', DOTS],
  ['/balance/%2Fiam', ENCODED],
  ['/balance%2fiam', ENCODED],
  ['/balance/%5C..%5Ciam', ENCODED],
  ['/balance/%5c', ENCODED],
  ['/balance/%00', ENCODED],
  ['/balance/%0d%0aX-Auth-Token:%20a', ENCODED],
  ['/balance/%1F', ENCODED],
  ['/balance/%7f', ENCODED],
  ['/balance/%252e%252e/iam/', ENCODED],
  ['/balance/%252Fiam', ENCODED],
  ['/balance/%25%32%65', ENCODED],
  ['/%62alance/', ENCODED],
  ['/balance/%41%5A%30%39', ENCODED],
  ['/balance/%2D', ENCODED],
  ['/balance/%5f', ENCODED],
  ['/balance/%7E', ENCODED],
  ['/balance/%C0%AE%C0%AE/', UTF8],
  ['/balance/%c0%af', UTF8],
  ['/balance/%E0%80%AF', UTF8],
  ['/balance/%ff', UTF8],
  ['/balance/%', CHARACTERS],
  ['/balance/%2', CHARACTERS],
  ['/balance/%zz', CHARACTERS],
  ['/balance/%u002e', CHARACTERS],
  ['/balance/;a=1', CHARACTERS],
  ['/balance/..;/iam/', CHARACTERS],
  ['/balance\\..\\iam', CHARACTERS],
  ['/balance/a b', CHARACTERS],
  ['/balance/\0', CHARACTERS],
  ['/balance/\t', CHARACTERS],
  ['/balance/\r\nX: y', CHARACTERS],
  ['/balance/é', CHARACTERS],
  ['/balance/／', CHARACTERS],
  ['/balance/[x]', CHARACTERS],
  ['/balance/{x}|^"<>`', CHARACTERS],
  ['/balance#x', CHARACTERS],
  ['/balance?a#b', QUERY],
  ['/balance?a b', QUERY],
  ['/balance?\0', QUERY],
  ['/balance?\r\nX: y', QUERY],
  ['/balance?é', QUERY],
]

/**
 * Routes under which the rows hold. A path that leaves `/iam/` or the servers of an account would be for
 * `balance`: the route for everything catches it.
 */
export const ROUTES: readonly RouteSetting[] = [
  { path: '/', api: 'balance' },
  { path: '/iam/', api: 'iam' },
  { path: '/iam/users/v2.0', api: 'federations' },
  { path: '/quotas/items', methods: ['GET'], api: 'cloud-quotas' },
  {
    host: 'api.example.com',
    path: '/v2/{account}/servers/{id}',
    methods: ['GET', 'DELETE'],
    api: 'dedicated-servers',
    target: { account: { segment: 'account' } },
  },
  {
    host: '*.example.com',
    path: '/v1/AUTH_{project}/',
    api: 'object-storage-swift',
    target: { account: { header: 'X-Account' }, project: { segment: 'project' } },
  },
  {
    host: '*.example.com',
    path: '/dns/',
    api: 'dns-hosting',
    target: { account: { fixed: '123456' }, project: { header: 'X-Project' } },
  },
  { path: '/ledger/', api: 'balance' },
  { path: '/users/{id}', api: 'iam' },
  { host: '*.example.com', path: '/v1/AUTH_', methods: ['GET'], api: 'iam' },
  { path: '/servers:start', methods: ['GET', 'HEAD'], api: 'iam' },
  { host: 'ports.example.net:8443', path: '/ports/', api: 'iam' },
]

/** A request, and which API it is for. */
export interface RoutedRow {
  readonly claim: string
  readonly method: string
  readonly host: string
  readonly target: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly expected: RoutedOutcome
}

/** The result of a protocol. It may leave out the target, which not every protocol shows. */
export interface RoutedOutcome {
  readonly api?: string
  readonly target?: RouteTarget | undefined
  readonly refused?: RouteRefusal
}

type Wish = Partial<Pick<RoutedRow, 'method' | 'host' | 'target' | 'headers'>>

const HOST = 'api.example.com'
const LONG = 'a'.repeat(8_192)

const row = (claim: string, wish: Wish, expected: RoutedOutcome): RoutedRow => ({
  ...{ claim, method: 'GET', host: HOST, target: '/iam/', headers: {}, ...wish },
  expected,
})

const found = (claim: string, wish: Wish, api: string, target?: RouteTarget) =>
  row(claim, wish, { api, target })
const refused = (reason: RouteRefusal) => (claim: string, wish: Wish) => row(claim, wish, { refused: reason })
const unclear = refused('NOT_CANONICAL')
const lost = refused('TARGET_NOT_FOUND')

export const FOUND_ROWS: readonly RoutedRow[] = [
  found('a path below its route', { target: '/iam/users/7' }, 'iam'),
  found('the route itself', { target: '/iam/' }, 'iam'),
  found('a path of the API around it, without its slash at the end', { target: '/ledger' }, 'balance'),
  found('the same with it', { target: '/ledger/' }, 'balance'),
  found('what no other route is for', { target: '/else/where' }, 'balance'),
  found('the root', { target: '/' }, 'balance'),
  found('a path that only begins like a route', { target: '/iamb/' }, 'balance'),
  found('the most specific path', { target: '/iam/users/v2.0' }, 'federations'),
  found('a text without the name behind it, which has a route', { target: '/v1/AUTH_' }, 'iam'),
  found('a path above a name', { target: '/users' }, 'balance'),
  found('what is below a path that stands for itself', { target: '/iam/users/v2.0/x' }, 'iam'),
  found('a query', { target: '/iam/?/../;%2e' }, 'iam'),
  found('a query that overrides no method', { target: '/quotas/items?method=a&x_method=b' }, 'cloud-quotas'),
  found('another method than the route has', { method: 'POST', target: '/quotas/items' }, 'balance'),
  found('HEAD where the route names it', { method: 'HEAD', target: '/servers:start' }, 'iam'),
  found('a host in capitals and with a port where no route names one', { host: 'API.example.COM:1' }, 'iam'),
  found('the port of a route', { host: 'ports.example.net:8443', target: '/ports/x' }, 'iam'),
  found(
    'an account in the path',
    { method: 'DELETE', target: '/v2/234567/servers/9?x' },
    'dedicated-servers',
    { account: '234567' },
  ),
  found('a path that goes on behind its template', { target: '/v2/1/servers/9/console' }, 'balance'),
  found(
    'a host below a wildcard',
    { host: 'a.b.example.com', target: '/v1/AUTH_web/c', headers: { 'x-account': '1' } },
    'object-storage-swift',
    { account: '1', project: 'web' },
  ),
  found('the host that the wildcard ends with', { host: 'example.com', target: '/v1/AUTH_web/c' }, 'balance'),
  found(
    'an encoded project',
    { target: '/v1/AUTH_caf%C3%A9/', headers: { 'x-account': '1' } },
    'object-storage-swift',
    { account: '1', project: 'café' },
  ),
  found(
    'the same in lower-case digits',
    { target: '/v1/AUTH_caf%c3%a9/', headers: { 'x-account': '1' } },
    'object-storage-swift',
    { account: '1', project: 'café' },
  ),
  found(
    'object names with encoded characters',
    { target: '/v1/AUTH_web/what%3F%3B%23.txt', headers: { 'x-account': '1' } },
    'object-storage-swift',
    { account: '1', project: 'web' },
  ),
  found('a project in a header', { target: '/dns/zones', headers: { 'x-project': 'web' } }, 'dns-hosting', {
    account: '123456',
    project: 'web',
  }),
  found('punycode', { host: 'xn--caf-dma.example' }, 'iam'),
  found('an IPv6 address', { host: '[::1]:80' }, 'iam'),
]

export const REFUSED_ROWS: readonly RoutedRow[] = [
  ...HOSTILE_TARGETS.map(([target, expected]) =>
    unclear(`${JSON.stringify(target)}, expected ${expected}`, { target: target.replace('balance', 'iam') }),
  ),
  ...[
    '/IAM/',
    '/Iam/users',
    '/iam%3Bx/',
    '/iam%3b',
    '/iam%3Fx/',
    '/iam%23',
    '/iam%20/',
    '/iam./',
    '/iam.../',
    '/iam.json',
    '/iam',
    '/servers%3Astart',
  ].map((target) => unclear(`${target}, which servers take for different paths`, { target })),
  ...['/%C4%B1am/', '/%EF%BD%89am/', '/i%E2%80%8Bam/', '/iam%C2%A0/', '/iam::$DATA'].map((target) =>
    unclear(`${target}, which some servers take for /iam`, { target }),
  ),
  unclear('a prefix in the other case', { target: '/v1/auth_web/', headers: { 'x-account': '1' } }),
  unclear('a segment of a template in the other case', { target: '/v2/1/Servers/9' }),
  unclear('a slash behind a path that stands for itself', { target: '/iam/users/v2.0/' }),
  unclear('a slash behind a name', { target: '/users/7/' }),
  unclear('no name behind a slash', { target: '/users/' }),
  unclear('a text that has a route for another method, and no name behind it', {
    method: 'PUT',
    target: '/v1/AUTH_',
    headers: { 'x-account': '1' },
  }),
  unclear('HEAD where the route has GET, and another one any method', {
    method: 'HEAD',
    target: '/quotas/items',
  }),
  unclear('a route of a host in capitals', { host: 'API.example.com', target: '/v2/1/servers/9' }),
  unclear('a route of a host with a port', { host: 'api.example.com:8443', target: '/v2/1/servers/9' }),
  unclear('a route of a wildcard in capitals', { host: 'a.Example.com', target: '/dns/' }),
  unclear('a route of a wildcard with a port', { host: 'a.example.com:80', target: '/dns/' }),
  unclear('a route of a port without it', { host: 'ports.example.net', target: '/ports/x' }),
  unclear('a route of a port with another one', { host: 'ports.example.net:843', target: '/ports/x' }),
  ...[
    '?_method=DELETE',
    '?a=b&_METHOD=x',
    '?a;_method',
    '?%5Fm%65thod=PUT',
    '?.method=PUT',
    '?+_method[]=x',
  ].map((query) =>
    unclear(`a query that overrides the method: ${query}`, { target: `/quotas/items${query}` }),
  ),
  unclear('a path that is too long', { target: `/${LONG}` }),
  unclear('the target of OPTIONS for the whole server', { method: 'OPTIONS', target: '*' }),
  unclear('the target of CONNECT', { method: 'CONNECT', target: 'api.example.com:443' }),
  unclear('a whole URL of the same host', { target: 'http://api.example.com/iam/' }),
  unclear('a method in small letters', { method: 'get' }),
  unclear('no method', { method: '' }),
  unclear('a method with a blank', { method: 'GET ' }),
  unclear('a header that overrides the method', {
    method: 'GET',
    headers: { 'x-http-method-override': 'DELETE' },
  }),
  unclear('another header that overrides the method', {
    method: 'GET',
    headers: { 'x-method-override': 'DELETE' },
  }),
  unclear('a header that overrides the path', { headers: { 'x-rewrite-url': '/balance/' } }),
  unclear('another header that overrides the path', { headers: { 'x-original-url': '/balance/' } }),
  unclear('a header with underscores that does', { headers: { x_original_url: '/balance/' } }),
  unclear('a header that cuts the path', { headers: { 'script-name': '/balance' } }),
  unclear('the same with an underscore', { headers: { script_name: '/balance' } }),
  unclear('another header that cuts the path', { headers: { 'x-script-name': '/balance' } }),
  unclear('no host', { host: '' }),
  unclear('a host with a dot at the end', { host: 'api.example.com.' }),
  unclear('a host with a user', { host: 'user@api.example.com' }),
  unclear('a host with letters beyond ASCII', { host: 'café.example' }),
  unclear('a host in compatible letters', { host: 'ａpi.example.com' }),
  unclear('an encoded host', { host: 'api%2Eexample.com' }),
  unclear('an empty label', { host: 'api..example.com' }),
  unclear('two hosts', { host: 'api.example.com, other.example' }),
  unclear('a host with a blank', { host: 'api.example.com ' }),
  unclear('a host with a path', { host: 'api.example.com/iam' }),
  unclear('a host with no port behind its colon', { host: 'api.example.com:' }),
  unclear('a port that is none', { host: 'api.example.com:80a' }),
  unclear('a host that is too long', { host: `${'a'.repeat(250)}.example.com` }),
  unclear('a wildcard', { host: '*.example.com' }),
  lost('no header with the account', { target: '/v1/AUTH_web/' }),
  lost('an empty account', { target: '/v1/AUTH_web/', headers: { 'x-account': '' } }),
  lost('two accounts', { target: '/v1/AUTH_web/', headers: { 'x-account': ['1', '2'] } }),
  lost('two accounts in one line', { target: '/v1/AUTH_web/', headers: { 'x-account': '1, 2' } }),
  lost('a blank behind the account', { target: '/v1/AUTH_web/', headers: { 'x-account': '1 ' } }),
  lost('an account beyond ASCII', { target: '/v1/AUTH_web/', headers: { 'x-account': 'caf\u00e9' } }),
  unclear('a project that some servers cut', { target: '/v1/AUTH_web%3Bx/', headers: { 'x-account': '1' } }),
  lost('a project that ends with a blank', { target: '/v1/AUTH_web%20/', headers: { 'x-account': '1' } }),
  lost('a project with an invisible character', {
    target: '/v1/AUTH_web%E2%80%8B/',
    headers: { 'x-account': '1' },
  }),
  lost('a project that ends with a blank of another width', {
    target: '/v1/AUTH_web%E2%80%8A/',
    headers: { 'x-account': '1' },
  }),
  lost('a project that is too long', {
    target: `/v1/AUTH_${'a'.repeat(256)}/`,
    headers: { 'x-account': '1' },
  }),
]

/**
 * Tests that a protocol finds what every row says.
 *
 * @param ask what the protocol found; it may leave out the target
 * @param can whether the protocol can carry the row: most cannot send a line break
 */
export function holdsToRoutes(
  protocol: string,
  ask: (row: RoutedRow) => RoutedOutcome | Promise<RoutedOutcome>,
  can: (row: RoutedRow) => boolean = () => true,
): void {
  describe(`${protocol} finds by the routes`, () => {
    test.each(FOUND_ROWS.filter(can))('$claim', async (row) => {
      const outcome = await ask(row)
      expect(outcome.api).toBe(row.expected.api)
      if ('target' in outcome) expect(outcome.target).toEqual(row.expected.target)
    })
  })
  describe(`${protocol} refuses by the routes`, () => {
    test.each(REFUSED_ROWS.filter(can))('$claim', async (row) => {
      expect(await ask(row)).toEqual(row.expected)
    })
  })
}
