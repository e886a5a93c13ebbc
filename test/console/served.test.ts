/** The page at a sidecar: which files it serves, under which policy, and who may ask it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { startPanel } from '../support/console/control-panel.ts'
import { type RequestHeaders, startIdentity } from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

/** The `Accept` header of Chromium. */
const BROWSER =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8'

const ON = { 'http.console': true, 'http.connect': true }

describe('with the shipped matrix', async () => {
  const { ask, port } = await startIdentity({ flags: ON })
  const own = `http://127.0.0.1:${port}`

  test('the page and all that it names are there, under a policy that lets nothing else run', async () => {
    const page = await ask({ path: '/console/' })
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(page.headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$/,
    )
    expect(page.headers).toMatchObject({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
    const names = [...page.text.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, name]) => name)
    expect(names).toHaveLength(2)
    for (const name of names) {
      const { status, headers } = await ask({ path: `/console/${name}` })
      expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable'])
      expect(headers['content-type']).toMatch(/^text\/(css|javascript); charset=utf-8$/)
    }
  })

  test('the rules are those in force, and are sent once to a client that keeps them', async () => {
    const { status, json, headers } = await ask({ path: '/console/rules.json' })
    expect([status, json]).toEqual([
      200,
      { matrix: supportMatrix, mode: 'resolved', verify: true, controlPanel: false },
    ])
    const again = await ask({
      path: '/console/rules.json',
      headers: { 'If-None-Match': String(headers.etag) },
    })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  test.each<[who: string, status: number, request: { method?: string; path?: string; headers?: object }]>([
    ['a browser', 302, {}],
    ['a browser with a question', 302, { path: '/?a=b' }],
    ['a browser that looks only', 302, { method: 'HEAD' }],
    ['a page of elsewhere', 403, { headers: { Origin: 'https://example.com' } }],
    ['a browser that was led here by another name', 403, { headers: { Host: 'example.com' } }],
    ['a client of Keystone', 300, { headers: { Accept: 'application/json' } }],
    ['curl', 300, { headers: { Accept: '*/*' } }],
    ['a client that names nothing', 300, { headers: { Accept: '' } }],
    ['a client that wants no HTML', 300, { headers: { Accept: 'application/json, text/html;q=0' } }],
    ['a form', 405, { method: 'POST' }],
  ])('the bare address leads only a browser to the page: %s', async (_who, status, request) => {
    const headers = { Accept: BROWSER, ...(request.headers as Record<string, string>) }
    const answer = await ask({ path: '/', ...request, headers })
    expect(answer.status).toBe(status)
    if (status !== 302) expect(answer.headers.location).not.toBe('/console/')
    else
      expect(answer.headers).toMatchObject({
        ...{ location: '/console/', vary: 'Accept', 'cache-control': 'no-store' },
        ...{ 'content-security-policy': expect.stringMatching(/^default-src 'none'; /) },
      })
  })

  test('without its slash the page is elsewhere, because its links are relative', async () => {
    const { status, headers } = await ask({ path: '/console' })
    expect([status, headers.location]).toEqual([308, '/console/'])
  })

  test.each([
    'index.html',
    '..%2Findex.html',
    '..%2F..%2F..%2Fpackage.json',
    'main-AAAAAAAA.js',
    'main-AAAAAAAA.js%00',
  ])('no file but those of the page is there: %s', async (name) => {
    expect((await ask({ path: `/console/assets/${name}` })).status).toBe(404)
  })

  const check = (headers: Record<string, string>) =>
    ask({
      method: 'POST',
      path: '/portcullis.v1.AuthorizationService/Check',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ api: 'iam', credentials: { headers: [{ name: 'X-Auth-Token', value: 'x' }] } }),
    })

  test('the page may verify with this sidecar, and a page of elsewhere may not', async () => {
    expect(await check({ Origin: own })).toMatchObject({
      status: 200,
      json: { reason: 'REASON_CREDENTIAL_INVALID' },
    })
    for (const origin of [
      'http://127.0.0.1:1',
      'https://example.com',
      'null',
      `${own}.example.com`,
      `https://127.0.0.1:${port}`,
    ])
      expect((await check({ Origin: origin })).status, origin).toBe(403)
    // A browser sends the origin of the page when it loads the page's own script, too. Nothing else is for
    // it.
    expect((await ask({ path: '/console/', headers: { Origin: own } })).status).toBe(200)
    for (const path of ['/console/', '/console/rules.json'])
      expect((await ask({ path, headers: { Origin: 'http://127.0.0.1:1' } })).status).toBe(403)
    expect((await ask({ path: '/identity/v3', headers: { Origin: own } })).status).toBe(403)
  })
})

