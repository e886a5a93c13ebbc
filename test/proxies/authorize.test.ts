/**
 * `GET /authorize`: the answers to a proxy and the sources that they rely on. Every other case keeps the
 * request out.
 */
import { describe, expect, test } from 'vitest'
import supportMatrix from '../../matrix/support-matrix.json' with { type: 'json' }
import { ACCOUNT, OTHER_ACCOUNT, type RequestHeaders, startIdentity } from '../support/identity/identity.ts'
import { httpBehindProxy, PROXY_SECRET } from '../support/proxies/proxied.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const ROUTES = [
  { host: 'api.example.com', path: '/balance/', api: 'balance' },
  { path: '/servers/{account}/', api: 'dedicated-servers', target: { account: { segment: 'account' } } },
  {
    path: '/clusters/{project}/',
    api: 'managed-kubernetes',
    target: { account: { fixed: ACCOUNT }, project: { segment: 'project' } },
  },
  { path: '/tickets/', methods: ['GET'], api: 'tickets' },
  { path: '/invoices/', api: 'balance', target: { account: { header: 'X-Account' } } },
]
const config = newFile(
  JSON.stringify({ http: httpBehindProxy({ authorize: true }), routes: ROUTES }),
  'config.json',
)
const sidecar = await startIdentity({ config })
const { ask, tokenFor, staticToken, running } = sidecar
const tokens = {
  account: await tokenFor({}),
  project: await tokenFor({ user: 'alpha', project: 'alpha' }),
  stranger: await tokenFor({ user: 'stranger', account: OTHER_ACCOUNT }),
}
const CREDENTIALS = {
  account: { 'x-auth-token': tokens.account },
  project: { 'x-auth-token': tokens.project },
  stranger: { 'x-auth-token': tokens.stranger },
  static: { 'x-token': staticToken },
  none: {},
} satisfies Record<string, RequestHeaders>

const PROXY = { 'x-portcullis-proxy-secret': PROXY_SECRET, 'x-forwarded-for': '203.0.113.5' }

/** A request as nginx describes it. */
const described = (uri: string, method = 'GET', host = 'api.example.com') => ({
  ...PROXY,
  'x-original-method': method,
  'x-original-uri': uri,
  'x-forwarded-host': host,
})
const authorize = (headers: RequestHeaders, more = '', method = 'GET') =>
  ask({ method, path: `/authorize${more}`, headers })

describe('the routes say which API a request is for', () => {
  test.each<
    [credential: keyof typeof CREDENTIALS, uri: string, method: string, status: number, reason?: string]
  >([
    ['account', '/balance/', 'GET', 200],
    ['none', '/balance/', 'GET', 401, 'CREDENTIAL_MISSING'],
    ['account', `/servers/${ACCOUNT}/1`, 'DELETE', 200],
    ['account', `/servers/${OTHER_ACCOUNT}/1`, 'GET', 403, 'ACCOUNT_MISMATCH'],
    ['static', '/tickets/1', 'DELETE', 403, 'NO_ROUTE'],
    ['account', `/servers/${ACCOUNT}/../${OTHER_ACCOUNT}/1`, 'GET', 403, 'NOT_CANONICAL'],
  ])('%s for %s by %s: %i %s', async (credential, uri, method, status, reason) => {
    const answer = await authorize({ ...described(uri, method), ...CREDENTIALS[credential] })
    expect([answer.status, answer.json?.error.reason]).toEqual([status, reason])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['www-authenticate'] !== undefined).toBe(status === 401)
  })

  test.each<[claim: string, headers: RequestHeaders, status: number, reason?: string]>([
    ['its own account', { 'X-Account': ACCOUNT }, 200],
    ['the account of others', { 'X-Account': OTHER_ACCOUNT }, 403, 'ACCOUNT_MISMATCH'],
    ['no account', {}, 403, 'TARGET_NOT_FOUND'],
  ])('and whose resource it is, by a header: %s', async (_claim, account, status, reason) => {
    const answer = await authorize({ ...described('/invoices/1'), ...CREDENTIALS.account, ...account })
    expect([answer.status, answer.json?.error.reason]).toEqual([status, reason])
  })

  test.each([
    'X-Portcullis-Account',
    'X-Portcullis-Anything',
    'x_portcullis_kind',
    'X-Portcullis-Proxy_Secret',
  ])('a request that says %s of itself is denied, because the proxy may not take it out', async (name) => {
    for (const more of ['', '/balance']) {
      const answer = await authorize({ ...described('/balance/'), ...CREDENTIALS.account, [name]: '1' }, more)
      expect([answer.status, answer.json?.error.reason]).toEqual([403, 'NOT_CANONICAL'])
    }
  })

  const url = `https://api.example.com/servers/${ACCOUNT}/1`
  test.each<[claim: string, headers: RequestHeaders, status: number]>([
    [
      'Caddy and Traefik',
      { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/balance', 'x-forwarded-host': 'api.example.com' },
      200,
    ],
    ['Ingress NGINX', { 'x-original-method': 'GET', 'x-original-url': url }, 200],
    ['no method', { 'x-original-uri': '/balance', 'x-forwarded-host': 'api.example.com' }, 500],
    ['nothing', {}, 500],
  ])('in the words of %s: %i', async (_claim, headers, status) => {
    const answer = await authorize({ ...PROXY, ...headers, ...CREDENTIALS.account })
    expect(answer.status).toBe(status)
    if (status === 500) expect(answer.json.error.reason).toBe('INVALID_ARGUMENT')
  })

  test.each<[claim: string, headers: RequestHeaders]>([
    ['method', { 'x-forwarded-method': 'GET' }],
    ['URI', { 'x-forwarded-uri': '/balance/' }],
    ['URL', { 'x-original-url': 'https://api.example.com/balance/' }],
    ['host', { 'x-forwarded-host': ['api.example.com', 'api.example.com'] }],
  ])('a %s that the client adds under another name, or twice, lets nothing in', async (_claim, headers) => {
    const answer = await authorize({ ...described('/tickets/1'), ...headers, ...CREDENTIALS.account })
    expect(answer.status).toBe(500)
  })
})

