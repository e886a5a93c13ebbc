/**
 * Routes are checked at the start: routes that depend on their order, or could never match, are an error that
 * names them.
 */
import { expect, test } from 'vitest'
import { compileRoutes } from '../../sidecar/rules/routes/compile-routes.ts'
import type { RouteSetting } from '../../sidecar/rules/routes/route.ts'

const APIS = new Set(['balance', 'iam'])

/** The problems of the routes. `path` is `/`, and `api` is `balance`, unless given. */
function problemsOf(...wishes: readonly Partial<RouteSetting>[]): readonly string[] {
  const settings = wishes.map((wish) => ({ path: '/', api: 'balance', ...wish }))
  return compileRoutes(settings, APIS).problems ?? []
}

const HOST =
  'routes[0].host: expected a host name of ASCII letters, digits, hyphens and underscores, without a dot at the end, or such a name behind *.; and a port behind it where requests have one'
const PATH =
  "routes[0].path: expected a path that begins with a slash, whose segments are letters, digits and -._~!$&'()*+,=:@, or end with {name}"
const near = (path: string) =>
  `${PATH}; the nearest is ${path}, where a name takes the whole rest of its segment`
const METHOD = 'routes[0].methods[0]: expected a method in capitals, which is not CONNECT'
const SEGMENT = 'routes[0].target.account.segment: expected the name of a {name} of the path'
const crossed = (method: string) =>
  `routes[1].methods: expected ${method} in one of this route and routes[0], which has the same host and path`
const TWIN = 'routes[1]: expected other requests than those of routes[0]'

test.each<[claim: string, routes: readonly Partial<RouteSetting>[], problems: readonly string[]]>([
  ['an unknown API', [{ api: 'balances' }], ['routes[0].api: expected the id of an API of the matrix']],
  ...[
    'a.example:',
    'a.example:x',
    'a.example:123456',
    'a.example.',
    '.example',
    '*',
    '*.',
    'a.*.example',
    'http://a.example',
    'a/b',
    'café',
    '',
  ].map((host): [string, Partial<RouteSetting>[], string[]] => [`the host ${host}`, [{ host }], [HOST]]),
  ...[
    'a',
    '',
    '//',
    '/a//b',
    '/a//',
    '/.',
    '/a/../b',
    '/./',
    '/a;b',
    '/a b',
    '/a?b',
    '/a#b',
    '/caf%C3%A9',
    '/é',
    '/a\\b',
  ]
    .concat(['/{', '/{}', '/a/{1}', '/{é}', '/{a}b/../c'])
    .map((path): [string, Partial<RouteSetting>[], string[]] => [`the path ${path}`, [{ path }], [PATH]]),
  ...[
    ['/repos/{base}...{head}', '/repos/{base_head}'],
    ['/{a}b', '/{a}'],
    ['/x{a}.json/c/', '/x{a}/c/'],
    ['/v{major}.{minor}/{id}', '/v{major_minor}/{id}'],
    ['/{accountId}/{user-name}', '/{account_id}/{user_name}'],
    ['/{A}', '/{a}'],
    ['/{id}:start', '/{id}'],
  ].map(([path = '', nearest = '']): [string, Partial<RouteSetting>[], string[]] => [
    `the path ${path}, and the nearest one is named`,
    [{ path }],
    [near(nearest)],
  ]),
  ['the same name twice', [{ path: '/{a}/{a}' }], ['routes[0].path: expected each {name} once']],
  ['a method in small letters', [{ methods: ['get'] }], [METHOD]],
  ['CONNECT, which has no path', [{ methods: ['CONNECT'] }], [METHOD]],
  [
    'a segment that the path does not name',
    [{ path: '/{id}/', target: { account: { segment: 'account' } } }],
    [SEGMENT],
  ],
  [
    'no name of a header',
    [{ target: { account: { header: 'X Account' } } }],
    ['routes[0].target.account.header: expected the name of a header'],
  ],
  [
    'two places of an account',
    [{ target: { account: { fixed: '1', header: 'X-Account' } } }],
    ['routes[0].target.account: expected exactly one of segment, header and fixed'],
  ],
  [
    'no place of an account',
    [{ target: { account: {} } }],
    ['routes[0].target.account: expected exactly one of segment, header and fixed'],
  ],
  ['the same requests twice', [{ path: '/a' }, { path: '/a' }], [TWIN]],
  ['… under another name', [{ path: '/{a}/' }, { path: '/{b}/' }], [TWIN]],
  ['… with the host in other letters', [{ host: 'a.example' }, { host: 'A.example' }], [TWIN]],
  ['… with HEAD written out', [{ methods: ['GET'] }, { methods: ['HEAD', 'GET'] }], [TWIN]],
  [
    'hosts that differ in their port alone',
    [{ host: 'a.example' }, { host: 'a.example:80', path: '/x' }],
    ['routes[1].host: expected the port of routes[0], because some servers ignore it'],
  ],
  ['methods that cross', [{ methods: ['PUT', 'POST'] }, { methods: ['POST', 'PATCH'] }], [crossed('POST')]],
  [
    '… beside a third route for another method',
    [{ methods: ['PUT', 'POST'] }, { methods: ['POST', 'PATCH'] }, { methods: ['PUT'] }],
    [crossed('POST')],
  ],
  [
    'texts that differ in case alone',
    [{ path: '/a/Users/' }, { path: '/a/users/x' }],
    ['routes[1].path: expected `Users` as in routes[0], found `users`, which some servers take for the same'],
  ],
  [
    'prefixes that differ in case alone',
    [{ path: '/AUTH_{a}' }, { path: '/auth_{b}/x' }],
    [
      'routes[1].path: expected `AUTH_{}` as in routes[0], found `auth_{}`, which some servers take for the same',
    ],
  ],
  [
    'everything at once, each in its place',
    [
      { path: 'a', api: 'x' },
      { host: 'a:', methods: ['get'] },
    ],
    ['routes[0].api: expected the id of an API of the matrix', PATH, HOST.replace('[0]', '[1]')],
  ],
])('is refused: %s', (_claim, routes, problems) => {
  expect(problemsOf(...routes)).toEqual(problems)
})

