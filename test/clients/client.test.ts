/** The client of the package: errors of one type, deadlines, reconnecting, and no case that fails open. */
import { describe, expect, test } from 'vitest'
import { type Check, PortcullisError } from '../../clients/typescript/index.ts'
import { connect } from '../support/sidecar/client.ts'
import { fakeSidecar } from '../support/sidecar/fake-sidecar.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const running = await runSidecar()
const { client } = running
const secrets = await populate(running)
const good: Check = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }

async function errorOf(call: Promise<unknown>): Promise<PortcullisError> {
  const [outcome] = await Promise.allSettled([call])
  if (outcome?.status !== 'rejected') throw new Error('expected an error, but the call was answered')
  expect(outcome.reason).toBeInstanceOf(PortcullisError)
  return outcome.reason as PortcullisError
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

describe('answers', () => {
  test('a decision about a genuine token is a plain value', async () => {
    const { value, tokenId } = await issued(running, secrets, { project: 'alpha' })
    const answer = await client.check({
      api: 'cdn',
      credentials: new Headers({ 'x-auth-token': value }),
      target: { account: ACCOUNT, project: 'alpha' },
      clientAddress: '10.0.0.1',
    })
    expect(answer).toMatchObject({
      allowed: true,
      reason: 'ALLOWED',
      header: 'X-Auth-Token',
      verified: true,
      cacheForMs: 5_000,
      token: {
        kind: 'iam_token_project_scoped',
        scope: { account: ACCOUNT, project: 'alpha' },
        subject: { name: 'account', type: 'service_user' },
        tokenId,
      },
    })
    const { issuedAt, expiresAt } = answer.token ?? {}
    expect(Number(expiresAt) - Number(issuedAt)).toBe(86_400_000)
  })

  test('an account-scoped token has no project, not an empty one', async () => {
    const { value } = await issued(running, secrets)
    const answer = await client.check({ api: 'iam', credentials: [['X-Auth-Token', value]] })
    expect(answer.token?.scope).toEqual({ account: ACCOUNT })
  })

  test('a batch has one answer for each check, in the same order', async () => {
    const apis = ['balance', 'iam', 'nothing', 'reports']
    const answers = await client.checkBatch(apis.map((api) => ({ ...good, api })))
    expect(answers.map(({ reason }) => reason)).toEqual([
      'ALLOWED',
      'TOKEN_KIND_NOT_ACCEPTED',
      'UNKNOWN_API',
      'ALLOWED',
    ])
    expect(await client.checkBatch([])).toEqual([])
  })

  test('a stream takes arrays and generators', async () => {
    async function* questions() {
      yield good
      yield { ...good, api: 'iam' }
    }
    for (const asked of [[good, { ...good, api: 'iam' }], questions()])
      expect((await all(client.checkStream(asked))).map(({ allowed }) => allowed)).toEqual([true, false])
  })

  test('the lifetime of a kind is in seconds, and undefined if its tokens never expire (§8)', async () => {
    const { tokenKinds } = await client.getMatrix()
    expect(tokenKinds.map(({ lifetimeSeconds }) => lifetimeSeconds)).toEqual([86_400, 86_400, undefined])
  })
})

describe('errors', () => {
  test('name the status, the reason and the fields', async () => {
    const { code, reason, message, violations, metadata } = await errorOf(client.check({ ...good, api: '' }))
    expect({ code, reason, message, violations, metadata }).toEqual({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_ARGUMENT',
      message: 'api: expected the id of an API',
      violations: [{ field: 'api', description: 'expected the id of an API' }],
      metadata: {},
    })
  })

  test('without a sidecar the error is UNAVAILABLE and has no reason', async () => {
    const address = `unix:${newFolder()}/nobody.sock`
    const nobody = connect(address)
    whenTheFileEnds(() => nobody.close())
    for (const call of [nobody.check(good), nobody.getMatrix(), all(nobody.checkStream([good]))])
      expect(await errorOf(call)).toMatchObject({
        code: 'UNAVAILABLE',
        reason: '',
        message: `no sidecar answers at ${address} (no such socket)`,
      })
  })

  test('an exceeded deadline is DEADLINE_EXCEEDED', async () => {
    const address = await fakeSidecar({ check: () => {} })
    const silent = connect(address, { deadlineMs: 50 })
    whenTheFileEnds(() => silent.close())
    expect(await errorOf(silent.check(good))).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: `no answer from ${address} within 50 ms`,
    })
  })

  test('an error of the caller’s own iterator ends the stream with that error', async () => {
    const boom = new Error('the source of the questions failed')
    async function* questions() {
      yield good
      throw boom
    }
    await expect(all(client.checkStream(questions()))).rejects.toBe(boom)
    expect((await client.check(good)).allowed).toBe(true)
  })

  test('a check that the sidecar refuses ends the stream with the sidecar’s error', async () => {
    const seen: boolean[] = []
    const asking = (async () => {
      for await (const { allowed } of client.checkStream([good, { ...good, api: '' }, good]))
        seen.push(allowed)
    })()
    expect(await errorOf(asking)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'check.api: expected the id of an API',
    })
    expect(seen).toEqual([true])
  })

  test('a caller token that cannot be sent is refused, and the error does not show it', () => {
    const token = 'canary-caller-token-ü'
    let message = ''
    try {
      connect(running.address, { callerToken: token })
    } catch (error) {
      message = String(error)
    }
    expect(message).not.toBe('')
    expect(message).not.toContain('canary')
  })
})

