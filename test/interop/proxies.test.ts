/**
 * nginx, Caddy and HAProxy, as examples/ configure them, ask a sidecar about every request: which requests
 * pass, and as whom.
 */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { readRequestTarget } from '../../sidecar/base/request-target.ts'
import { ACCOUNT, type IdentitySidecar, OTHER_ACCOUNT, startIdentity } from '../support/identity/identity.ts'
import { CANONICAL_TARGETS, HOSTILE_TARGETS } from '../support/inputs/paths.ts'
import {
  copyExample,
  freeAddresses,
  installProxy,
  PROXIES,
  type Program,
  type RunningProxy,
  startProxy,
} from '../support/interop/proxies.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ask, exchange, startTarget, type TargetServer } from '../support/sidecar/egress.ts'
import { eventually, newFolder } from '../support/suite/resources.ts'

const SECRET = 'a-secret-that-the-proxy-alone-can-read'
const SERVERS = `/accounts/${ACCOUNT}/servers/1`
const installed = await Promise.all(
  PROXIES.map(async (name) => ({ name, program: await installProxy(name) })),
)

for (const { name, program } of installed)
  describe.skipIf(!program.ok)(name, () => behind(name, program.ok ? program.value : { path: '', env: {} }))

function behind(name: (typeof PROXIES)[number], program: Program): void {
  let sidecar: IdentitySidecar
  let application: TargetServer
  let proxy: RunningProxy & { readonly address: string }
  let tokens: Record<'account' | 'stranger' | 'static', string>

  beforeAll(async () => {
    application = await startTarget()
    const folder = newFolder()
    const addresses = { ...(await freeAddresses()), application: new URL(application.url).host }
    copyExample(name, folder, addresses)
    const secretFile = join(folder, 'proxy.secret')
    writeFileSync(secretFile, SECRET, { mode: 0o600 })
    writeFileSync(
      join(folder, 'proxy-secret.conf'),
      `proxy_set_header X-Portcullis-Proxy-Secret "${SECRET}";\n`,
    )
    sidecar = await startIdentity({
      config: join(folder, 'portcullis.yaml'),
      flags: { 'http.address': addresses.sidecar, 'http.proxy_secret_file': secretFile },
    })
    tokens = {
      account: await sidecar.tokenFor({}),
      stranger: await sidecar.tokenFor({ user: 'stranger', account: OTHER_ACCOUNT }),
      static: sidecar.staticToken,
    }
    const started = await startProxy(name, program, folder, addresses, SECRET)
    proxy = { ...started, address: addresses.proxy }
  })

  type Headers = Record<string, string | readonly string[]>
  /** The status, and what reached the application. */
  async function send(path: string, headers: Headers, more: { method?: string; body?: string } = {}) {
    application.received.length = 0
    const answer = await ask(proxy.address, path, { ...more, headers: headers as Record<string, string> })
    return { ...answer, received: [...application.received] }
  }
  const iam = () => ({ 'x-auth-token': tokens.account })

  test('a request that may pass reaches the application, which learns who sent it', async () => {
    const { status, received } = await send(`${SERVERS}?of=all`, iam())
    expect([status, received.length]).toEqual([200, 1])
    expect(received[0]?.url).toBe(`${SERVERS}?of=all`)
    expect(received[0]?.headers).toMatchObject({
      'x-portcullis-account': ACCOUNT,
      'x-portcullis-kind': 'iam_token_account_scoped',
      'x-portcullis-user-name': 'account',
      'x-portcullis-user-type': 'service_user',
      'x-portcullis-rules-digest': sidecar.running.sidecar.rulesDigest,
    })
    // An account-scoped token has no project.
    expect(received[0]?.headers['x-portcullis-project'] ?? '').toBe('')
  })

  test('the claims of a client about itself do not reach the application, and no client learns the secret', async () => {
    const spellings = [
      ...['Kind', 'Account', 'Project', 'User-Id', 'User-Name', 'User-Type', 'Token-Id', 'Authority'],
      ...['Rules-Digest', 'Would-Deny', 'Proxy-Secret'],
    ].map((fact) => `X-Portcullis-${fact}`)
    spellings.push('X_Portcullis_Account', 'X-Portcullis_Account', 'x-portcullis-project')
    const { status, received, headers } = await send(SERVERS, {
      ...iam(),
      ...Object.fromEntries(spellings.map((spelling) => [spelling, 'forged'])),
    })
    expect([status, received.length]).toEqual([200, 1])
    expect(received[0]?.rawHeaders.filter((text) => text === 'forged')).toEqual([])
    expect(received[0]?.headers['x-portcullis-account']).toBe(ACCOUNT)
    expect(JSON.stringify([received, headers])).not.toContain(SECRET)
  })

  test.each(['X-Portcullis-Anything', 'x-portcullis-', 'X-PORTCULLIS-ACCOUNT-OF'])(
    'nor by the name %s, which no configuration has',
    async (header) => {
      const { status, received } = await send(SERVERS, { ...iam(), [header]: 'forged' })
      expect(received.flatMap(({ rawHeaders }) => rawHeaders)).not.toContain('forged')
      // nginx has no way to take out what its configuration does not name, so the sidecar refuses it.
      expect([status, received.length]).toEqual(name === 'nginx' ? [403, 0] : [200, 1])
    },
  )

  test('neither a silent sidecar nor a client that does not end its request holds a connection for long', async () => {
    const silent = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const addresses = {
      ...(await freeAddresses()),
      sidecar: `127.0.0.1:${(silent.address() as AddressInfo).port}`,
    }
    const folder = newFolder()
    copyExample(name, folder, addresses)
    writeFileSync(join(folder, 'proxy-secret.conf'), '')
    const waiting = await startProxy(name, program, folder, addresses, SECRET)
    const [{ status }] = await Promise.all([
      ask(addresses.proxy, SERVERS, { headers: iam() }),
      exchange(addresses.proxy, `GET ${SERVERS} HTTP/1.1\r\nHost: x\r\n`),
    ])
    expect(status).toBeGreaterThanOrEqual(500)
    await waiting.stop()
    silent.close()
    // A proxy with its default waits for a minute, or for good.
  }, 45_000)

  test.each(['X-Portcullis-Account', 'x-portcullis-kind, x-portcullis-project'])(
    'a client cannot have %s removed on the way to the application',
    async (listed) => {
      // The headers that `Connection` lists are for the next hop alone, and proxies remove them.
      const { status, received } = await send(SERVERS, { ...iam(), connection: `close, ${listed}` })
      const told = received.map(({ headers }) => [
        headers['x-portcullis-account'],
        headers['x-portcullis-kind'],
      ])
      expect([status, told]).toEqual(
        status === 200 ? [200, [[ACCOUNT, 'iam_token_account_scoped']]] : [400, []],
      )
    },
  )

  test.each<[claim: string, path: string, headers: () => Headers, status: number, reason: string]>([
    ['no credential', SERVERS, () => ({}), 401, 'CREDENTIAL_MISSING'],
    [
      'one credential twice',
      SERVERS,
      () => ({ 'x-auth-token': [tokens.account, tokens.account] }),
      401,
      'CREDENTIAL_AMBIGUOUS',
    ],
    ['another kind of token', SERVERS, () => ({ 'x-token': tokens.static }), 403, 'TOKEN_KIND_NOT_ACCEPTED'],
    ['another account', SERVERS, () => ({ 'x-auth-token': tokens.stranger }), 403, 'ACCOUNT_MISMATCH'],
    ['no route', '/nowhere', iam, 403, 'NO_ROUTE'],
    ['a query that names an API', `/nowhere?api=balance`, iam, 403, 'NO_ROUTE'],
  ])('%s: refused', async (_claim, path, headers, status, reason) => {
    const answer = await send(path, headers())
    expect([answer.status, answer.received]).toEqual([status, []])
    if (status === 401) expect(answer.headers['www-authenticate']).toContain(`reason="${reason}"`)
    const { error } = JSON.parse(answer.text)
    expect([error.reason, typeof error.message, Array.isArray(error.accepted)]).toEqual([
      reason,
      'string',
      true,
    ])
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' })
  })

  if (name === 'nginx')
    test('its log says why a request was refused, and by which rules', async () => {
      const { rulesDigest } = sidecar.running.sidecar
      await send(`${SERVERS}/logged`, { 'x-token': tokens.static })
      await send('/nowhere/logged', iam())
      const lines = await eventually(() => {
        const logged = proxy.log().match(/^.*\/logged HTTP.*$/gm) ?? []
        return logged.length >= 2 && logged
      })
      const [denied, unrouted] = lines.map((line) => line.split('" ')[1])
      expect(denied).toBe(`403 TOKEN_KIND_NOT_ACCEPTED ${rulesDigest}`)
      // No route, no decision, no rules.
      expect(unrouted).toMatch(/^403 NO_ROUTE -?$/)
    })

  test('another description of the request than the proxy’s own counts for nothing', async () => {
    const harmless = '/billing/'
    const forged = {
      'x-original-method': 'GET',
      'x-original-uri': harmless,
      'x-forwarded-method': 'GET',
      'x-forwarded-uri': harmless,
      'x-forwarded-host': 'elsewhere.example',
      'x-original-url': `http://elsewhere.example${harmless}`,
      'x-rewrite-url': harmless,
      'x-api': 'balance',
    }
    const refused = await send('/nowhere', { ...iam(), ...forged })
    expect([refused.status, refused.received]).toEqual([403, []])
    const passed = await send(SERVERS, { ...iam(), ...forged })
    expect([passed.status, passed.received[0]?.url]).toEqual([200, SERVERS])
    // Headers that some frameworks take the path from.
    expect(passed.received[0]?.headers).not.toHaveProperty('x-original-url')
    expect(passed.received[0]?.headers).not.toHaveProperty('x-rewrite-url')
  })

  test('a path that servers read in different ways does not reach the application', async () => {
    for (const [target] of HOSTILE_TARGETS) {
      const path = target.replace('balance', 'billing')
      if (!path.startsWith('/') || !/^[\x21-\x7e]+$/.test(path)) continue
      const { status, received } = await send(path, iam())
      // Caddy encodes characters that a URL cannot have, and asks about what it sends.
      const reached = received.map(({ url = '' }) => url)
      expect([path, status === 200, reached.every((url) => readRequestTarget(url).ok)]).toEqual([
        path,
        reached.length === 1,
        true,
      ])
      if (name !== 'caddy') expect([path, reached]).toEqual([path, []])
    }
  })

  test('a path that passes reaches the application as it was asked about', async () => {
    for (const [target] of CANONICAL_TARGETS) {
      const path = target.replace('balance', 'billing')
      if (!path.startsWith('/billing')) continue
      const { status, received } = await send(path, iam())
      expect([status, received.map(({ url }) => url)]).toEqual([200, [path]])
    }
  })

  test.each(['POST', 'PUT', 'DELETE', 'PROPFIND'])(
    '%s passes with its body, which only the API sees',
    async (method) => {
      const body = 'x'.repeat(300_000)
      const { status, received } = await send(
        SERVERS,
        { ...iam(), 'content-length': String(body.length) },
        { method, body },
      )
      expect([status, received[0]?.method, received[0]?.body.length]).toEqual([200, method, body.length])
    },
  )

  test('a page in a browser may ask', async () => {
    expect((await send(SERVERS, { ...iam(), origin: 'https://app.example', cookie: 'a=b' })).status).toBe(200)
  })

  test('the address that counts is the one that the proxy saw', async () => {
    const restrict = (...ranges: string[]) =>
      sidecar.running.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges })
    const forged = {
      ...iam(),
      'x-forwarded-for': '203.0.113.5',
      'x-real-ip': '203.0.113.5',
      forwarded: 'for=203.0.113.5',
    }
    await restrict('203.0.113.0/24')
    expect((await send(SERVERS, forged)).status).toBe(403)
    await restrict('127.0.0.0/8')
    const passed = await send(SERVERS, forged)
    expect(passed.status).toBe(200)
    expect(passed.received[0]?.headers['x-forwarded-for']).toBe('127.0.0.1')
    await restrict()
  })

  test('a revoked token is refused at the next request', async () => {
    const token = await sidecar.tokenFor({})
    const about = { 'x-auth-token': token, 'x-subject-token': token }
    expect((await send(SERVERS, about)).status).toBe(200)
    await sidecar.ask({ method: 'DELETE', path: '/identity/v3/auth/tokens', headers: about })
    expect((await send(SERVERS, about)).status).toBe(401)
  })

  test('the location of the question is closed to clients', async () => {
    const { status, received } = await send('/authorize', { ...iam(), 'x-portcullis-proxy-secret': SECRET })
    expect([status >= 400, received]).toEqual([true, []])
  })

  test('nothing passes while the sidecar does not answer, and no log has a token or the secret', async () => {
    await sidecar.running.sidecar.close()
    const { status, received } = await send(SERVERS, iam())
    expect([status >= 500, received]).toEqual([true, []])
    const logged = proxy.log()
    for (const secret of [...Object.values(tokens), SECRET]) expect(logged).not.toContain(secret)
  })
}

test('the files of the examples differ in their proxy alone', () => {
  const texts = PROXIES.map((name) =>
    readFileSync(join(import.meta.dirname, '../../examples', name, 'portcullis.yaml'), 'utf8').replace(
      /^#.*\n/,
      '',
    ),
  )
  expect(new Set(texts).size).toBe(1)
})