describe('where callers alone may ask for the matrix', async () => {
  const title = 'a matrix that no stranger sees'
  const options = () => ({
    config: newFile(JSON.stringify({ http: { authzen: true, jwks: true } }), 'portcullis.json'),
    flags: {
      ...{ ...ON, 'grpc.address': `unix:${join(newFolder(), 'grpc.sock')}` },
      matrix: newFile(JSON.stringify({ ...supportMatrix, title }), 'matrix.json'),
    },
  })
  const RULES = '/console/rules.json'
  const plain = await startIdentity(options())
  const panel = await startPanel(options())
  const callerToken = (folder: string) => readFileSync(join(folder, 'administrator-token'), 'utf8').trim()
  const bearer = { authorization: `Bearer ${callerToken(plain.running.folder)}` }
  const { etag = '' } = (await plain.ask({ path: RULES, headers: bearer })).headers

  test.each<[claim: string, headers: RequestHeaders, reason: string]>([
    ['no credential', {}, 'CALLER_TOKEN_MISSING'],
    ['the version that is in force', { 'if-none-match': etag }, 'CALLER_TOKEN_MISSING'],
    ['any version', { 'if-none-match': '*' }, 'CALLER_TOKEN_MISSING'],
    ['an IAM token', { 'x-auth-token': await plain.tokenFor({}) }, 'CALLER_TOKEN_MISSING'],
    ['an unknown caller token', { authorization: `Bearer ${'x'.repeat(40)}` }, 'CALLER_TOKEN_INVALID'],
    [
      'a caller token twice',
      { authorization: [bearer.authorization, bearer.authorization] },
      'CALLER_TOKEN_INVALID',
    ],
    ['another scheme', { authorization: 'Basic YTpi' }, 'CALLER_TOKEN_INVALID'],
  ])('a client with %s gets nothing of it', async (_claim, headers, reason) => {
    const answer = await plain.ask({ path: RULES, headers })
    expect(answer).toMatchObject({
      ...{ status: 401, json: { reason, message: expect.any(String), controlPanel: false } },
      headers: { 'www-authenticate': 'Bearer', 'cache-control': 'no-store' },
    })
    expect(Object.keys(answer.json)).toEqual(['reason', 'message', 'controlPanel'])
    expect(answer.headers).not.toHaveProperty('etag')
    for (const path of [`${RULES}/`, '//console//rules.json', `${RULES}?a`])
      expect([path, (await plain.ask({ path, headers })).status]).toEqual([path, 401])
    expect((await plain.ask({ method: 'HEAD', path: RULES, headers })).status).toBe(401)
  })

  test('the words are those of the contract, and the log has the refusals as it has those of AuthZEN', async () => {
    const call = await plain.ask({
      method: 'POST',
      path: '/portcullis.v1.AuthorizationService/GetMatrix',
      body: {},
    })
    expect([call.status, call.json.message]).toEqual([401, (await plain.ask({ path: RULES })).json.message])
    const lines = plain.running.logLines.map((line) => JSON.parse(line)).filter(({ reason }) => reason)
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'a question about access was refused', reason: 'CALLER_TOKEN_MISSING' }),
    )
    expect(lines.filter(({ msg }) => msg === 'an identity call was refused')).toEqual([])
  })

  test('a caller token opens it, and not for others who share a cache', async () => {
    const answer = await plain.ask({ path: RULES, headers: bearer })
    expect(answer).toMatchObject({
      ...{ status: 200, json: { matrix: { title }, verify: true, controlPanel: false } },
      headers: { 'cache-control': 'private, no-cache', vary: 'Authorization, Cookie' },
    })
    const again = { ...bearer, 'if-none-match': etag }
    expect((await plain.ask({ path: RULES, headers: again })).status).toBe(304)
  })

  test('a session opens it, as the page sends it and until it ends', async () => {
    const [stranger, olga] = [panel.browser(), await panel.loggedIn('olga')]
    expect(await stranger.get(RULES)).toMatchObject({ status: 401, json: { controlPanel: true } })
    expect(await olga.get(RULES)).toMatchObject({ status: 200, json: { matrix: { title } } })
    // Without the header of the page a cookie is nothing: a link of another site leads here, too.
    expect((await olga.get(RULES, { 'x-portcullis-console': undefined })).status).toBe(401)
    expect((await olga.get(RULES, { 'sec-fetch-site': 'cross-site' })).status).toBe(401)
    const { cookie } = olga
    await olga.post('/console/session/end', {})
    expect((await stranger.get(RULES, { cookie })).status).toBe(401)
  })

  test('a session counts from the addresses of its account alone, as for `GetMatrix`', async () => {
    const adam = await panel.loggedIn('adam')
    await panel.running.sidecar.run(TESTER, 'setAddressRestriction', {
      account: ACCOUNT,
      ranges: ['192.0.2.1'],
    })
    const refused = { status: 403, json: { reason: 'ADDRESS_NOT_ALLOWED', controlPanel: true } }
    expect(await adam.get(RULES)).toMatchObject(refused)
    expect((await adam.call('AuthorizationService/GetMatrix', {})).status).toBe(403)
  })

  test('no other answer to a stranger has any part of it', async () => {
    const page = await plain.ask({ path: '/console/' })
    const assets = [...page.text.matchAll(/"(assets\/[^"]+)"/g)].map(([, name]) => `/console/${name}`)
    expect(assets.length).toBeGreaterThan(0)
    for (const path of [
      ...['/', '/healthz', '/readyz?verbose', '/openapi.json', '/console/', ...assets],
      ...['/.well-known/jwks.json', '/.well-known/authzen-configuration', '/identity/v3', '/identity'],
    ]) {
      const { status, text } = await plain.ask({ path })
      expect([path, status < 400, text.includes(title)]).toEqual([path, true, false])
    }
  })
})

