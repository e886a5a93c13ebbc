/**
 * The credential of a profile takes the place of the client's, for the permitted callers and clients alone.
 */
import { describe, expect, test } from 'vitest'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { ENVOY_TOKEN, iam, OTHER_TOKEN, peopleBehindEnvoy } from '../support/proxies/behind-envoy.ts'
import { EnvoyClient, type Verdict } from '../support/proxies/ext-authz.ts'
import { ACCOUNT, OTHER_ACCOUNT } from '../support/sidecar/sidecar.ts'

const BALANCE = { api: 'balance' }
const people = await peopleBehindEnvoy()
const { account, restricted } = people
const running = await people.run()
const box = new BlackBox(running.address)
const envoy = new EnvoyClient(running.address)

describe('the credential of a profile', () => {
  const context = { ...BALANCE, account: ACCOUNT, credential_profile: 'gateway' }
  const headers = [iam(account), ['x_auth_token', 'y'], ['x_token', 'z'], ['cookie', 'a=b']] as const
  const undecided = (verdict: Verdict) => ({
    ...{ allowed: verdict.allowed, status: verdict.status },
    reason: (verdict.body as { error: { reason: string } }).error.reason,
  })

  test('takes the place of the one that the client sent', async () => {
    const verdict = await envoy.ask({ context, headers }, { callerToken: ENVOY_TOKEN })
    const { 'x-auth-token': value = '', ...identity } = verdict.headers
    expect(value).not.toBe(account)
    expect(await box.ask('check', credentialQuestion('balance', 'X-Auth-Token', value))).toMatchObject({
      allowed: true,
      token: { subject: { name: 'stranger' }, scope: { account: OTHER_ACCOUNT } },
    })
    expect(identity).toMatchObject({ 'x-portcullis-account': ACCOUNT, 'x-portcullis-user-name': 'account' })
    expect(verdict.removed).toEqual(expect.arrayContaining(['x-token', 'x_auth_token', 'x_token']))
    expect(verdict.removed).not.toContain('x-auth-token')
    expect(verdict.removed).not.toContain('cookie')
    expect(JSON.stringify(verdict.metadata)).not.toContain(value)
  })

  test('is of the kind that the API behind Envoy accepts', async () => {
    const behind = { ...context, credential_api: 'cdn', credential_project: 'alpha' }
    const { headers: set } = await envoy.ask({ context: behind, headers }, { callerToken: ENVOY_TOKEN })
    const question = credentialQuestion('cdn', 'X-Auth-Token', set['x-auth-token'] ?? '')
    expect(await box.ask('check', question)).toMatchObject({
      allowed: true,
      token: { kind: 'iam_token_project_scoped', scope: { account: OTHER_ACCOUNT, project: 'alpha' } },
    })
  })

  test.each<
    [
      who: string,
      context: Record<string, string>,
      callerToken: string | undefined,
      status: number,
      reason: string,
    ]
  >([
    ['an unknown Envoy', context, undefined, 500, 'CALLER_TOKEN_MISSING'],
    ['a caller without the profile', context, OTHER_TOKEN, 500, 'PROFILE_NOT_ALLOWED'],
    ['an unknown place', { ...context, credential_place: 'X-Token' }, ENVOY_TOKEN, 500, 'INVALID_ARGUMENT'],
    ['an API that is not there', { ...context, credential_api: 'nosuch' }, ENVOY_TOKEN, 403, 'UNKNOWN_API'],
  ])('%s gets none, and the request does not pass', async (_who, settings, callerToken, status, reason) => {
    const wishes = callerToken === undefined ? {} : { callerToken }
    const verdict = await envoy.ask({ context: settings, headers }, wishes)
    expect(undecided(verdict)).toEqual({ allowed: false, status, reason })
    expect(Object.keys(verdict.headers)).not.toContain('x-auth-token')
  })

  test.each([
    ['without a credential', []],
    ['of another account', [iam(restricted)]],
  ])('a client %s gets none', async (_client, sent) => {
    const verdict = await envoy.ask({ context, headers: sent }, { callerToken: ENVOY_TOKEN })
    expect(verdict.allowed).toBe(false)
    expect(verdict.headers['x-auth-token']).toBeUndefined()
  })

  test('a decision alone needs no caller, and a wrong caller token does not matter', async () => {
    const verdict = await envoy.ask({ context: BALANCE, headers }, { callerToken: 'x'.repeat(40) })
    expect(verdict.allowed).toBe(true)
  })
})
