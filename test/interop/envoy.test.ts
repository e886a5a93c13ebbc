/**
 * A real Envoy before a real server, as examples/envoy configure it: the requests that pass, those that do
 * not, and what the server sees.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Envoy, installEnvoy, launchEnvoy } from '../support/interop/envoy.ts'
import {
  addRoute,
  type EnvoyConfiguration,
  envoyExample,
  leaveToSidecar,
} from '../support/interop/interop-ext-authz.ts'
import { obtained } from '../support/interop/obtain.ts'
import { ENVOY_TOKEN, type People, peopleBehindEnvoy } from '../support/proxies/behind-envoy.ts'
import { PROXY_SECRET } from '../support/proxies/proxied.ts'
import { ask, startTarget, type TargetServer } from '../support/sidecar/egress.ts'
import { ACCOUNT, OTHER_ACCOUNT, type RunningSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, whenTheFileEnds } from '../support/suite/resources.ts'

const program = await obtained('Envoy', installEnvoy)

type Headers = Readonly<Record<string, string | readonly string[]>>

/** How Envoy asks. */
interface Mode {
  readonly mode: string
  readonly file: 'envoy.yaml' | 'envoy-http.yaml'
  /** Whether the routes of the sidecar say which API a request is for, and not those of Envoy. */
  readonly isRouted?: true
  readonly change: (configuration: EnvoyConfiguration) => void
}

const MODES: readonly Mode[] = [
  { mode: 'gRPC, headers joined', file: 'envoy.yaml', change: () => {} },
  {
    mode: 'gRPC, headers as they came',
    file: 'envoy.yaml',
    change: ({ filter }) => Object.assign(filter, { encode_raw_headers: true }),
  },
  {
    mode: 'gRPC, where Envoy drops no header and lets requests pass when a call fails',
    file: 'envoy.yaml',
    change: ({ filter, manager }) => {
      filter.failure_mode_allow = true
      manager.common_http_protocol_options = {}
    },
  },
  { mode: 'gRPC, by the routes of the sidecar', file: 'envoy.yaml', isRouted: true, change: leaveToSidecar },
  { mode: 'HTTP', file: 'envoy-http.yaml', isRouted: true, change: () => {} },
]

