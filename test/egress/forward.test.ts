/** Egress forwards the credential of the route and no other, headers, and answers as they are. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { ask, CALLER_TOKEN, OTHER_CALLER_TOKEN, runEgress, startTarget } from '../support/sidecar/egress.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

const target = await startTarget()
const last = () => target.received.at(-1)

/** Answers as the path says. */
const peculiar = await startTarget(async (incoming, response) => answerAs(incoming, response))
async function answerAs(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, name] = /^\/(\w+)/.exec(incoming.url ?? '') ?? []
  if (name === 'redirect') response.writeHead(307, { location: 'http://elsewhere.example/x' }).end('moved')
  else if (name === 'cookie') response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'] }).end()
  else if (name === 'imposter') response.writeHead(403, { 'portcullis-reason': 'CONTESTED' }).end()
  else response.end('ok')
}

const running = await runEgress([
  { path: '/anyone/', url: `${target.url}v1/balance/` },
  { path: '/callers/', url: target.url, callers: ['report-job'] },
  { path: '/project/', url: target.url, api: 'cdn', project: 'alpha' },
  { path: '/either/', url: target.url, api: 'cloud-projects', project: 'alpha' },
  { path: '/static/', url: target.url, api: 'reports', profile: 'with-static' },
  { path: '/stale/', url: target.url, profile: 'stale' },
  { path: '/no-project/', url: target.url, api: 'cdn', project: 'unknown' },
  { path: '/peculiar/', url: peculiar.url, timeout_ms: 600_000, max_concurrent: 2 },
])
const { egress } = running
const to = (path: string, wish?: Parameters<typeof ask>[2]) => ask(egress, path, wish)

/** The token of a header, as the sidecar itself describes it. */
const opens = async (api: string, name: string) =>
  running.client.check({ api, credentials: [[name, String(last()?.headers[name])]] })

describe('the credential of the route is sent', () => {
  test.each([
    {
      path: '/anyone/',
      api: 'balance',
      header: 'x-auth-token',
      kind: 'iam_token_account_scoped',
      project: undefined,
    },
    {
      path: '/project/',
      api: 'cdn',
      header: 'x-auth-token',
      kind: 'iam_token_project_scoped',
      project: 'alpha',
    },
    { path: '/static/', api: 'reports', header: 'x-token', kind: 'static_token', project: undefined },
  ])('$api gets $kind in $header', async ({ path, api, header, kind, project }) => {
    expect(await to(path)).toMatchObject({ status: 200, text: 'ok' })
    const { token, allowed } = await opens(api, header)
    expect({ allowed, token }).toMatchObject({
      allowed: true,
      token: { kind, scope: { account: ACCOUNT, ...(project !== undefined && { project }) } },
    })
  })
})

test('path, query, method and body go on, and the host is that of the target', async () => {
  await to('/anyone/items/a%20b?x=1&y=/..', {
    method: 'PATCH',
    headers: { 'content-type': 'text/x' },
    body: 'body',
  })
  expect(last()).toMatchObject({
    method: 'PATCH',
    url: '/v1/balance/items/a%20b?x=1&y=/..',
    body: 'body',
    headers: { host: new URL(target.url).host, 'content-type': 'text/x', 'content-length': '4' },
  })
})

test.each<[claim: string, headers: Record<string, string | string[]>]>([
  ['X-Auth-Token', { 'X-Auth-Token': 'planted' }],
  ['X_Auth_Token, which many servers take for X-Auth-Token', { X_Auth_Token: 'planted' }],
  ['Proxy-Authorization', { 'Proxy-Authorization': `Bearer ${CALLER_TOKEN}` }],
  [
    'HTTP2-Settings and an offer of HTTP/2',
    { Upgrade: 'h2c', 'HTTP2-Settings': 'planted', Connection: 'Upgrade, HTTP2-Settings' },
  ],
  ['a header that Connection lists', { Connection: 'X-Hop, X-Auth-Token, close', 'X-Hop': 'planted' }],
])('of an application is not forwarded: %s', async (_claim, headers) => {
  const { status } = await to('/anyone/', { headers: { ...headers, 'X-Own': 'kept' } })
  expect(status).toBe(200)
  const names = (last()?.rawHeaders ?? [])
    .filter((_, index) => index % 2 === 0)
    .map((name) => name.toLowerCase())
  // undici speaks for its own connection.
  expect(names.toSorted()).toEqual(['connection', 'host', 'x-auth-token', 'x-own'])
  expect(last()?.rawHeaders.join()).not.toContain('planted')
  expect(last()?.rawHeaders.join()).not.toContain(CALLER_TOKEN)
  expect(last()?.headers).toMatchObject({ 'x-own': 'kept', connection: 'keep-alive' })
})

describe('a route for callers', () => {
  test.each<
    [claim: string, value: string | string[] | undefined, status: number, reason: string | undefined]
  >([
    ['its caller', `Bearer ${CALLER_TOKEN}`, 200, undefined],
    ['the scheme in other letters', `bearer ${CALLER_TOKEN}`, 200, undefined],
    ['an unknown caller', undefined, 407, 'PROXY_AUTHENTICATION_REQUIRED'],
    ['an unknown token', 'Bearer x', 407, 'PROXY_AUTHENTICATION_REQUIRED'],
    ['another scheme', `Basic ${CALLER_TOKEN}`, 407, 'PROXY_AUTHENTICATION_REQUIRED'],
    [
      'two tokens',
      [`Bearer ${CALLER_TOKEN}`, `Bearer ${CALLER_TOKEN}`],
      407,
      'PROXY_AUTHENTICATION_REQUIRED',
    ],
    [
      'another caller, although it has the profile',
      `Bearer ${OTHER_CALLER_TOKEN}`,
      403,
      'CALLER_NOT_ALLOWED',
    ],
  ])('%s', async (_claim, value, status, reason) => {
    const before = target.received.length
    // Node's types know one value alone.
    const headers = value === undefined ? {} : { 'proxy-authorization': value as string }
    const answer = await to('/callers/', { headers, body: 'x' })
    expect(answer).toMatchObject({ status })
    expect(answer.headers['portcullis-reason']).toBe(reason)
    if (status === 407) expect(answer.headers['proxy-authenticate']).toBe('Bearer realm="portcullis"')
    expect(target.received.length - before).toBe(status === 200 ? 1 : 0)
  })

  test('a caller token in Authorization counts for nothing', async () => {
    expect(await to('/callers/', { headers: { authorization: `Bearer ${CALLER_TOKEN}` } })).toMatchObject({
      status: 407,
    })
  })
})

