/**
 * An upstream that misbehaves on the wire: every fault is an error that says what was wrong, and nothing of
 * it is kept or quoted.
 */
import { createServer as createTcpServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { IdentityClient } from '../../sidecar/authority/upstream/identity-client.ts'
import type { ResilienceEvents } from '../../sidecar/authority/upstream/resilience.ts'
import { UpstreamAuthority } from '../../sidecar/authority/upstream/upstream-authority.ts'
import { CallError } from '../../sidecar/base/call-error.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { answering, type Change, FakeUpstream, withHeader } from '../support/identity/upstream.ts'
import { engine } from '../support/matrices/engines.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'

const PASSWORD = 'canary-password'
const upstream = await FakeUpstream.start([
  { account: '123456', name: 'robot', password: PASSWORD, roles: { '': ['member'], web: ['member'] } },
  { account: '123456', name: 'validator', password: PASSWORD, roles: { '': ['service'] }, validator: true },
])
const account = engine.tokenKinds.get('iam_token_account_scoped')
const project = engine.tokenKinds.get('iam_token_project_scoped')
if (account === undefined || project === undefined) throw new Error('the shipped matrix has both kinds')
const requester = { account: '123456', userName: 'robot', password: new Secret(PASSWORD) }

afterEach(() => {
  upstream.change = undefined
  upstream.takeOver = undefined
  upstream.gate = undefined
})

/**
 * @param timeoutMs long where no time limit is tested, so that a busy machine is not mistaken for a slow
 *   upstream
 */
function authorityOf(
  url = upstream.url,
  timeoutMs = 60_000,
  times = {},
  events?: ResilienceEvents,
): UpstreamAuthority {
  const authority = new UpstreamAuthority(
    'provider',
    new IdentityClient({
      name: 'provider',
      tokensUrl: `${url}/identity/v3/auth/tokens`,
      ca: undefined,
      timeoutMs,
      times: { repeatMs: 1, repeatMsMax: 2, ...times },
      events,
    }),
    Date.now,
  )
  whenTheFileEnds(() => authority.close())
  return authority
}

const logIn = (
  authority = authorityOf(),
  scope: { account: string; project?: string } = { account: '123456' },
) => authority.issue('job', requester, scope.project === undefined ? account : project, scope)

/** The error of a call, without anything that the answer or the request held. */
async function refused(
  call: Promise<unknown>,
): Promise<{ reason: string; message: string; metadata: object }> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof CallError)) throw new Error('expected a CallError', { cause: error })
  const { reason, message, metadata } = error
  expect(JSON.stringify({ message, metadata, cause: String(error.cause) })).not.toMatch(
    /canary|secret-text|gAAAAA/,
  )
  return { reason, message, metadata }
}

const badAnswer = (expected: string) => ({
  reason: 'UPSTREAM_BAD_ANSWER',
  message: `upstream \`provider\` gave an unusable answer at ${upstream.url}/identity/v3/auth/tokens: expected ${expected}`,
})