test.each<[claim: string, routes: readonly Partial<RouteSetting>[]]>([
  ['a path below another', [{ path: '/a/' }, { path: '/a/b/' }, { path: '/a/b' }, {}]],
  ['a host and a wildcard', [{ host: 'a.example' }, { host: '*.example' }, { host: '*.b.example' }, {}]],
  ['a method and any', [{ methods: ['GET'] }, {}]],
  ['HEAD apart from GET', [{ methods: ['GET'] }, { methods: ['HEAD'] }]],
  ['other methods', [{ methods: ['GET'] }, { methods: ['PUT', 'POST'] }]],
  ['a capture beside a text', [{ path: '/{a}/' }, { path: '/x/' }]],
  [
    'longer prefixes of a capture',
    [{ path: '/{a}/' }, { path: '/A{b}/' }, { path: '/AUTH_{c}/' }, { path: '/AUTH_1/' }],
  ],
  ['prefixes that have nothing in common', [{ path: '/A{b}/x' }, { path: '/B{c}/y' }]],
  ['captures that cross', [{ path: '/{a}/x' }, { path: '/y/{b}' }]],
  ['a longer path with a capture', [{ path: '/a/' }, { path: '/{x}/b/' }]],
  ['a prefix and a text', [{ path: '/AUTH_{a}/x' }, { path: '/{b}/', methods: ['PUT'] }]],
  ['a host against a path', [{ host: 'a.example' }, { path: '/admin/' }]],
  ['a wildcard against a path', [{ host: '*.example' }, { path: '/admin/' }]],
  ['a method against a path', [{ methods: ['GET'] }, { path: '/admin/' }]],
  [
    'methods that cross where a third route decides',
    [{ methods: ['PUT', 'POST'] }, { methods: ['POST', 'PATCH'] }, { methods: ['POST'] }],
  ],
  ['texts that differ in case alone at two hosts', [{ host: 'a.example', path: '/A' }, { path: '/a' }]],
  ['characters with a meaning elsewhere', [{ path: "/servers:start/a+b/x'(y)/@me/a,b=c/*" }]],
  ['addresses', [{ host: '127.0.0.1' }, { host: '[::1]' }, { host: 'my_service' }]],
  [
    'ports',
    [{ host: '127.0.0.1:80' }, { host: '[::1]:80' }, { host: '*.a.example:80' }, { host: 'a.example' }],
  ],
  ['an API for two routes', [{ path: '/a' }, { path: '/b' }]],
])('is accepted: %s', (_claim, routes) => {
  expect(problemsOf(...routes)).toEqual([])
})

test('of many faults the first ones are listed, and the others are counted', () => {
  const problems = problemsOf(...Array.from({ length: 300 }, () => ({ path: '/x' })))
  expect(problems).toHaveLength(101)
  expect(problems.at(-1)).toBe('routes: and 199 more')
})

test('whether an API is known may be left open', () => {
  expect(compileRoutes([{ path: '/', api: 'unknown' }], undefined).problems).toBeUndefined()
})