test('a caller token that is presented must be valid, also where every process of this machine may ask', async () => {
  const { ask } = await startIdentity({ flags: ON })
  const headers = { authorization: `Bearer ${'x'.repeat(40)}` }
  const answer = await ask({ path: '/console/rules.json', headers })
  expect(answer).toMatchObject({ status: 401, json: { reason: 'CALLER_TOKEN_INVALID' } })
})

test('it is off unless it is configured, and then nothing of it is there', async () => {
  const { ask, port } = await startIdentity({ flags: { 'http.connect': true } })
  for (const path of ['/console/', '/console/rules.json']) expect((await ask({ path })).status).toBe(404)
  expect((await ask({ path: '/', headers: { Accept: BROWSER } })).status).toBe(300)
  const { status } = await ask({
    method: 'POST',
    path: '/portcullis.v1.AuthorizationService/Check',
    headers: { 'Content-Type': 'application/json', Origin: `http://127.0.0.1:${port}` },
    body: '{}',
  })
  expect(status).toBe(403)
})

test('without the contract over HTTP there is nothing to verify with', async () => {
  const { ask } = await startIdentity({ flags: { 'http.console': true } })
  expect((await ask({ path: '/console/rules.json' })).json).toMatchObject({ verify: false })
})

test('a matrix that is exchanged is the one that is shown; a file that is refused never is', async () => {
  const ours = (title: string) => JSON.stringify({ ...supportMatrix, title })
  const matrix = newFile(ours('first'), 'matrix.json')
  const { ask, running } = await startIdentity({ flags: { ...ON, matrix, strict: true } })
  const shown = async () => (await ask({ path: '/console/rules.json' })).json
  expect(await shown()).toMatchObject({ mode: 'strict', matrix: { title: 'first' } })
  writeFileSync(matrix, '{')
  running.sidecar.reload()
  expect(await shown()).toMatchObject({ matrix: { title: 'first' } })
  writeFileSync(matrix, ours('second'))
  running.sidecar.reload()
  await eventually(async () => expect(await shown()).toMatchObject({ matrix: { title: 'second' } }))
})