describe.skipIf(!program.ok).each(MODES)('$mode', ({ file, isRouted = false, change }) => {
  const isGrpc = file === 'envoy.yaml'
  let people: People
  let sidecar: RunningSidecar
  let application: TargetServer
  let envoy: Envoy

  beforeAll(async () => {
    people = await peopleBehindEnvoy()
    sidecar = await people.run({ 'http.address': '127.0.0.1:0' }, isRouted ? { routes: ROUTES } : {})
    application = await startTarget()
    envoy = await start(change)
  })

  async function start(more: Mode['change']): Promise<Envoy> {
    const portcullis = isGrpc ? sidecar.address : (sidecar.sidecar.httpAddress ?? '')
    const configuration = envoyExample(file, { portcullis, application: new URL(application.url).host })
    if (isGrpc)
      configuration.filter.grpc_service.initial_metadata = [
        { key: 'authorization', value: `Bearer ${ENVOY_TOKEN}` },
      ]
    else configuration.filter.http_service.authorization_request.headers_to_add[0].value = PROXY_SECRET
    if (isGrpc) for (const [prefix, context] of CONTEXTS) addRoute(configuration, prefix, context)
    more(configuration)
    const started = await launchEnvoy(program.ok ? program.value : '', configuration.whole)
    whenTheFileEnds(() => started.stop())
    return started
  }

  /** The answer, and the requests that reached the application. */
  async function sendTo({ address }: Envoy, path: string, headers: Headers, method = 'GET') {
    application.received.length = 0
    const {
      status,
      headers: answered,
      text,
    } = await ask(address, path, {
      method,
      headers: headers as Record<string, string>,
    })
    const json = /^\{/.test(text) ? JSON.parse(text) : undefined
    return {
      status,
      headers: answered,
      reason: json?.error?.reason,
      json,
      received: [...application.received],
    }
  }
  const send = (path: string, headers: Headers, method?: string) => sendTo(envoy, path, headers, method)
  const iam = () => ({ 'x-auth-token': people.account })

  test('a request that may pass reaches the application, which learns who sent it', async () => {
    const { status, received } = await send('/billing/items?limit=10', iam())
    expect([status, received.length]).toEqual([200, 1])
    expect(received[0]?.url).toBe('/billing/items?limit=10')
    expect(received[0]?.headers).toMatchObject({
      'x-auth-token': people.account,
      'x-portcullis-account': ACCOUNT,
      'x-portcullis-kind': 'iam_token_account_scoped',
      'x-portcullis-user-name': 'account',
      'x-portcullis-user-type': 'service_user',
      'x-portcullis-token-id': people.tokenId,
      'x-portcullis-rules-digest': sidecar.sidecar.rulesDigest,
    })
    expect(received[0]?.headers).not.toHaveProperty('x-portcullis-project')
  })

  test('a project is among what it learns', async () => {
    const { received } = await send('/cdn/', { 'x-auth-token': people.project })
    expect(received[0]?.headers).toMatchObject({ 'x-portcullis-project': 'alpha' })
  })

  test('the claims of a client about itself do not reach the application', async () => {
    const forged = {
      'X-Portcullis-Account': [OTHER_ACCOUNT, OTHER_ACCOUNT],
      'x-portcullis-project': 'beta',
      'X-Portcullis-Authority': 'forged',
      'X-Portcullis-Anything': 'forged',
      X_Portcullis_Kind: 'forged',
      'x-portcullis_user_id': 'forged',
      'X-Portcullis-Proxy-Secret': 'forged',
    }
    const { status, received } = await send('/billing/', { ...iam(), ...forged })
    expect([status, received.length]).toEqual([200, 1])
    const texts = received[0]?.rawHeaders ?? []
    expect(texts.filter((text) => ['forged', 'beta', OTHER_ACCOUNT, PROXY_SECRET].includes(text))).toEqual([])
    expect(received[0]?.headers['x-portcullis-account']).toBe(ACCOUNT)
  })

  test.each([
    'close, x-portcullis-project, x-portcullis-account',
    'X-Portcullis-Kind',
    'x-portcullis-rules-digest, x-auth-token-2',
  ])('a client cannot have facts removed that are about it: Connection: %s', async (connection) => {
    // A proxy removes what `Connection` lists. Envoy does it when the request arrives, and the facts come
    // later.
    const { status, received } = await send('/cdn/', { 'x-auth-token': people.project, connection })
    expect([status, received.length]).toEqual([200, 1])
    expect(received[0]?.headers).toMatchObject({
      'x-portcullis-account': ACCOUNT,
      'x-portcullis-project': 'alpha',
      'x-portcullis-kind': 'iam_token_project_scoped',
      'x-portcullis-rules-digest': sidecar.sidecar.rulesDigest,
    })
    expect(received[0]?.headers.connection ?? '').not.toContain('portcullis')
  })

  if (isGrpc)
    test('not in a request for an upgrade either, which Envoy passes on as it came', async () => {
      const upgrading = await start(({ manager }) => {
        manager.upgrade_configs = [{ upgrade_type: 'websocket' }]
      })
      const headers = { ...iam(), upgrade: 'websocket', connection: 'Upgrade, x-portcullis-account' }
      const answer = await sendTo(upgrading, '/billing/', headers)
      expect([answer.status, answer.reason, answer.received]).toEqual([403, 'NOT_CANONICAL', []])
    })

  test('no header that overrides the path reaches the application', async () => {
    const overriding = { 'X-Original-URL': '/servers/1', 'X-Rewrite-URL': '/servers/1' }
    const { status, received } = await send('/billing/', { ...iam(), ...overriding })
    // Over HTTP such headers are not passed on to the sidecar, which would refuse them as it does over gRPC.
    expect([status, received.length]).toEqual(isRouted && isGrpc ? [403, 0] : [200, 1])
    expect(received[0]?.rawHeaders.filter((text) => text === '/servers/1') ?? []).toEqual([])
  })

  test.each<[what: string, path: string, headers: () => Headers, status: number, reason: string]>([
    ['no credential', '/billing/', () => ({}), 401, 'CREDENTIAL_MISSING'],
    [
      'a credential twice',
      '/billing/',
      () => ({ 'x-auth-token': [people.account, people.account] }),
      401,
      'CREDENTIAL_AMBIGUOUS',
    ],
    [
      'a credential with a comma',
      '/billing/',
      () => ({ 'x-auth-token': `${people.account}, x` }),
      401,
      'CREDENTIAL_AMBIGUOUS',
    ],
    ['another project', '/cdn/', () => ({ 'x-auth-token': people.beta }), 403, 'PROJECT_MISMATCH'],
    [
      'an address that the client claims',
      '/billing/',
      () => ({ 'x-auth-token': people.restricted, 'x-forwarded-for': '203.0.113.1' }),
      403,
      'ADDRESS_NOT_ALLOWED',
    ],
  ])('%s is denied, and the application sees nothing of it', async (_what, path, headers, status, reason) => {
    const answer = await send(path, headers())
    expect(answer).toMatchObject({ status, reason, received: [] })
    expect(answer.json.error.accepted).toEqual(expect.any(Array))
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.headers['www-authenticate'] !== undefined).toBe(status === 401)
  })

  test('a denial says what would have been accepted', async () => {
    const { json } = await send('/servers/1', { 'x-token': people.staticToken })
    expect(json).toEqual({
      error: {
        reason: 'TOKEN_KIND_NOT_ACCEPTED',
        message: expect.stringContaining('dedicated-servers'),
        accepted: [
          { kind: 'iam_token_account_scoped', header: 'X-Auth-Token', issuable: true, obtained: 'issue' },
          { kind: 'iam_token_project_scoped', header: 'X-Auth-Token', issuable: true, obtained: 'issue' },
        ],
      },
    })
  })

  test.each(['POST', 'PUT', 'OPTIONS', 'HEAD', 'PROPFIND'])('%s is asked about like GET', async (method) => {
    expect((await send('/billing/', iam(), method)).status).toBe(200)
    expect(await send('/billing/', {}, method)).toMatchObject({ status: 401, received: [] })
  })

  test.each([
    '/billing/../servers/',
    '/billing/%2e%2e/servers/',
    '//servers/',
    '/billing/..%2fservers/',
    '/servers/.',
  ])('the application gets the path %s as it was asked about', async (path) => {
    const { received } = await send(path, { 'x-token': people.staticToken })
    // A static token opens the one and not the other.
    for (const { url = '' } of received) expect(new URL(url, 'http://a').pathname).toMatch(/^\/billing\//)
    expect(received.filter(({ url }) => url?.includes('servers'))).toEqual([])
  })

  test('a request about which nothing can be decided does not pass', async () => {
    // The route of Envoy names no API, or the path is in no route of the sidecar.
    const answer = await send('/elsewhere', iam())
    expect(answer.received).toEqual([])
    expect([answer.status, answer.reason]).toEqual(isRouted ? [403, 'NO_ROUTE'] : [500, 'INVALID_ARGUMENT'])
  })

  if (isRouted)
    test('the path says whose resource it is', async () => {
      expect((await send(`/accounts/${ACCOUNT}/`, iam())).status).toBe(200)
      const answer = await send(`/accounts/${OTHER_ACCOUNT}/`, iam())
      expect(answer).toMatchObject({ status: 403, reason: 'ACCOUNT_MISMATCH', received: [] })
    })

  if (isGrpc)
    test('the address of the client is the one that proxies of the operator saw', async () => {
      const from = (forwarded: string) =>
        send('/restricted/', { 'x-auth-token': people.restricted, 'x-forwarded-for': forwarded })
      // Envoy adds the address of its client, which is the proxy before it.
      expect((await from('198.51.100.1, 203.0.113.1')).status).toBe(200)
      expect((await from('203.0.113.1, 198.51.100.1')).reason).toBe('ADDRESS_NOT_ALLOWED')
    })

  if (isGrpc)
    test('the credential of a profile takes the place of that of the client', async () => {
      const { status, received } = await send('/behind/', { ...iam(), X_Auth_Token: 'x', Cookie: 'a=b' })
      expect([status, received.length]).toEqual([200, 1])
      const { headers, rawHeaders } = received[0] as (typeof received)[number]
      const credentials = [['X-Auth-Token', String(headers['x-auth-token'])]] as const
      expect(await sidecar.client.check({ api: 'balance', credentials })).toMatchObject({
        allowed: true,
        token: { subject: { name: 'stranger' } },
      })
      expect(rawHeaders.map((text) => text.toLowerCase())).not.toContain('x_auth_token')
      expect(rawHeaders).not.toContain(people.account)
      expect(headers).toMatchObject({ cookie: 'a=b', 'x-portcullis-user-name': 'account' })
      expect(await send('/behind/', {})).toMatchObject({ status: 401, received: [] })
    })

  if (isGrpc)
    test('the log of Envoy says why, and whose token it was', async () => {
      await send('/billing/logged', iam())
      await send('/billing/denied', {})
      const lines = await eventually(async () => {
        const logged = envoy
          .stdout()
          .split('\n')
          .filter((line) => /logged|denied/.test(line))
        return logged.length >= 2 && logged
      })
      expect(lines.map((line) => JSON.parse(line))).toEqual([
        { status: 200, path: '/billing/logged', reason: 'ALLOWED', account: ACCOUNT, user: 'account' },
        { status: 401, path: '/billing/denied', reason: 'CREDENTIAL_MISSING', account: null, user: null },
      ])
    })

  if (!isGrpc)
    test('over HTTP a credential is replaced, and headers become metadata', async () => {
      const { received } = await sendTo(
        await start(({ filter, manager }) => {
          const { authorization_request: request, authorization_response: response } = filter.http_service
          filter.http_service.path_prefix = `/ext-authz/api=balance,account=${ACCOUNT},credential_profile=gateway`
          request.headers_to_add.push({ key: 'proxy-authorization', value: `Bearer ${ENVOY_TOKEN}` })
          response.allowed_upstream_headers.patterns.push({ exact: 'x-auth-token' }, { exact: 'x-token' })
          response.dynamic_metadata_from_headers = { patterns: [{ prefix: 'x-portcullis-' }] }
          // The server behind Envoy learns of the metadata by a header.
          manager.route_config.request_headers_to_add = [
            {
              header: {
                key: 'x-metadata',
                value: '%DYNAMIC_METADATA(envoy.filters.http.ext_authz:x-portcullis-user-name)%',
              },
            },
          ]
        }),
        '/billing/',
        iam(),
      )
      expect(received).toHaveLength(1)
      const { headers, rawHeaders } = received[0] as (typeof received)[number]
      expect(headers).toMatchObject({ 'x-metadata': 'account', 'x-portcullis-account': ACCOUNT })
      expect(rawHeaders).not.toContain(people.account)
      const credentials = [['X-Auth-Token', String(headers['x-auth-token'])]] as const
      expect(await sidecar.client.check({ api: 'balance', credentials })).toMatchObject({
        allowed: true,
        token: { subject: { name: 'stranger' } },
      })
    })

  test('without a sidecar nothing passes', async () => {
    const alone = await start(({ filter }) => {
      filter.failure_mode_allow = false
    })
    await sidecar.sidecar.close()
    application.received.length = 0
    const { status } = await ask(alone.address, '/billing/', { headers: iam() })
    expect([status, application.received]).toEqual([503, []])
  })
})

/** Further routes of Envoy. */
const CONTEXTS = [
  ['/restricted/', { api: 'balance', trusted_hops: '2' }],
  ['/behind/', { api: 'balance', account: ACCOUNT, credential_profile: 'gateway' }],
  ['/cdn/', { api: 'cdn', account: ACCOUNT, project: 'alpha' }],
] as const

/** Routes of the sidecar, which say what those of Envoy say otherwise. */
const ROUTES = [
  { path: '/billing/', api: 'balance' },
  { path: '/servers/', api: 'dedicated-servers' },
  { path: '/accounts/{account}/', api: 'balance', target: { account: { segment: 'account' } } },
  { path: '/restricted/', api: 'balance' },
  { path: '/behind/', api: 'balance', target: { account: { fixed: ACCOUNT } } },
  { path: '/cdn/', api: 'cdn', target: { account: { fixed: ACCOUNT }, project: { fixed: 'alpha' } } },
]