describe('a login', () => {
  test('is the body of §2.2, and its answer is the token with everything that the body says', async () => {
    const { value, token } = await logIn(authorityOf(), { account: '123456', project: 'web' })
    expect(JSON.parse(upstream.seen.at(-1)?.body ?? '')).toEqual({
      auth: {
        identity: {
          methods: ['password'],
          password: { user: { name: 'robot', domain: { name: '123456' }, password: PASSWORD } },
        },
        scope: { project: { name: 'web', domain: { name: '123456' } } },
      },
    })
    expect(value.reveal()).toMatch(/^gAAAAA/)
    expect(token).toMatchObject({
      kind: 'iam_token_project_scoped',
      scope: { account: '123456', project: 'web' },
      projectId: 'id-of-web',
      subject: { id: 'id-of-robot', name: 'robot', type: 'user' },
      authority: 'provider',
      roles: ['member'],
      catalog: [{ type: 'identity' }],
    })
    expect(token.tokenId).toMatch(/^provider:[\w-]{22}$/)
    expect((token.expiresAtMs ?? 0) - token.issuedAtMs).toBe(86_400_000)
  })

  test('without a body in its answer gives a token for 24 hours from the date of the answer (§1)', async () => {
    upstream.change = (answer) => {
      answer.body = ''
      answer.headers = { 'x-subject-token': 'opaque', date: 'Sat, 21 Nov 2099 00:00:00 GMT' }
    }
    const { token } = await logIn()
    expect(token).toMatchObject({ scope: { account: '123456' }, subject: { name: 'robot' } })
    expect(token.expiresAtMs).toBe(Date.parse('2099-11-22T00:00:00Z'))
  })

  test.each<[claim: string, change: Change, expected: string]>([
    ['two tokens', withHeader(['gAAAAA-one', 'gAAAAA-two']), 'one token in X-Subject-Token, found several'],
    ['HTML', answering({ body: '<html>canary: please log in</html>' }), 'a body of JSON with each key once'],
  ])('whose answer has %s is an error', async (_claim, change, expected) => {
    upstream.change = change
    expect(await refused(logIn())).toMatchObject(badAnswer(expected))
  })

  test.each([
    [
      'headers of 1 MB',
      { 'x-subject-token': 'gAAAAA'.repeat(170_000) },
      '',
      'headers of at most 262144 bytes',
    ],
    ['a body of 2 MB', {}, 'canary'.repeat(350_000), 'a body of at most 1048576 bytes'],
  ])('whose answer has %s is an error', async (_claim, headers, body, expected) => {
    upstream.takeOver = (response) => {
      response.writeHead(201, headers)
      response.end(body)
      return true
    }
    expect(await refused(logIn())).toMatchObject(badAnswer(expected))
  })

  test('whose answer never ends is an error at the time limit', async () => {
    upstream.takeOver = (response) => {
      response.writeHead(201, { 'x-subject-token': 'gAAAAA-one' })
      const more = setInterval(() => response.write(' '), 5)
      response.on('close', () => clearInterval(more))
      return true
    }
    const error = await refused(logIn(authorityOf(upstream.url, 200)))
    expect(error).toMatchObject({
      reason: 'UPSTREAM_UNAVAILABLE',
      message: 'upstream `provider` did not answer within 200 ms',
    })
  })

  test('that gets no answer is an error at the time limit', async () => {
    upstream.takeOver = () => true
    const before = upstream.count('POST')
    expect(await refused(logIn(authorityOf(upstream.url, 100)))).toMatchObject({
      reason: 'UPSTREAM_UNAVAILABLE',
      message: 'upstream `provider` did not answer within 100 ms',
    })
    // The upstream may be at work on it, so it is not asked again.
    expect(upstream.count('POST') - before).toBe(1)
  })

  test.each([301, 302, 303, 307, 308])('that is redirected with %i goes nowhere', async (status) => {
    upstream.change = (answer) => {
      answer.status = status
      answer.headers.location = `${upstream.url}/identity/v3/auth/tokens?again`
    }
    const before = upstream.seen.length
    expect(await refused(logIn())).toMatchObject(badAnswer(`status 201, found ${status}`))
    expect(upstream.seen.length - before).toBe(1)
  })

  test.each([
    [401, 'UPSTREAM_LOGIN_REFUSED', 1],
    [403, 'UPSTREAM_FORBIDDEN', 1],
    [409, 'UPSTREAM_FORBIDDEN', 1],
    [429, 'UPSTREAM_EXHAUSTED', 1],
    // The endpoint may have done its part.
    [500, 'UPSTREAM_UNAVAILABLE', 1],
    [502, 'UPSTREAM_UNAVAILABLE', 2],
    [503, 'UPSTREAM_UNAVAILABLE', 2],
    [504, 'UPSTREAM_UNAVAILABLE', 2],
  ])('that is answered with %i: %s, after %i requests', async (status, reason, requests) => {
    upstream.change = answering({ status })
    const before = upstream.seen.length
    expect(await refused(logIn())).toMatchObject({ reason })
    expect(upstream.seen.length - before).toBe(requests)
  })

  test('that a proxy could not pass on succeeds when it is repeated', async () => {
    let answers = 0
    upstream.change = (answer) => {
      if (answers++ === 0) answer.status = 503
    }
    expect((await logIn()).token.kind).toBe('iam_token_account_scoped')
  })

  test('is not made while the upstream asks to be left alone', async () => {
    let monotonicMs = 0
    const authority = authorityOf(upstream.url, 60_000, { monotonicMs: () => monotonicMs })
    for (const status of [429, 503]) {
      upstream.change = (answer) => {
        answer.status = status
        answer.headers['retry-after'] = '7'
      }
      const before = upstream.seen.length
      expect((await refused(logIn(authority))).metadata).toMatchObject({ retry_after_seconds: '7' })
      monotonicMs += 4_000
      expect((await refused(logIn(authority))).metadata).toMatchObject({ retry_after_seconds: '3' })
      expect(upstream.seen.length - before).toBe(1)
      upstream.change = undefined
      monotonicMs += 3_001
      await logIn(authority)
    }
  })

  test('is not made for a while after five failures in a row, and one that succeeds ends that', async () => {
    let monotonicMs = 0
    const events: string[] = []
    const authority = authorityOf(
      upstream.url,
      60_000,
      { openMs: 60_000, openMsMax: 100_000, monotonicMs: () => monotonicMs },
      { onLeftAlone: (_upstream, problem) => void events.push(problem), onBack: () => {} },
    )
    upstream.change = answering({ status: 500 })
    const before = upstream.seen.length
    for (let call = 0; call < 9; call++) await refused(logIn(authority))
    expect(upstream.seen.length - before).toBe(5)
    upstream.change = undefined
    expect(events).toEqual(['upstream `provider` failed with status 500'])
    // By the monotonic clock the breaker has been open for long enough, whatever the wall clock says.
    monotonicMs += 100_001
    await logIn(authority)
  })

  test('at an address without a server is an error that says so', async () => {
    const server = createTcpServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    await new Promise((resolve) => server.close(resolve))
    expect(await refused(logIn(authorityOf(`http://127.0.0.1:${port}`)))).toMatchObject({
      reason: 'UPSTREAM_UNAVAILABLE',
      message: 'upstream `provider` cannot be reached (ECONNREFUSED)',
    })
  })

  test.each([
    ['closes the connection', (socket: import('node:net').Socket) => socket.destroy(), /cannot be reached/],
    [
      'speaks another protocol',
      (socket: import('node:net').Socket) => socket.end('220 canary ESMTP\r\n'),
      /expected HTTP\/1.1|cannot be reached/,
    ],
  ])('at a server that %s is an error', async (_claim, behave, message) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => behave(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    whenTheFileEnds(() => new Promise((resolve) => server.close(resolve)))
    const { port } = server.address() as { port: number }
    expect((await refused(logIn(authorityOf(`http://127.0.0.1:${port}`)))).message).toMatch(message)
  })
})

