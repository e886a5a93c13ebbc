/**
 * `portcullis route explain`: the API of a request and where its target was found, or why it is denied and
 * what comes near.
 */
import { expect, test } from 'vitest'
import { ROUTES } from '../support/inputs/paths.ts'
import { command } from '../support/processes/command-line.ts'
import { newFile } from '../support/suite/resources.ts'

const file = newFile(JSON.stringify({ routes: ROUTES }), 'portcullis.json')
const API = 'https://api.example.com'

const explain = (...words: string[]) => command(['route', 'explain', ...words, '--config', file])

test.each<[claim: string, words: string[], code: number, lines: string[]]>([
  [
    'a route without a target',
    ['GET', `${API}/iam/users?x`],
    0,
    [
      'matched   routes[1]: any method any host /iam/',
      'before    routes[0]: any method any host /',
      'api       iam',
      'accepted  iam_token_account_scoped in X-Auth-Token',
    ],
  ],
  [
    'where the target was found',
    ['PUT', `${API}/v1/AUTH_web/c`, '-H', 'X-Account: 1'],
    0,
    [
      'matched   routes[5]: any method *.example.com /v1/AUTH_{project}/',
      'before    routes[0]: any method any host /',
      'api       object-storage-swift',
      'account   1, from the header x-account',
      'project   web, from the segment {project}',
      'accepted  iam_token_project_scoped in X-Auth-Token',
    ],
  ],
  [
    'a fixed account, and the host in a header',
    ['GET', '/dns/', '-H', 'Host: a.example.com', '-H', 'X-Project: web'],
    0,
    [
      'matched   routes[6]: any method *.example.com /dns/',
      'before    routes[0]: any method any host /',
      'api       dns-hosting',
      'account   123456, from the configuration',
      'project   web, from the header x-project',
      'accepted  iam_token_project_scoped in X-Auth-Token',
    ],
  ],
  [
    'a target that is not found',
    ['GET', `${API}/v1/AUTH_web/`, '-H', 'X-Account: 1', '-H', 'X-Account: 2'],
    1,
    [
      'denied  TARGET_NOT_FOUND',
      '        expected the account in one header x-account: 1 to 255 visible characters without ; ? # \\ % , and slash',
      'route   routes[5]: any method *.example.com /v1/AUTH_{project}/',
      'before  routes[0]: any method any host /',
    ],
  ],
  [
    'how it must be written',
    ['get', `${API}//v2/7/../8/./servers/%39;x=1`],
    1,
    [
      'denied   NOT_CANONICAL',
      '         expected a method of capital letters',
      'instead  GET api.example.com/v2/8/servers/9 is for dedicated-servers, by routes[4]: DELETE, GET, HEAD api.example.com /v2/{account}/servers/{id}',
    ],
  ],
  [
    'a host in capitals with a port, and a slash at the end',
    ['GET', 'https://API.example.com:8443/v2/8/servers/9/'],
    1,
    [
      'denied   NOT_CANONICAL',
      '         expected a host as in its route: in small letters, and with no other port',
      'instead  GET api.example.com/v2/8/servers/9 is for dedicated-servers, by routes[4]: DELETE, GET, HEAD api.example.com /v2/{account}/servers/{id}',
    ],
  ],
  [
    'a URL that cannot be written otherwise',
    ['GET', `${API}/a\u0000`],
    1,
    ['denied  NOT_CANONICAL', expect.any(String)],
  ],
])('explains %s', async (_claim, words, code, lines) => {
  const { stdout, ...ended } = await explain(...words)
  expect({ ...ended, lines: stdout.trimEnd().split('\n') }).toEqual({ code, stderr: '', lines })
})

test('names the routes that match as well, in the order in which they would decide', async () => {
  const crossing = newFile(
    JSON.stringify({
      routes: [
        { path: '/', api: 'balance' },
        { path: '/issues/{n}/comments', api: 'iam' },
        { path: '/issues/comments/{id}', api: 'iam' },
        { path: '/issues/comments/{id}', methods: ['DELETE'], api: 'iam' },
        { host: '*.example.com', path: '/issues/', methods: ['PUT'], api: 'iam' },
        { path: '/other/', api: 'iam' },
      ],
    }),
    'portcullis.json',
  )
  const words = ['route', 'explain', 'PUT', `${API}/issues/comments/comments`, '--json', '--config', crossing]
  const { route, before } = JSON.parse((await command(words)).stdout)
  expect([route, ...before].map(({ index }) => index)).toEqual([4, 2, 1, 0])
})

test('names the routes that come near, with what differs', async () => {
  const few = newFile(JSON.stringify({ routes: ROUTES.slice(3, 6) }), 'portcullis.json')
  const near = async (...words: string[]) =>
    JSON.parse((await command(['route', 'explain', ...words, '--config', few, '--json'])).stdout)
  expect(await near('POST', `${API}/quotas/items`)).toEqual({
    matched: false,
    refused: 'NO_ROUTE',
    detail: 'no route has this method, host and path',
    near: [
      {
        route: { index: 0, path: '/quotas/items', methods: ['GET', 'HEAD'], api: 'cloud-quotas' },
        differs: 'method',
      },
    ],
  })
  const differing = async (...words: string[]) =>
    (await near(...words)).near.map((each: { route: { index: number }; differs: string }) => [
      each.route.index,
      each.differs,
    ])
  expect(await differing('GET', 'https://other.example/v2/1/servers/9')).toEqual([[1, 'host']])
  expect(await differing('GET', `${API}/v2/1/server`)).toEqual([[1, 'path']])
  expect(await differing('GET', `${API}/v3`)).toEqual([])
})

test('a URL is taken as it is written', async () => {
  const urls = [
    `${API}/a/../iam`,
    `${API}/iam#x`,
    `${API}./iam`,
    'https://user@api.example.com/iam',
    'ftp://api.example.com/iam',
    '*',
  ]
  const refusals: unknown[] = []
  for (const url of urls) refusals.push(JSON.parse((await explain('GET', url, '--json')).stdout).refused)
  expect(refusals).toEqual(urls.map(() => 'NOT_CANONICAL'))
  expect(JSON.parse((await explain('GET', `${API}?x`, '--json')).stdout)).toMatchObject({ api: 'balance' })
})

test.each<[claim: string, content: object, message: string]>([
  ['no routes', {}, ': routes: expected a list of routes'],
  [
    'an unknown API',
    { routes: [{ path: '/', api: 'balances' }] },
    ':1: routes[0].api: expected the id of an API of the matrix',
  ],
  [
    'no place of the account',
    { routes: [{ path: '/', api: 'iam', target: { account: {} } }] },
    ':1: routes[0].target.account: expected exactly one of segment, header and fixed',
  ],
  [
    'a path that a pattern cannot say',
    { routes: [{ path: '/compare/{base}...{head}', api: 'iam' }] },
    ":1: routes[0].path: expected a path that begins with a slash, whose segments are letters, digits and -._~!$&'()*+,=:@, or end with {name}; the nearest is /compare/{base_head}, where a name takes the whole rest of its segment",
  ],
])('a configuration with %s cannot be used', async (_claim, content, message) => {
  const config = newFile(JSON.stringify(content), 'portcullis.json')
  const ended = await command(['route', 'explain', 'GET', '/', '--config', config])
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toContain(`${config}${message}`)
})

test('the configuration must be named', async () => {
  expect(await command(['route', 'explain', 'GET', '/'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'portcullis: --config: expected the configuration file with the routes\n',
  })
})
