/**
 * The requests that have the session of the page, and those that have none: a page of elsewhere cannot act
 * for its visitor.
 */
import { describe, expect, test } from 'vitest'
import { userIn } from '../../sidecar/directory/found.ts'
import { Browser, PASSWORD, SESSION, startPanel } from '../support/console/control-panel.ts'
import { startIdentity } from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const panel = await startPanel()
const shown = await panel.loggedIn('olga')
const [cookieName = '', secret = ''] = (shown.cookie ?? '').split('=')
const projects = (headers: Parameters<Browser['call']>[2] = {}, browser = shown) =>
  browser.call('ListProjects', { account: ACCOUNT }, headers)

/** Fields that a request has in place of those of the page, and the status of a call of the contract. */
const REQUESTS: readonly [
  claim: string,
  headers: NonNullable<Parameters<Browser['call']>[2]>,
  status: number,
][] = [
  ['our page as browsers of before sent it', { 'sec-fetch-site': undefined }, 200],
  ['another cookie beside ours', { cookie: `theme=dark; ${cookieName}=${secret}` }, 200],
  ['no cookie', { cookie: undefined }, 401],
  ['an empty cookie', { cookie: `${cookieName}=` }, 401],
  ['the cookie twice', { cookie: `${cookieName}=${secret}; ${cookieName}=${secret}` }, 401],
  ['two cookies in two fields', { cookie: [`${cookieName}=${secret}`, `${cookieName}=x`] }, 401],
  ['an unknown secret', { cookie: `${cookieName}=${'A'.repeat(43)}` }, 401],
  ['the name of the cookie over https', { cookie: `__Host-${cookieName}=${secret}` }, 401],
  ['the cookie without our header', { 'x-portcullis-console': undefined }, 401],
  ['another value of our header', { 'x-portcullis-console': '2' }, 401],
  ['our header twice', { 'x-portcullis-console': ['1', '1'] }, 401],
  ['no origin', { origin: undefined }, 401],
  ['the origin of another port of this machine', { origin: 'http://127.0.0.1:1' }, 403],
  ['the origin of another site', { origin: 'https://example.com' }, 403],
  ['the origin null', { origin: 'null' }, 403],
  ['another site, as the browser says', { 'sec-fetch-site': 'cross-site' }, 401],
  ['the same site, and another origin', { 'sec-fetch-site': 'same-site' }, 401],
  ['a caller token too', { authorization: `Bearer ${'x'.repeat(40)}` }, 401],
  ['an IAM token too', { 'x-auth-token': 'x' }, 401],
]

test.each(REQUESTS)('a call of the contract with %s', async (_claim, headers, status) => {
  const { headers: answered, ...answer } = await projects(headers)
  expect(answer.status).toBe(status)
  if (status === 200) expect(answer.json).toMatchObject({ projects: [{ name: 'alpha' }] })
  else expect(answer.text).not.toContain('alpha')
  expect(answered).not.toHaveProperty('set-cookie')
})

test.each(REQUESTS.filter(([claim]) => !/cookie|secret|token/.test(claim) || /header/.test(claim)))(
  'a request with %s logs no user in',
  async (_claim, headers, status) => {
    const login = { account: ACCOUNT, user: 'olga', password: PASSWORD }
    const answer = await panel.browser().post(`${SESSION}/login`, login, headers)
    if (status === 200) expect(answer.headers).toHaveProperty('set-cookie')
    else expect([[400, 403].includes(answer.status), answer.headers['set-cookie']]).toEqual([true, undefined])
  },
)

test('a page of a listed origin may call, and never with a session', async () => {
  const ORIGIN = 'https://console.example'
  const config = newFile(JSON.stringify({ http: { cors: { origins: [ORIGIN] } } }), 'portcullis.json')
  const { loggedIn } = await startPanel({ config })
  const browser = await loggedIn('olga')
  expect((await projects({}, browser)).status).toBe(200)
  expect((await projects({ origin: ORIGIN }, browser)).status).toBe(401)
})

test('over gRPC and at the identity endpoint a session is nothing', async () => {
  const headers = { 'x-auth-token': undefined, 'x-subject-token': 'x' }
  expect((await shown.get('/identity/v3/auth/tokens', headers)).status).toBe(401)
  const call = await shown.call('AuthorizationService/Revoke', { token_id: 'A'.repeat(22) })
  expect([call.status, call.text]).toEqual([401, expect.stringContaining('CALLER_TOKEN_MISSING')])
})

test.each<[claim: string, body: unknown]>([
  ['no JSON', 'account=1&user=olga'],
  ['no object', '[]'],
  ['a field that is missing', { account: ACCOUNT, user: 'olga' }],
  ['a field that is no text', { account: ACCOUNT, user: 'olga', password: 1 }],
  ['a text that is too long', { account: ACCOUNT, user: 'olga', password: 'x'.repeat(1_025) }],
  ['an unknown field', { account: ACCOUNT, user: 'olga', password: PASSWORD, admin: true }],
])('a body with %s is refused, without a word of it', async (_claim, body) => {
  const answer = await panel.browser().post(`${SESSION}/login`, body as object)
  expect(answer).toMatchObject({ status: 400, json: { reason: 'INVALID_ARGUMENT', metadata: {} } })
  expect(answer.text).not.toContain(PASSWORD)
})