describe('a question about a token', () => {
  const ask = (value: string, authority = authorityOf()) =>
    authority.validate(new Secret(upstream.issue('validator')), value)

  test('is answered with what the upstream says, roles included', async () => {
    expect(await ask(upstream.issue('robot', 'web'))).toMatchObject({
      type: 'genuine',
      described: {
        scope: { account: '123456', project: 'web' },
        subject: { name: 'robot' },
        roles: ['member'],
      },
    })
    expect(await ask('gAAAAA-unknown')).toEqual({ type: 'unknown' })
  })

  test('that a server does not take for its length says nothing of others', async () => {
    const events: string[] = []
    const onLeftAlone = (_upstream: string, problem: string) => void events.push(problem)
    const authority = authorityOf(undefined, undefined, {}, { onLeftAlone, onBack: () => {} })
    const long = 'a'.repeat(8_193)
    upstream.change = (answer, { headers }) => {
      if (headers['x-subject-token'] === long) answer.status = 500
    }
    for (let times = 0; times < 10; times++) {
      expect(await refused(ask(long, authority))).toMatchObject({ reason: 'UPSTREAM_UNAVAILABLE' })
      await ask('a'.repeat(131_072), authority).catch(() => {})
    }
    expect(await ask(upstream.issue('robot', 'web'), authority)).toMatchObject({ type: 'genuine' })
    expect(events).toEqual([])
  })

  test('is repeated when the upstream is out of order', async () => {
    let answers = 0
    upstream.change = (answer) => {
      if (answers++ < 2) answer.status = 500
    }
    expect(await ask(upstream.issue('robot'))).toMatchObject({ type: 'genuine' })
    expect(answers).toBe(3)
  })

  test.each<[claim: string, change: Change, expected: string]>([
    [
      'about another token',
      withHeader('gAAAAA-other'),
      'an answer about the token that was asked about, found another one',
    ],
    ['without a body', answering({ body: '' }), 'a body of JSON with each key once'],
  ])('with an answer %s has one that cannot be used', async (_claim, change, expected) => {
    upstream.change = change
    const validation = await ask(upstream.issue('robot'))
    const error = validation.type === 'unusable' ? validation.error : undefined
    expect(await refused(Promise.reject(error))).toMatchObject(badAnswer(expected))
  })
})
