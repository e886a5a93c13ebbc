/**
 * Every attempt over the wire leaves a trace in the log, and the audit trail says who, from where and how.
 * How attempts are counted: test/usecases/trace.test.ts.
 */
import { describe, expect, test } from 'vitest'
import { loginBody, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { operatorOf } from '../support/sidecar/operator.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'

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
    const records = await running.sidecar.administration.records.audit(ACCOUNT, { after: '', size: 1000 })
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