describe('from JavaScript', () => {
  const token = secrets.staticToken
  const reports = (credentials: unknown) => client.check({ api: 'reports', credentials } as Check)

  test.each<[what: string, credentials: (value: string) => unknown]>([
    ['a Headers', (value) => new Headers({ 'X-Token': value })],
    ['pairs', (value) => [['X-Token', value]]],
    ['a map', (value) => new Map([['X-Token', value]])],
    ['an object', (value) => ({ 'X-Token': value })],
    ['headers of Node', (value) => ({ accept: '*/*', cookie: undefined, 'x-token': value })],
    ['distinct headers of Node', (value) => ({ accept: ['*/*'], 'x-token': [value] })],
    ['pairs with a list of values', (value) => [['x-token', [value]]]],
  ])('headers can be given as %s', async (_, credentials) => {
    expect(await reports(credentials(token))).toMatchObject({ reason: 'ALLOWED', verified: true })
  })

  test.each<[what: string, credentials: unknown]>([
    ['an object', { 'X-Token': ['a', 'b'] }],
    ['pairs', [['X-Token', ['a', 'b']]]],
    [
      'pairs of the same name',
      [
        ['X-Token', 'a'],
        ['x-token', 'b'],
      ],
    ],
  ])('a repeated header becomes two headers, in %s', async (_, credentials) => {
    expect((await reports(credentials)).reason).toBe('CREDENTIAL_AMBIGUOUS')
  })

  const noHeaders = 'credentials: expected a Headers, pairs of name and value, or an object'
  const neither = 'credentials: expected request headers, or `token` instead'
  const canary = 'canary-secret'
  test.each<[what: string, check: unknown, message: string]>([
    ['nothing', undefined, 'check: expected an object'],
    ['no api', { credentials: [] }, 'api: expected a string'],
    ['an api that is a number', { ...good, api: 1 }, 'api: expected a string'],
    ['neither credentials nor a token', { api: 'x' }, neither],
    ['both credentials and a token', { ...good, credentials: [] }, neither],
    ['no credentials', { api: 'x', credentials: null }, noHeaders],
    ['a line for credentials', { api: 'x', credentials: `X-Token: ${canary}` }, noHeaders],
    ['one pair instead of a list of pairs', { api: 'x', credentials: ['X-Token', canary] }, noHeaders],
    ['a pair of three', { api: 'x', credentials: [['X-Token', canary, canary]] }, noHeaders],
    ['a value that is a number', { api: 'x', credentials: { 'X-Token': 1 } }, noHeaders],
    ['a pair without a value', { api: 'x', credentials: [['X-Token', undefined]] }, noHeaders],
    ['a token that is a string', { api: 'x', token: canary }, 'token.kind: expected a string'],
    ['a token without a scope', { api: 'x', token: { kind: 'k' } }, 'token.scope.account: expected a string'],
    ['a target without an account', { ...good, target: {} }, 'target.account: expected a string'],
    ['no target', { ...good, target: null }, 'target.account: expected a string'],
    ['an address that is a number', { ...good, clientAddress: 1 }, 'clientAddress: expected a string'],
  ])('%s is refused with an error that names the field and shows no value', async (_, check, message) => {
    await expect(client.check(check as Check)).rejects.toThrow(new TypeError(message))
    await expect(client.checkBatch([good, check as Check])).rejects.toThrow(
      new TypeError(check === undefined ? 'checks[1]: expected an object' : `checks[1].${message}`),
    )
    await expect(all(client.checkStream([good, check as Check]))).rejects.toThrow(new TypeError(message))
  })

  test('a value that is not a list of APIs is refused', async () => {
    const refused = new TypeError('apis: expected a list of ids')
    await expect(client.plan('iam' as never)).rejects.toThrow(refused)
    const password = { userName: 'account', account: ACCOUNT, password: 'x' }
    await expect(client.issue({ password } as never)).rejects.toThrow(refused)
  })
})

describe('connections', () => {
  test('the client reconnects to a sidecar that restarts on the same address', async () => {
    const first = await runSidecar()
    expect((await first.client.check(good)).allowed).toBe(true)
    await first.sidecar.close()
    expect(await errorOf(first.client.check(good))).toMatchObject({ code: 'UNAVAILABLE' })
    await runSidecar({ flags: { 'grpc.address': first.address } })
    const answer = await eventually(() => first.client.check(good).catch(() => undefined))
    expect(answer.allowed).toBe(true)
  })

  test('leaving a watch or a stream early leaves nothing behind', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    async function* endless() {
      for (;;) yield good
    }
    for (let round = 0; round < 5; round++) {
      for await (const { digest } of client.watchMatrix()) {
        expect(digest).toBe(running.sidecar.matrixDigest)
        break
      }
      for await (const { allowed } of client.checkStream(endless())) {
        expect(allowed).toBe(true)
        break
      }
    }
    expect((await client.check(good)).allowed).toBe(true)
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})
