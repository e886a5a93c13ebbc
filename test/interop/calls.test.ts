/**
 * Calls of the contract with clients in other languages: the life of a token, from `Issue` to `Revoke`, the
 * longest batches, and a plan. Errors have a status, a reason and fields.
 */
import { expect, test } from 'vitest'
import type { Row } from '../support/interop/client.ts'
import { checkRow, type Header, issueRow, refusalOf, responseOf } from '../support/interop/interop-rows.ts'
import { inEveryLanguage } from '../support/interop/languages.ts'
import type { Sidecar } from '../support/interop/sidecar.ts'
import { cells, scopeFor } from '../support/matrices/oracle.ts'

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
    'an unknown caller token',
    (demo) => ({
      ...call('Issue', { profile: 'reports', ...scope(demo) }),
      metadata: { authorization: 'Bearer unknown' },
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

/** The longest batch that the sidecar accepts by default. */
const BATCH_LENGTH_MAX = 1000

/** Cells in an irregular order, so that a wrong order of answers is noticed. */
const manyCells = Array.from({ length: BATCH_LENGTH_MAX }, (_, index) => {
  const cell = cells()[(index * 37 + Math.floor(index / 90)) % cells().length]
  if (cell === undefined) throw new Error('the oracle is empty')
  return cell
})

const checkOf = ({ api, kind }: { api: string; kind: string }) => ({
  api,
  token: { kind, scope: scopeFor(kind) },
})

inEveryLanguage((ask, sidecar) => {
  /** A scope, the kind that `Issue` returns, an API that accepts it and one that does not. */
  test.each([
    { bound: 'an account', project: false, kind: 'iam_token_account_scoped', open: 'balance', shut: 'cdn' },
    { bound: 'a project', project: true, kind: 'iam_token_project_scoped', open: 'cdn', shut: 'balance' },
  ])(
    'a token for $bound opens APIs that accept it until it is revoked',
    async ({ project, kind, open, shut }) => {
      const { demo } = sidecar()
      const scope = { account: demo.account, project: project ? demo.project : '' }
      const token = responseOf(await ask(issueRow(demo, { scope })))
      expect(token).toMatchObject({ kind, scope, header: 'X-Auth-Token' })
      expect(Date.parse(token.expires_at) - Date.parse(token.issued_at)).toBe(24 * 60 * 60 * 1000)

      const header: Header = [token.header, token.value]
      const verified = {
        kind,
        scope,
        token_id: token.token_id,
        expires_at: token.expires_at,
        subject: { name: demo.service_user.name, type: 'service_user' },
      }
      expect(responseOf(await ask(checkRow(open, header)))).toMatchObject({
        allowed: true,
        reason: 'REASON_ALLOWED',
        verified: true,
        token: verified,
        cache_for: '5s',
      })
      expect(responseOf(await ask(checkRow(shut, header)))).toMatchObject({
        allowed: false,
        reason: 'REASON_TOKEN_KIND_NOT_ACCEPTED',
        verified: true,
        token: verified,
      })

      const revoke = { call: 'AuthorizationService/Revoke', requests: [{ value: token.value }] } as const
      const revoked = responseOf(await ask(revoke))
      expect(revoked.token_id).toBe(token.token_id)
      expect(responseOf(await ask(revoke)), 'revoking twice is not an error').toEqual(revoked)
      expect(responseOf(await ask(checkRow(open, header)))).toMatchObject({
        allowed: false,
        reason: 'REASON_CREDENTIAL_REVOKED',
        verified: false,
      })
    },
  )

  test('a token is revoked by its id with the caller token of an operator', async () => {
    const { demo, administratorToken } = sidecar()
    const token = responseOf(await ask(issueRow(demo, { apis: { apis: ['balance', 'iam'] } })))
    const metadata = { authorization: `Bearer ${administratorToken}` }
    const requests = [{ token_id: token.token_id }]
    expect(responseOf(await ask({ call: 'AuthorizationService/Revoke', requests, metadata }))).toMatchObject({
      token_id: token.token_id,
    })
    expect(responseOf(await ask(checkRow('balance', [token.header, token.value])))).toMatchObject({
      reason: 'REASON_CREDENTIAL_REVOKED',
    })
  })

  test('a static token opens APIs that accept it, and names its holder, a control panel user', async () => {
    const header: Header = ['X-Token', sidecar().demo.static_token]
    const answer = responseOf(await ask(checkRow('reports', header)))
    expect(answer).toMatchObject({
      allowed: true,
      token: { kind: 'static_token', subject: { type: 'control_panel_user' } },
    })
    expect(answer.token, 'a static token does not expire').not.toHaveProperty('expires_at')
    expect(responseOf(await ask(checkRow('iam', header)))).toMatchObject({
      reason: 'REASON_TOKEN_KIND_NOT_ACCEPTED',
      accepted: [{ kind: 'iam_token_account_scoped', header: 'X-Auth-Token', issuable: true }],
    })
  })

  test('a batch of 1,000 checks is answered in the order of its checks', async () => {
    const row: Row = {
      call: 'AuthorizationService/CheckBatch',
      requests: [{ checks: manyCells.map(checkOf) }],
    }
    const { results } = responseOf(await ask(row))
    expect(results).toHaveLength(BATCH_LENGTH_MAX)
    expect(results).toMatchObject(manyCells.map(({ accepted, header }) => ({ allowed: accepted, header })))
    // The message begins with the API's id, so that a misplaced answer is noticed.
    const named = results.map(({ message }: { message: string }) => message.split('`')[1])
    expect(named).toEqual(manyCells.map(({ api }) => api))
  })

  test('1,000 real tokens and their answers fit the limits of both sides', async () => {
    const { demo } = sidecar()
    const scope = { account: demo.account, project: demo.project }
    const { header, value } = responseOf(await ask(issueRow(demo, { scope })))
    // The cell with the longest answer: it is denied, and a conflict names it.
    const { call, requests } = checkRow('audit-logs', [header, value])
    const checks = Array(BATCH_LENGTH_MAX).fill(requests[0])
    const { results } = responseOf(await ask({ call: `${call}Batch`, requests: [{ checks }] }))
    expect(results).toHaveLength(BATCH_LENGTH_MAX)
    expect(results.at(-1)).toMatchObject({ allowed: false, verified: true, token: { scope } })
  })

  test('a plan is the smallest set of tokens that opens all of the APIs', async () => {
    const apis = ['dedicated-servers', 'balance', 'secrets', 'tickets']
    const plan = responseOf(await ask({ call: 'AuthorizationService/Plan', requests: [{ apis }] }))
    expect(plan.unopened).toEqual([])
    expect(plan.tokens).toMatchObject([
      { kind: 'iam_token_project_scoped', issuable: true, apis: ['dedicated-servers', 'secrets'] },
      { kind: 'static_token', issuable: false, apis: ['balance', 'tickets'] },
    ])
  })

  test.each(FAULTS)('%s gets an error', async (_title, row, expected) => {
    const answer = await ask(row(sidecar().demo))
    expect(answer.responses).toEqual([])
    expect(refusalOf(answer)).toEqual({ domain: 'portcullis', fields: [], ...expected })
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