test('a form cannot send a login', async () => {
  const login = JSON.stringify({ account: ACCOUNT, user: 'olga', password: PASSWORD })
  const answer = await panel.browser().post(`${SESSION}/login`, login as unknown as object, {
    'content-type': 'text/plain',
  })
  expect(answer).toMatchObject({ status: 400, json: { reason: 'INVALID_ARGUMENT' } })
})

test('where logins are off, there are no routes for it, and a cookie is nothing', async () => {
  const { ask } = await startIdentity({ flags: { 'http.console': true, 'http.connect': true } })
  const headers = { 'x-portcullis-console': '1', cookie: `${cookieName}=${'A'.repeat(43)}` }
  expect((await ask({ path: SESSION, headers })).status).toBe(404)
  expect((await ask({ method: 'POST', path: `${SESSION}/login`, headers, body: {} })).status).toBe(404)
})

test('a browser keeps the sessions of two sidecars of one machine', async () => {
  const other = await startPanel()
  const elsewhere = await other.loggedIn('olga')
  // Browsers keep cookies by the host, whatever the port.
  const cookie = `${shown.cookie}; ${elsewhere.cookie}`
  expect((await projects({ cookie })).status).toBe(200)
  expect((await projects({ cookie }, elsewhere)).status).toBe(200)
  expect(cookieName).toBe(`portcullis-${panel.port}`)
})

describe('behind a proxy that speaks https', async () => {
  const http = { public_url: 'https://panel.example', trusted_proxies: ['192.0.2.1'] }
  const config = newFile(JSON.stringify({ http }), 'portcullis.json')
  const clock = { nowMs: Date.now() }
  const { port, invite, running } = await startPanel({ config, now: () => clock.nowMs })
  const fromPage = { origin: 'https://panel.example' }

  test.each<[host: string, name: string]>([
    ['that keeps the host', 'panel.example'],
    ['that names this machine', `127.0.0.1:${port}`],
  ])('%s, the cookie is for https alone, and calls with it are let in', async (_host, host) => {
    const browser = new Browser(port, 'https://panel.example')
    const body = { secret: await invite('pia'), password: PASSWORD }
    const begun = await browser.post(`${SESSION}/invitation/accept`, body, { host })
    expect(begun.headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-portcullis=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
    ])
    expect(begun.json).toMatchObject({ signedIn: true, passkeys: true })
    // Here every call needs a caller token, or a session.
    const check = (headers: object) =>
      browser.call('AuthorizationService/Check', { api: 'iam', token: TOKEN }, { host, ...headers })
    expect((await check({})).status).toBe(200)
    expect((await check({ cookie: undefined })).status).toBe(401)
    expect((await check({ cookie: `__Host-portcullis=${'A'.repeat(43)}` })).status).toBe(401)
    expect((await check({ 'x-portcullis-console': undefined })).status).toBe(401)
    expect((await check({ origin: `http://${host}` })).status).toBe(host === 'panel.example' ? 403 : 200)
    expect((await browser.get(SESSION, { host })).json).toMatchObject({ signedIn: true })
    expect((await browser.post(`${SESSION}/end`, {}, { host, ...fromPage })).status).toBe(204)
    expect((await check({})).status).toBe(401)
  })

  test('where every call needs a caller, a session counts at the addresses of its account alone', async () => {
    const allowed = (ranges: readonly string[]) =>
      running.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges })
    const { sessions } = await running.sidecar.administration.controlPanel()
    const [pia, olga] = [await loggedInAtPage('pia'), await loggedInAtPage('olga')]
    const check = (browser: Browser) =>
      browser.call('AuthorizationService/Check', { api: 'iam', token: TOKEN }, { host: 'panel.example' })
    const restriction = (browser: Browser) =>
      browser.call('GetAddressRestriction', { account: ACCOUNT }, { host: 'panel.example' })
    await allowed(['192.0.2.0/24'])
    clock.nowMs += 120_000
    const { records } = running.sidecar.administration
    const user = await userIn(records, ACCOUNT, 'pia', 'control_panel_user')
    const before = await sessions.list(user)
    for (const browser of [pia, olga]) {
      const answer = await check(browser)
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('ADDRESS_NOT_ALLOWED')])
    }
    expect((await restriction(pia)).status).toBe(403)
    // The use of the session is not written: it ends as if no request had come.
    expect(await sessions.list(user)).toEqual(before)
    // An owner may look at the restriction, and change it, from anywhere.
    expect((await restriction(olga)).status).toBe(200)
    await allowed([])
    expect([(await check(pia)).status, (await check(olga)).status]).toEqual([200, 200])
  })

  const loggedInAtPage = async (name: string) => {
    const browser = new Browser(port, 'https://panel.example')
    const body = { secret: await invite(name), password: PASSWORD }
    await browser.post(`${SESSION}/invitation/accept`, body, { host: 'panel.example' })
    return browser
  }

  const TOKEN = { kind: 'static_token', scope: { account: ACCOUNT } }

  test.each(['panel.example:99999', 'a b', '['])(
    'an invalid Host (%s) is refused, and logs no error',
    async (host) => {
      const before = running.logLines.length
      const { status } = await new Browser(port, 'http://127.0.0.1').post(`${SESSION}/login`, {}, { host })
      expect(status).toBe(403)
      const levels = running.logLines.slice(before).map((line) => JSON.parse(line).level)
      expect(levels.filter((level) => level >= 50)).toEqual([])
    },
  )
})