describe('the path of the proxy says which API it is', () => {
  test.each<[credential: keyof typeof CREDENTIALS, path: string, status: number, reason?: string]>([
    ['account', '/balance', 200],
    ['account', '/nothing', 403, 'UNKNOWN_API'],
    ['account', '/%00', 403, 'UNKNOWN_API'],
  ])('%s at /authorize%s: %i %s', async (credential, path, status, reason) => {
    // The client's own description of its request does not matter then.
    const headers = { ...described('/tickets/1'), ...CREDENTIALS[credential] }
    const answer = await authorize(headers, path)
    expect([answer.status, answer.json?.error.reason]).toEqual([status, reason])
  })

  test('nothing deeper is answered', async () => {
    expect((await authorize({ ...PROXY, ...CREDENTIALS.account }, '/balance/x')).status).toBe(404)
  })

  test.each(['?api=balance', '?api=balance&api=tickets', '?/balance', '?x=1'])(
    'the query %s does not, which some proxies take from the client',
    async (query) => {
      const headers = { ...described('/tickets/1'), ...CREDENTIALS.account }
      expect((await authorize(headers, query)).json.error.reason).toBe('TOKEN_KIND_NOT_ACCEPTED')
    },
  )

  test.each<[headers: RequestHeaders]>([
    [{ 'x-rewrite-url': '/balance' }],
    [{ x_rewrite_url: '/balance' }],
    // Caddy describes the request by other names, so this one is the client's.
    [{ 'x-forwarded-uri': '/balance', 'x-original-url': '/tickets' }],
  ])('a header that overrides the path of the client keeps the request out: %j', async (overriding) => {
    const answer = await authorize({ ...PROXY, ...CREDENTIALS.account, ...overriding }, '/balance')
    expect([answer.status, answer.json.error.reason]).toEqual([403, 'NOT_CANONICAL'])
  })

  test('the description of Ingress NGINX does not', async () => {
    const described = { 'x-original-method': 'GET', 'x-original-url': 'https://api.example.com/balance' }
    const answer = await authorize({ ...PROXY, ...CREDENTIALS.account, ...described }, '/balance')
    expect(answer.status).toBe(200)
  })

  test('no header does', async () => {
    const headers = { ...described('/tickets/1'), ...CREDENTIALS.account, 'x-api': 'balance' }
    expect((await authorize(headers)).json.error.reason).toBe('TOKEN_KIND_NOT_ACCEPTED')
  })
})

test('the sender that it lets in is in the headers of the answer, which has no body', async () => {
  const { status, headers, text } = await authorize({
    ...described('/clusters/alpha/'),
    ...CREDENTIALS.project,
  })
  const told = Object.entries(headers).filter(([name]) => name.startsWith('x-portcullis-'))
  expect([status, text]).toEqual([200, ''])
  expect(Object.fromEntries(told)).toEqual({
    'x-portcullis-account': ACCOUNT,
    // No other authority verifies the token. The header is there, so that none of a client's stays.
    'x-portcullis-authority': '',
    'x-portcullis-kind': 'iam_token_project_scoped',
    'x-portcullis-project': 'alpha',
    'x-portcullis-rules-digest': running.sidecar.rulesDigest,
    'x-portcullis-token-id': expect.any(String),
    'x-portcullis-user-id': expect.any(String),
    'x-portcullis-user-name': 'alpha',
    'x-portcullis-user-type': 'service_user',
    // It is there for the same reason.
    'x-portcullis-would-deny': '',
  })
})

test('HEAD is answered like GET, without a body; other methods are refused', async () => {
  const head = await authorize({ ...described('/nowhere'), ...CREDENTIALS.account }, '', 'HEAD')
  expect([head.status, head.text]).toEqual([403, ''])
  const post = await ask({ method: 'POST', path: '/authorize', headers: PROXY })
  expect(post.status).toBe(405)
})

