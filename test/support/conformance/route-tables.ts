/** Routes, and requests that each show one thing about them. */
import type { RouteSetting } from '../../../sidecar/rules/routes/route.ts'
import { FOUND_ROWS, REFUSED_ROWS } from '../inputs/paths.ts'
import type { HeaderLine } from './files.ts'

export interface RequestLine {
  readonly method: string
  readonly host: string
  readonly path: string
  readonly headers?: readonly HeaderLine[]
}

export const ASKED = { method: 'GET', host: 'api.example.com', path: '/' }

export const ROWS: readonly RequestLine[] = [...FOUND_ROWS, ...REFUSED_ROWS].map(
  ({ method, host, target, headers }) => ({
    ...{ method, host, path: target },
    headers: Object.entries(headers).flatMap(([name, values]) =>
      [values].flat().map((value): HeaderLine => [name, value]),
    ),
  }),
)

/** Tables that show one thing each. */
export const TABLES: readonly (readonly [
  name: string,
  settings: readonly RouteSetting[],
  requests: readonly Partial<RequestLine>[],
])[] = [
  [
    'texts that are nearly the same',
    [
      { path: '/', api: 'all' },
      { path: '/report', api: 'page' },
      { path: '/report.csv', api: 'table' },
      { path: '/Rest/items', api: 'rest' },
      { path: '/a:b/', api: 'verb' },
      { path: '/v{version}/x', api: 'version' },
      { path: '/.well-known/', api: 'known' },
    ],
    [
      ...['/report', '/report.csv', '/report.csv.gz', '/report.pdf', '/reports', '/Report', '/report.'],
      ...['/REPORT.CSV', '/report/', '/report/x', '/Rest/items', '/rest/items', '/Rest/Items', '/Rest/other'],
      ...['/a:b/x', '/a', '/a:b', '/A:B', '/v1/x', '/v/x', '/V1/x', '/V1/y', '/v1/X', '/v1/x.json'],
      ...['/.well-known/x', '/.Well-Known', '/.well-known.json', '/...', '/..x', '/x..', '/x.', '/.x', '/~x'],
      ...[
        '/x=1+2@3',
        '/x,y',
        "/it's",
        '/x*',
        '/x!',
        '/x$',
        '/x&y',
        '/(x)',
        '/x%20y',
        '/x%C3%A9',
        '/x;y',
        '/é',
      ],
      ...['', '//', '/x//', '/x//y', '/x/', '*', 'x', '/?', '/?a=b&c', '/?a#b', '/?a b', '/x?/../y', '/x#y'],
      ...[`/${'a'.repeat(8_191)}`, `/${'a'.repeat(8_192)}`, `/${'.a'.repeat(4_000)}`, '/a'.repeat(4_000)],
    ].map((path) => ({ path })),
  ],
  [
    'a slash at the end',
    [
      { path: '/', api: 'all' },
      { path: '/all/', api: 'all' },
      { path: '/all/here', api: 'all' },
      { path: '/below/', api: 'below' },
      { path: '/below/here', api: 'here' },
      { path: '/both', api: 'both' },
      { path: '/both/', api: 'both' },
      { path: '/name/{x}', api: 'name' },
      { path: '/part/p-{x}/', api: 'part' },
      { path: '/deep/{x}/y/', api: 'deep', target: { account: { segment: 'x' } } },
    ],
    [
      ...['/', '/x', '/x/', '/all', '/all/', '/all/here', '/all/here/', '/below', '/below/', '/below/here'],
      ...[
        '/below/here/',
        '/below/x/',
        '/both',
        '/both/',
        '/both/x',
        '/name',
        '/name/',
        '/name/1',
        '/name/1/',
      ],
      ...['/part/p-', '/part/p-/', '/part/p-1', '/part/p-1/', '/deep', '/deep/', '/deep/1', '/deep/1/'],
      ...['/deep/1/y', '/deep/1/y/', '/deep/1/y/x', '/below/?x=/', '/below/here/?', '/both?/'],
    ].map((path) => ({ path })),
  ],
  [
    'the first text from the left',
    [
      { path: '/issues/comments/{id}', api: 'comment' },
      { path: '/issues/{n}/comments', api: 'comments' },
      { path: '/issues/{n}/', api: 'issue' },
      { path: '/issues/open/', methods: ['POST'], api: 'open' },
      { path: '/{owner}/pages/latest', api: 'latest' },
      { path: '/x-{owner}/{site}/latest', api: 'x' },
      { path: '/x-y{owner}/pages/', api: 'x-y' },
    ],
    [
      ...['/issues/comments/comments', '/issues/comments/7', '/issues/7/comments', '/issues/comments'],
      ...['/issues/comments/7/x', '/issues/open/comments', '/issues/open/x', '/issues/pages/latest'],
      ...['/a/pages/latest', '/x-a/pages/latest', '/x-ya/pages/latest', '/x-ya/sites/latest', '/x-a/pages/x'],
      ...['/a/pages/x', '/issues/', '/issues/7/', '/x-/pages/latest', '/X-a/pages/latest'],
    ].flatMap((path) => [{ path }, { path, method: 'POST' }]),
  ],
  [
    'the host before the path, and the path before the method',
    [
      { host: 'api.example.com', path: '/', api: 'host' },
      { host: 'api.example.com', path: '/only/get', methods: ['GET'], api: 'get' },
      { host: '*.example.com', path: '/admin/', api: 'wildcard' },
      { host: '*.example.com', path: '/', methods: ['PUT'], api: 'put' },
      { path: '/admin/users', api: 'any' },
      { path: '/{x}/users', methods: ['GET'], api: 'named' },
      { path: '/Only/', api: 'only' },
    ],
    ['api.example.com', 'b.example.com', 'example.org'].flatMap((host) =>
      ['/admin/users', '/admin/x', '/x/users', '/only/get', '/Only/get', '/ONLY/get', '/'].flatMap((path) =>
        ['GET', 'PUT', 'POST'].map((method) => ({ host, path, method })),
      ),
    ),
  ],
  [
    'nothing around',
    [{ path: '/below/' }, { path: '/here' }, { path: '/name/{x}' }].map((each) => ({ ...each, api: 'x' })),
    ['/below', '/below/', '/here', '/here/', '/name/1', '/name/1/', '/name/', '/'].map((path) => ({ path })),
  ],
  [
    'ports',
    [
      { path: '/', api: 'any' },
      { host: 'a.example:8443', path: '/', api: 'one' },
      { host: '*.a.example:8443', path: '/', api: 'many' },
    ],
    [
      ...['a.example:8443', 'a.example', 'a.example:443', 'a.example:08443', 'A.example:8443', 'b.example:1'],
      ...['x.a.example:8443', 'x.a.example', 'X.a.example:8443', 'x.a.example:84430', 'xa.example:8443'],
    ].map((host) => ({ host })),
  ],
  [
    'hosts',
    [
      { path: '/', api: 'any' },
      { host: 'api.example.com', path: '/', api: 'one' },
      { host: '*.example.com', path: '/', api: 'many' },
      { host: '*.eu.example.com', path: '/', api: 'eu' },
      { host: '[::1]', path: '/', api: 'six' },
    ],
    [
      ...['api.example.com', 'API.EXAMPLE.COM', 'api.example.com:443', 'x.example.com', 'x.eu.example.com'],
      ...['eu.example.com', 'example.com', 'a.b.eu.example.com', 'xapi.example.com', 'api.example.com.', ''],
      ...[
        'api.example.com:',
        'api.example.com:x',
        'api.example.com:123456',
        'a..b',
        '.example.com',
        'a_b',
        '-',
      ],
      ...[
        '[::1]',
        '[::1]:80',
        '::1',
        'api.example.com,other',
        'user@api.example.com',
        'api.example.com ',
        'é',
      ],
      ...[
        'xn--caf-dma.example',
        'ａpi.example.com',
        'a'.repeat(255),
        'a'.repeat(256),
        `${'a.'.repeat(120)}a`,
      ],
    ].map((host) => ({ host })),
  ],
  [
    'methods',
    [
      { path: '/x', methods: ['GET'], api: 'read' },
      { path: '/x', methods: ['GET', 'POST'], api: 'write' },
      { path: '/x', api: 'rest' },
      { path: '/y', methods: ['M-SEARCH'], api: 'search' },
      { path: '/z', api: 'rest' },
    ],
    [
      ...['GET', 'HEAD', 'POST', 'DELETE', 'PATCH', 'get', 'Get', 'GET ', '', 'G\u00c9T', 'PROPFIND'].map(
        (method) => ({ method, path: '/x' }),
      ),
      { method: 'M-SEARCH', path: '/y' },
      ...[
        '_method=DELETE',
        'a=b&_METHOD',
        'a;%5fmethod=x',
        '.method=',
        '+_method',
        'a=%25',
        'a%5Bb%5D=1',
      ].map((query) => ({ path: `/x?${query}` })),
      ...['method=card', 'a=_method', 'a=1&b=%2F', 'a?b%', 'a=b=%'].map((query) => ({ path: `/x?${query}` })),
      { method: 'HEAD', path: '/z' },
      { method: 'A'.repeat(32), path: '/x' },
      { method: 'A'.repeat(33), path: '/x' },
      ...[
        'X-HTTP-Method-Override',
        'x-http-method',
        'X-METHOD-OVERRIDE',
        'X_HTTP_Method',
        'X-Rewrite-URL',
      ].map((name) => ({ path: '/x', headers: [[name, '']] as const })),
      { path: '/x', headers: [['X-Original-Url', '/y']] },
      { path: '/x', headers: [['X-Original', '/y']] },
    ],
  ],
  [
    'no methods are named, so none is overridden',
    [{ path: '/x', api: 'x' }],
    [
      { path: '/x', headers: [['X-HTTP-Method-Override', 'DELETE']] },
      { path: '/x', headers: [['X-Original-URL', '/y']] },
      { path: '/x', headers: [['SCRIPT_NAME', '/y']] },
      { method: 'HEAD', path: '/x' },
      { path: '/x?_method=DELETE' },
    ],
  ],
  [
    'targets',
    [
      { path: '/s/{account}/p-{project}/', api: 's', target: bySegments() },
      {
        path: '/h/',
        api: 'h',
        target: { account: { header: 'X-Account' }, project: { header: 'X-Project' } },
      },
      {
        path: '/f/{x}/{project}',
        api: 'f',
        target: { account: { fixed: 'é, 1' }, project: { segment: 'project' } },
      },
      { path: '/a/{account}', api: 'a', target: { account: { segment: 'account' } } },
    ],
    [
      ...['/s/1/p-2/', '/s/1/p-2/x/y', '/s/1/p-', '/s/1/P-2/', '/s/1', '/s/1/p-2.json', '/f/1/2', '/f/1/2/3'],
      ...[
        '/a/1',
        '/a/1.5',
        `/a/${'1'.repeat(255)}`,
        `/a/${'1'.repeat(256)}`,
        '/a/caf%C3%A9',
        '/a/1%20',
        '/a/1,2',
      ],
    ].map((path) => ({ path })),
    ...headerRows(),
  ],
  [
    'everything',
    [{ path: '/', api: 'x' }],
    [{ path: '/' }, { path: '/A/b.c/' }, { host: '' }, { path: '/a//b' }],
  ],
  ['nothing', [], [{ path: '/' }, { path: '/x' }]],
].map(([name, settings, requests, ...more]) => [name, settings, [...(requests as []), ...more]]) as never

