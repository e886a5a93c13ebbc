/**
 * Every attempt leaves a trace: the first one a line, the others a count, and the audit trail says who, from
 * where and how.
 */
import { describe, expect, test } from 'vitest'
import { callError } from '../../sidecar/base/call-error.ts'
import { type Attempt, Trace, WINDOW_MS } from '../../sidecar/usecases/trace.ts'
import { loginBody, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { operatorOf } from '../support/sidecar/operator.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'

describe('counted', () => {
  const clock = { nowMs: 0 }
  const newTrace = () => {
    const lines: object[] = []
    const write = (fields: object, message: string) => void lines.push({ ...fields, message })
    const log = { info: write, warn: write, error: write }
    return { lines, trace: new Trace(log as never, () => clock.nowMs) }
  }
  const attempt = (by: Attempt['by'], lines?: number): Attempt => ({
    level: 'warn',
    message: 'refused',
    by,
    ...(lines !== undefined && { lines }),
  })
  const written = () => new Promise((resolve) => setImmediate(resolve))

  test('a thousand attempts are a line at once, and a count after a minute', async () => {
    const { lines, trace } = newTrace()
    for (let index = 0; index < 1_000; index++) trace.record(attempt({ source: 'a' }))
    await written()
    expect(lines).toEqual([{ source: 'a', message: 'refused' }])
    clock.nowMs += WINDOW_MS
    trace.record(attempt({ source: 'a' }))
    await written()
    expect(lines.slice(1)).toEqual([
      { source: 'a', more: 999, seconds: 60, message: 'refused (repeated)' },
      { source: 'a', message: 'refused' },
    ])
    trace.close()
  })

  test('sources are counted apart, and their number is bounded', async () => {
    const { lines, trace } = newTrace()
    for (let index = 0; index < 5_000; index++) trace.record(attempt({ reason: 'R', source: `${index}` }))
    await written()
    expect(lines).toHaveLength(1_001)
    trace.close()
    expect(lines.at(-1)).toEqual({
      reason: 'R',
      source: 'many',
      more: 3_999,
      seconds: 0,
      message: 'refused (repeated)',
    })
  })

  test('what is worth more lines has them', async () => {
    const { lines, trace } = newTrace()
    for (let index = 0; index < 20; index++) trace.record(attempt({ source: 'a' }, 10))
    await written()
    expect(lines).toHaveLength(10)
    trace.close()
  })

  test('an error that says nothing about who asks is no attempt', async () => {
    const { lines, trace } = newTrace()
    trace.refused('refused', callError('DIRECTORY_UNAVAILABLE', {}), {})
    trace.refused('refused', callError('ALREADY_EXISTS', { what: 'it' }), {})
    trace.refused('refused', new Error('a defect'), {})
    trace.refused('refused', callError('DIRECTORY_FULL', {}, { cause: new Error('disk is full') }), {})
    await written()
    expect(lines).toEqual([])
    trace.close()
  })
})

describe('a call that failed', () => {
  const failed = async (error: unknown, times: number) => {
    const lines: object[] = []
    const write = (level: string) => (fields: object, message: string) =>
      void lines.push({ level, ...fields, message })
    const log = { info: write('info'), warn: write('warn'), error: write('error') }
    const trace = new Trace(log as never, () => 0)
    for (let time = 0; time < times; time++) trace.failed(error)
    await new Promise((resolve) => setImmediate(resolve))
    trace.close()
    return lines
  }

  test('because of something that the sidecar depends on is a line with what and why, and a count', async () => {
    const cause = new Error('database or disk is full')
    const of = { level: 'warn', reason: 'DIRECTORY_FULL' }
    expect(await failed(callError('DIRECTORY_FULL', {}, { cause }), 1_000)).toEqual([
      { ...of, problem: 'the directory has no space left', err: cause, message: 'a call got no answer' },
      { ...of, more: 999, seconds: 0, message: 'a call got no answer (repeated)' },
    ])
  })

  test('because of a defect has ten lines a minute with the stack', async () => {
    const lines = await failed(new Error('a defect'), 1_000)
    expect(lines).toHaveLength(11)
    expect(lines[0]).toMatchObject({ level: 'error', err: { stack: expect.stringContaining('a defect') } })
    expect(lines.at(-1)).toMatchObject({ level: 'error', more: 990 })
  })

  test.each([
    ['invalid', callError('INVALID_ARGUMENT', { violations: 'x' }, { cause: new Error('bytes') })],
    ['without a cause', callError('STOPPING', {})],
    ['refused, which is traced where it is known who asked', refusedLogin()],
  ])('and was %s is no failure', async (_what, error) => {
    expect(await failed(error, 10)).toEqual([])
  })

  function refusedLogin() {
    return callError('LOGIN_REFUSED', {}, { cause: callError('LOGIN_FAILED', {}) })
  }
})

describe('over the wire', async () => {
  const { running, ask, passwordOf } = await startIdentity()
  const operator = operatorOf(running)
  const scope = { account: ACCOUNT }
  const issue = (userName: string, password: string, client = running.client) =>
    client.issue({ password: { userName, account: ACCOUNT, password }, scope })
  const WRONG_TOKEN = 'not-the-token-of-any-caller-at-all'

  test.each<[what: string, attempt: () => Promise<unknown>, line: object]>([
    [
      'a failed login over gRPC',
      () => issue('account', 'wrong'),
      {
        msg: 'a login failed',
        reason: 'LOGIN_FAILED',
        source: 'this machine',
        protocol: 'grpc',
        address: '127.0.0.1',
        user_name: 'account',
        account: ACCOUNT,
      },
    ],
    [
      'a failed login over HTTP',
      () => ask({ method: 'POST', path: TOKENS, body: loginBody({ user: 'nobody', password: 'wrong' }) }),
      {
        msg: 'a login failed',
        reason: 'LOGIN_FAILED',
        source: 'this machine',
        protocol: 'http',
        user: 'unknown',
      },
    ],
    [
      'a wrong caller token',
      () => running.connect({ callerToken: WRONG_TOKEN }).directory.getAccount({ account: ACCOUNT }),
      { msg: 'an administrative call was refused', reason: 'CALLER_TOKEN_INVALID', operation: 'getAccount' },
    ],
    [
      'a wrong caller token beside a right password',
      () => issue('account', passwordOf('account'), running.connect({ callerToken: WRONG_TOKEN })),
      { msg: 'a login came with a wrong caller token', reason: 'CALLER_TOKEN_INVALID' },
    ],
    [
      'a profile without a caller',
      () => running.client.issue({ profile: 'none', scope }),
      { msg: 'a login failed', reason: 'CALLER_TOKEN_MISSING', source: 'profiles' },
    ],
    [
      'a revocation without the right',
      () => running.client.revoke({ tokenId: 'A'.repeat(22) }),
      { msg: 'a revocation was refused', reason: 'CALLER_TOKEN_MISSING' },
    ],
    [
      'an identity call without a token',
      () => ask({ path: TOKENS }),
      { msg: 'an identity call was refused', reason: 'REQUESTER_NOT_AUTHENTICATED', protocol: 'http' },
    ],
    [
      'a token that is issued',
      () => issue('account', passwordOf('account')),
      {
        level: 30,
        msg: 'a token was issued',
        user_name: 'account',
        account: ACCOUNT,
        protocol: 'grpc',
        token_id: expect.any(String),
      },
    ],
  ])('%s', async (_what, attempt, line) => {
    const before = running.logLines.length
    await Promise.allSettled([attempt()])
    await new Promise((resolve) => setImmediate(resolve))
    const lines = running.logLines.slice(before).map((text) => JSON.parse(text) as object)
    expect(lines).toContainEqual(expect.objectContaining({ level: 40, ...line }))
    expect(running.logLines.join('')).not.toContain(passwordOf('account'))
  })

  test('every record of the audit trail says by which protocol and from where, and by which token of which account', async () => {
    const about = { account: ACCOUNT, name: 'owner' }
    const { token } = await operator.directory.reissueControlPanelUserToken(about)
    const owner = running.connect({ iamToken: token?.value ?? '' })
    await owner.directory.createProject({ account: ACCOUNT, name: 'gamma' })
    const { value } = await issue('account', passwordOf('account'))
    await ask({
      method: 'DELETE',
      path: TOKENS,
      headers: { 'x-auth-token': value, 'x-subject-token': value },
    })
    const records = await running.sidecar.administration.audit(ACCOUNT, { after: '', size: 1000 })
    const byOf = (action: string) => records.findLast((record) => record.action === action)?.details.by
    expect(byOf('control_panel_user.reissue_token')).toEqual({ protocol: 'grpc', address: '127.0.0.1' })
    expect(byOf('project.create')).toEqual({
      protocol: 'grpc',
      address: '127.0.0.1',
      token_id: expect.any(String),
      account: ACCOUNT,
    })
    expect(byOf('token.revoke')).toMatchObject({ protocol: 'http', address: '127.0.0.1', account: ACCOUNT })
  })
})