describe('only the proxy', () => {
  test.each<[claim: string, headers: RequestHeaders]>([
    ['without its secret', {}],
    ['with another secret', { 'x-portcullis-proxy-secret': 'x'.repeat(PROXY_SECRET.length) }],
    ['with its secret twice', { 'x-portcullis-proxy-secret': [PROXY_SECRET, PROXY_SECRET] }],
  ])('is answered: %s', async (_claim, secret) => {
    const { 'x-portcullis-proxy-secret': _, ...headers } = described('/balance/')
    const answer = await authorize({ ...headers, ...secret, ...CREDENTIALS.account })
    expect(answer.status).toBe(403)
    expect(answer.json.error.message).toMatch(/^expected a proxy of http\.trusted_proxies/)
  })

  test('but its client may be a browser, at whatever host', async () => {
    const headers = {
      ...described('/balance/'),
      ...CREDENTIALS.account,
      host: 'api.example.com',
      origin: 'https://a.example',
    }
    expect((await authorize(headers)).status).toBe(200)
    expect((await ask({ path: '/healthz', headers: { ...PROXY, origin: 'https://a.example' } })).status).toBe(
      403,
    )
  })
})

test('a fault that the proxy cannot fix is in the log alone, and counted', async () => {
  for (let time = 0; time < 5; time++) {
    const answer = await authorize({ ...PROXY, ...CREDENTIALS.account, 'x-original-method': 'TRACED' })
    expect(answer.text).not.toContain('X-Original')
  }
  const expected =
    'X-Original-URI: expected one header X-Original-URI or X-Forwarded-Uri or X-Original-URL, which the proxy writes; X-F'
  expect(running.logLines.filter((line) => line.includes(`"problem":"${expected}`))).toHaveLength(1)
  expect(
    running.logLines.filter((line) => line.includes(PROXY_SECRET) || line.includes(tokens.account)),
  ).toEqual([])
})

describe('it is off', () => {
  test('by default', async () => {
    const { ask: askOff } = await startIdentity()
    expect((await askOff({ path: '/authorize/balance' })).status).toBe(404)
  })

  test('without proxies: such a configuration does not start', async () => {
    const starting = runSidecar({
      config: newFile(JSON.stringify({ http: { authorize: true } }), 'config.json'),
    })
    await expect(starting).rejects.toThrow('http.authorize: expected http.trusted_proxies too')
  })
})

describe('the JSON of a refusal is in a header too, for proxies that drop the body', () => {
  const HEADER = 'x-portcullis-denial'

  test.each<[claim: string, headers: RequestHeaders, more: string]>([
    ['no credential', PROXY, '/balance'],
    ['another kind', { ...PROXY, ...CREDENTIALS.static }, '/iam'],
    ['no route', described('/nowhere'), ''],
    ['headers of a client', { ...PROXY, 'x-portcullis-account': '1' }, '/balance'],
  ])('%s: the whole body', async (_claim, headers, more) => {
    const answer = await authorize(headers, more)
    expect([401, 403]).toContain(answer.status)
    expect(answer.headers[HEADER]).toBe(answer.text)
  })

  test('not with a permission', async () => {
    const { status, headers } = await authorize({ ...PROXY, ...CREDENTIALS.account }, '/balance')
    expect([status, headers]).toEqual([200, expect.not.objectContaining({ [HEADER]: expect.anything() })])
  })

  test('in ASCII, and without what would have been accepted where it is too long', async () => {
    const kinds = Array.from({ length: 16 }, (_, index) => ({
      ...supportMatrix.tokenKinds[0],
      id: `${'key_'.repeat(12)}${index}`,
      title: index === 0 ? 'ключ 0' : `key ${index}`,
      header: `X-${'Key-'.repeat(10)}${index}`,
    }))
    const api = { title: 'Дверь', section: '§1' }
    const matrix = newFile(
      JSON.stringify({
        title: 'Двери',
        tokenKinds: kinds,
        apis: [
          { ...api, id: 'few', accepts: [kinds[0]?.id] },
          { ...api, id: 'many', accepts: kinds.map(({ id }) => id) },
        ],
      }),
      'matrix.json',
    )
    const withoutRoutes = newFile(
      JSON.stringify({ http: httpBehindProxy({ authorize: true }) }),
      'config.json',
    )
    const other = await runSidecar({
      config: withoutRoutes,
      flags: { 'http.address': '127.0.0.1:0', matrix },
    })
    const ask = async (id: string) => {
      const response = await fetch(`http://${other.sidecar.httpAddress}/authorize/${id}`, { headers: PROXY })
      return { inHeader: response.headers.get(HEADER) ?? '', body: await response.text() }
    }
    const few = await ask('few')
    expect(few.inHeader).toMatch(/^[\x20-\x7e]+$/)
    expect(JSON.parse(few.inHeader)).toEqual(JSON.parse(few.body))
    expect(few.body).toContain('ключ 0')
    const many = await ask('many')
    expect(many.inHeader.length).toBeLessThanOrEqual(2_000)
    const { error } = JSON.parse(many.body)
    expect(error.accepted).toHaveLength(16)
    expect(JSON.parse(many.inHeader)).toEqual({ error: { reason: error.reason, message: error.message } })
  })
})
