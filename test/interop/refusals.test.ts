/** Errors: the same status, reason and fields in every language. */
import { expect, test } from 'vitest'
import type { Row } from '../support/interop/client.ts'
import { issueRow, refusalOf, responseOf } from '../support/interop/interop-rows.ts'
import { inEveryLanguage } from '../support/interop/languages.ts'
import type { Sidecar } from '../support/interop/sidecar.ts'

type Fault = readonly [
  title: string,
  row: (demo: Sidecar['demo']) => Row,
  expected: { readonly code: string; readonly reason?: string; readonly fields?: readonly string[] },
]

const TOKEN = { kind: 'static_token', scope: { account: '123456' } }

const FAULTS: readonly Fault[] = [
  // Requests that do not follow the contract.
  ['an empty api', () => check({ token: TOKEN }), invalid('api')],
  [
    'one bad check of a batch',
    () => call('CheckBatch', { checks: [{ api: 'balance', token: TOKEN }, { token: TOKEN }] }),
    invalid('checks[1].api'),
  ],
  ['a message of a stream without a check', () => call('CheckStream', { id: 'one' }), invalid('check')],
  [
    'a bad check in a stream',
    () => call('CheckStream', { id: 'one', check: { token: TOKEN } }),
    invalid('check.api'),
  ],
  [
    'an issue for an unknown api',
    (demo) => issueRow(demo, { apis: { apis: ['balance', 'nosuch'] } }),
    invalid('apis.apis[1]'),
  ],
  // The requester or the caller is not known.
  [
    'a wrong password',
    (demo) => issueRow({ ...demo, service_user: { ...demo.service_user, password: 'wrong' } }, scope(demo)),
    { code: 'UNAUTHENTICATED', reason: 'LOGIN_FAILED' },
  ],
  [
    'an unknown caller token',
    (demo) => ({
      ...call('Issue', { profile: 'reports', ...scope(demo) }),
      metadata: { authorization: 'Bearer nobody' },
    }),
    { code: 'UNAUTHENTICATED', reason: 'CALLER_TOKEN_INVALID' },
  ],
  // Requests that no requester may make, or that cannot be fulfilled.
  [
    'a token for another account',
    (demo) => issueRow(demo, { scope: { account: '1' } }),
    { code: 'PERMISSION_DENIED', reason: 'PERMISSION_MISSING' },
  ],
  [
    'a static token, which no call can issue (§4.2)',
    (demo) => issueRow(demo, { apis: { apis: ['tickets'] } }),
    { code: 'FAILED_PRECONDITION', reason: 'NOT_ISSUABLE' },
  ],
  [
    'a revocation of an unknown token',
    () => call('Revoke', { value: 'hunter2' }),
    { code: 'NOT_FOUND', reason: 'CREDENTIAL_INVALID' },
  ],
]

inEveryLanguage((ask, sidecar) => {
  test.each(FAULTS)('%s gets an error', async (_title, row, expected) => {
    const answer = await ask(row(sidecar().demo))
    expect(answer.responses).toEqual([])
    expect(refusalOf(answer)).toEqual({ domain: 'portcullis', fields: [], ...expected })
  })

  test('a call that waits for longer than its deadline ends with DEADLINE_EXCEEDED', async () => {
    const watch: Row = { call: 'AuthorizationService/WatchMatrix', requests: [{}], deadline_ms: 500 }
    const answer = await ask(watch)
    expect(answer.error?.code).toBe('DEADLINE_EXCEEDED')
    const { responses } = await ask({ ...watch, deadline_ms: 30_000, responses_max: 1 })
    expect(responses, 'the sidecar keeps answering').toHaveLength(1)
  })

  test('a message that is larger than the limit is refused, and the next one is answered', async () => {
    const large = { api: 'balance', credentials: { headers: [{ name: 'X', value: 'x'.repeat(2 ** 22) }] } }
    expect((await ask(call('Check', large))).error?.code).toBe('RESOURCE_EXHAUSTED')
    expect(responseOf(await ask(check({ api: 'balance', token: TOKEN }))).allowed).toBe(true)
  })
})

function call(method: string, request: object): Row {
  return { call: `AuthorizationService/${method}`, requests: [request] }
}

function check(request: object): Row {
  return call('Check', request)
}

function scope({ account }: Sidecar['demo']): object {
  return { scope: { account } }
}

function invalid(...fields: readonly string[]): Fault[2] {
  return { code: 'INVALID_ARGUMENT', reason: 'INVALID_ARGUMENT', fields }
}