function bySegments(): NonNullable<RouteSetting['target']> {
  return { account: { segment: 'account' }, project: { segment: 'project' } }
}

function headerRows(): Partial<RequestLine>[] {
  const both: readonly HeaderLine[] = [
    ['X-Account', '1'],
    ['x-project', 'web'],
  ]
  const rows: readonly (readonly HeaderLine[])[] = [
    both,
    [['x-account', '1']],
    [...both, ['X-ACCOUNT', '2']],
    [
      ['x-account', '1', 2],
      ['x-project', 'web'],
    ],
    [
      ['x-account', '1', 10_000],
      ['x-project', 'web'],
    ],
    [...both, ['Accept', '*/*', 10_000]],
    [
      ['x-account', ''],
      ['x-project', 'web'],
    ],
    [
      ['x-account', '1, 2'],
      ['x-project', 'web'],
    ],
    [
      ['x-account', ' 1'],
      ['x-project', 'web'],
    ],
    [
      ['x-account', '1'],
      ['x-project', 'café'],
    ],
    [
      ['x-account', '1'],
      ['x-project', { base64: 'd2Vi/w==' }],
    ],
    [
      ['x-account', '1'],
      ['x-project', { pieces: [['p', 255]] }],
    ],
    [
      ['x-account', '1'],
      ['x-project', { pieces: [['p', 256]] }],
    ],
  ]
  return rows.map((headers) => ({ path: '/h/x', headers }))
}
