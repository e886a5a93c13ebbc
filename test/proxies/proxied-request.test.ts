/** The request that a proxy asks about, read from the headers by which it describes it. */
import { describe, expect, test } from 'vitest'
import { overridesPath, readProxiedRequest } from '../../sidecar/proxies/proxied-request.ts'
import { PATH_OVERRIDES } from '../../sidecar/rules/routes/overrides.ts'

/** Headers by their names in lower case, as Node has them. */
type Distinct = Readonly<Record<string, string[]>>

const read = (headersDistinct: Distinct) => readProxiedRequest({ headersDistinct })

const NGINX = {
  'x-original-method': ['GET'],
  'x-original-uri': ['/v1?x=/y'],
  'x-forwarded-host': ['api.example'],
}
const FORWARD_AUTH = {
  'x-forwarded-method': ['PUT'],
  'x-forwarded-uri': ['/v2'],
  'x-forwarded-host': ['api.example'],
}
const ofUrl = (url: string, ...host: string[]): Distinct => ({
  ...{ 'x-original-method': ['GET'], 'x-original-url': [url] },
  ...(host.length > 0 && { 'x-forwarded-host': host }),
})

test.each<[what: string, headers: Distinct, request: object]>([
  ['nginx', NGINX, { method: 'GET', host: 'api.example', target: '/v1?x=/y' }],
  ['Traefik', FORWARD_AUTH, { method: 'PUT', host: 'api.example', target: '/v2' }],
  ['a URL', ofUrl('https://api.example:8443/v1?x'), { host: 'api.example:8443', target: '/v1?x' }],
  ['a URL in capitals', ofUrl('HTTP://API.example/v1'), { host: 'API.example', target: '/v1' }],
  ['a URL and its host', ofUrl('http://API.example/v1', 'api.EXAMPLE'), { host: 'api.EXAMPLE' }],
  ['a URL without a path', ofUrl('http://api.example'), { host: 'api.example', target: '' }],
  ['a URL with a query alone', ofUrl('http://api.example?x'), { host: 'api.example', target: '?x' }],
  // Then the routes refuse it.
  ['a path in place of a URL', ofUrl('/v1', 'api.example'), { host: 'api.example', target: '/v1' }],
  ['a URL of two lines', ofUrl('http://a/v1\n', 'a'), { host: 'a', target: 'http://a/v1\n' }],
  ['another scheme', ofUrl('xhttp://a/v1', 'a'), { host: 'a', target: 'xhttp://a/v1' }],
  [
    'a whole URL where a path belongs',
    { ...NGINX, 'x-original-uri': ['http://api.example/v1'] },
    { host: 'api.example', target: 'http://api.example/v1' },
  ],
])('a request as %s describes it', (_what, headers, request) => {
  expect(read(headers)).toMatchObject(request)
})

const METHOD =
  'X-Original-Method: expected one header X-Original-Method or X-Forwarded-Method, which the proxy writes'
const URI =
  'X-Original-URI: expected one header X-Original-URI or X-Forwarded-Uri or X-Original-URL, which the proxy writes'
const HOST = 'X-Forwarded-Host: expected one header X-Forwarded-Host, which the proxy writes'
const OTHER_HOST = 'X-Forwarded-Host: expected the host of X-Original-URL'

test.each<[what: string, headers: Distinct, problems: string[]]>([
  ['nothing', {}, [METHOD, URI, HOST]],
  ['an empty method', { ...NGINX, 'x-original-method': [''] }, [METHOD]],
  ['two methods', { ...NGINX, 'x-original-method': ['GET', 'GET'] }, [METHOD]],
  ['a method of each name', { ...NGINX, 'x-forwarded-method': ['GET'] }, [METHOD]],
  ['two paths', { ...NGINX, 'x-forwarded-uri': ['/v1'] }, [URI]],
  ['a path beside a URL', { ...NGINX, ...ofUrl('http://api.example/v1') }, [URI]],
  ['two hosts', { ...NGINX, 'x-forwarded-host': ['a', 'b'] }, [HOST]],
  ['a URL and an empty host', ofUrl('http://api.example/v1', ''), [HOST, OTHER_HOST]],
  ['a URL and another host', ofUrl('http://api.example/v1', 'other.example'), [OTHER_HOST]],
  ['a URL and two hosts', ofUrl('http://a/v1', 'a', 'a'), [HOST, OTHER_HOST]],
])('%s is refused, and what is wrong is named', (_what, headers, problems) => {
  expect(() => read(headers)).toThrow(
    expect.objectContaining({ reason: 'INVALID_ARGUMENT', message: problems.join('; ') }),
  )
})

test('every header of the request can be asked for, but the proxy’s own word for the path', () => {
  const { header } = read({ ...ofUrl('http://api.example/v1'), 'x-account': ['1', '2'] })
  expect(header('x-account')).toEqual(['1', '2'])
  expect(header('x-other')).toBeUndefined()
  expect(header('x-original-url')).toBeUndefined()
})

describe('the path is overridden', () => {
  test.each(PATH_OVERRIDES)('by %s, beside the path of the proxy', (name) => {
    for (const path of ['x-original-uri', 'x-forwarded-uri'])
      expect(overridesPath({ headersDistinct: { [path]: ['/v1'], [name]: ['/v2'] } })).toBe(true)
    // That is the proxy's own, where it says nothing else.
    expect(overridesPath({ headersDistinct: { [name]: ['/v2'] } })).toBe(name !== 'x-original-url')
  })

  test.each([{}, NGINX, FORWARD_AUTH, ofUrl('/v1')])('by none of %j', (headersDistinct) => {
    expect(overridesPath({ headersDistinct })).toBe(false)
  })
})