describe('answers come back as they are', () => {
  test('a redirect is not followed, and its Location stays', async () => {
    const { status, headers, text } = await to('/peculiar/redirect')
    expect({ status, location: headers.location, text }).toEqual({
      status: 307,
      location: 'http://elsewhere.example/x',
      text: 'moved',
    })
  })

  test('cookies', async () => {
    expect((await to('/peculiar/cookie')).headers['set-cookie']).toEqual(['a=1', 'b=2'])
  })

  test('a target cannot pretend that this server refused', async () => {
    const { status, headers } = await to('/peculiar/imposter')
    expect(status).toBe(403)
    expect(headers).not.toHaveProperty('portcullis-reason')
  })

  test('HEAD', async () => {
    expect(await to('/anyone/', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
  })
})

describe('without a token no request is sent, and the answer says why', () => {
  test.each<[path: string, status: number, reason: string, message: string]>([
    ['/elsewhere/', 404, 'NO_ROUTE', 'no route of this server has that path'],
    ['/anyone', 404, 'NO_ROUTE', 'no route of this server has that path'],
    ['/stale/', 502, 'LOGIN_FAILED', 'the name of the user or the password is wrong'],
    [
      '/no-project/',
      403,
      'PERMISSION_MISSING',
      'project-scoped IAM token: the service user needs a permission whose scope is Account, or one whose scope is Projects with that project selected',
    ],
  ])('%s', async (path, status, reason, message) => {
    const before = target.received.length
    const { headers, text, ...answer } = await to(path)
    const { request_id: id, ...error } = JSON.parse(text).error
    expect({ ...answer, error }).toEqual({ status, error: { reason, message } })
    // Of what is not the fault of its client, the line of the log has the same id.
    expect(id !== undefined).toBe(status >= 500)
    if (id !== undefined) expect(running.logLines.join('')).toContain(`"request_id":"${id}"`)
    expect(headers).toMatchObject({ 'portcullis-reason': reason, 'content-type': 'application/json' })
    expect(target.received).toHaveLength(before)
  })

  test('the matrix denies every token in strict mode', async () => {
    const strict = await runEgress([{ url: target.url, api: 'cdn', project: 'alpha' }], {
      flags: { strict: true },
    })
    const { status, headers, text } = await ask(strict.egress, '/')
    expect({ status, reason: headers['portcullis-reason'] }).toEqual({ status: 403, reason: 'CONTESTED' })
    expect(JSON.parse(text)).toMatchObject({
      error: {
        reason: 'CONTESTED',
        message: expect.stringContaining('cdn'),
        decision: {
          allowed: false,
          reason: 'CONTESTED',
          accepted: [],
          strict: true,
          digest: strict.sidecar.matrixDigest,
          rules_digest: strict.sidecar.rulesDigest,
        },
      },
    })
    expect(strict.logLines.join('')).toContain('the matrix denies every token for this route')
  })
})

describe('a target that does not answer', () => {
  test.each<[claim: string, url: string, status: number, reason: string]>([
    ['no server listens', 'http://127.0.0.1:1/', 502, 'TARGET_UNREACHABLE'],
    ['it has no name', 'https://portcullis.invalid/', 502, 'TARGET_UNREACHABLE'],
    ['it speaks no TLS', target.url.replace('http:', 'https:'), 502, 'TARGET_TLS_FAILED'],
  ])('%s', async (_claim, url, status, reason) => {
    const { egress: address, logLines } = await runEgress([{ url }])
    const answer = await ask(address, '/', { body: 'x' })
    expect({ status: answer.status, reason: answer.headers['portcullis-reason'] }).toEqual({ status, reason })
    expect(logLines.join('')).toContain(reason)
  })

  test('in time', async () => {
    const silent = await startTarget(() => {})
    const { egress: address } = await runEgress([{ url: silent.url, timeout_ms: 100 }])
    expect(await ask(address, '/')).toMatchObject({
      status: 504,
      headers: { 'portcullis-reason': 'TARGET_TIMEOUT' },
    })
  })
})

test('a Unix socket takes any Host, and only the owner and the group may connect', async () => {
  const path = `${newFolder()}/egress.sock`
  const { egress: address } = await runEgress([{ url: target.url }], {
    flags: { 'egress.address': `unix:${path}` },
  })
  expect(address).toBe(`unix:${path}`)
  expect(await ask(address, '/', { headers: { host: 'anything.example' } })).toMatchObject({ status: 200 })
})

test('a secret is in no log line', () => {
  const logged = running.logLines.join('')
  for (const secret of [CALLER_TOKEN, OTHER_CALLER_TOKEN, running.staticToken, 'planted'])
    expect(logged).not.toContain(secret)
  for (const { headers } of target.received) expect(logged).not.toContain(String(headers['x-auth-token']))
})
