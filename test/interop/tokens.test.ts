/** The life of a token, from `Issue` to `Revoke`, with clients in other languages. */
import { expect, test } from 'vitest'
import type { Header } from '../support/interop/interop-rows.ts'
import { checkRow, issueRow, responseOf } from '../support/interop/interop-rows.ts'
import { inEveryLanguage } from '../support/interop/languages.ts'

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

  /** Headers with genuine tokens, and the result of a check of `balance`, which accepts both tokens. */
  test.each<[title: string, reason: string, headers: (iam: string, fixed: string) => Header[]]>([
    ['a header name in capitals', 'ALLOWED', (iam) => [['X-AUTH-TOKEN', iam]]],
    ['other headers next to the credential', 'ALLOWED', (iam) => [...OTHERS, ['X-Auth-Token', iam]]],
    ['no credential', 'CREDENTIAL_MISSING', () => OTHERS],
    ['an empty credential', 'CREDENTIAL_MISSING', () => [['X-Auth-Token', '']]],
    ['a repeated header', 'CREDENTIAL_AMBIGUOUS', (iam) => [auth(iam), auth(iam)]],
    ['both headers', 'CREDENTIAL_AMBIGUOUS', (iam, fixed) => [auth(iam), ['X-Token', fixed]]],
    ['a space inside', 'CREDENTIAL_MALFORMED', (iam) => [auth(`${iam.slice(0, 9)} ${iam.slice(9)}`)]],
    ['a line break inside', 'CREDENTIAL_MALFORMED', (iam) => [auth(`${iam}\r\nX-Token: 1`)]],
    ['letters beyond ASCII', 'CREDENTIAL_MALFORMED', (iam) => [auth(`${iam}é`)]],
    ['an IAM token in X-Token', 'WRONG_HEADER', (iam) => [['X-Token', iam]]],
    ['a static token in X-Auth-Token', 'WRONG_HEADER', (_iam, fixed) => [auth(fixed)]],
    ['a tampered signature', 'CREDENTIAL_INVALID', (iam) => [auth(tampered(iam, iam.length - 20))]],
    ['tampered claims', 'CREDENTIAL_INVALID', (iam) => [auth(tampered(iam, iam.indexOf('.') + 20))]],
    ['a truncated token', 'CREDENTIAL_INVALID', (iam) => [auth(iam.slice(0, -1))]],
    ['a tampered static token', 'CREDENTIAL_INVALID', (_iam, fixed) => [['X-Token', tampered(fixed, 20)]]],
    ['an unknown word', 'CREDENTIAL_INVALID', () => [auth('hunter2')]],
  ])('%s: the answer is %s', async (_title, reason, headers) => {
    const { demo } = sidecar()
    const token = responseOf(await ask(issueRow(demo, { scope: { account: demo.account } })))
    const answer = responseOf(await ask(checkRow('balance', ...headers(token.value, demo.static_token))))
    expect(answer).toMatchObject({ allowed: reason === 'ALLOWED', reason: `REASON_${reason}` })
    expect(answer.token === undefined, 'a credential that is not genuine has no holder').toBe(
      reason !== 'ALLOWED',
    )
  })
})

const OTHERS: Header[] = [
  ['Accept', 'application/json'],
  ['User-Agent', 'interop'],
]

function auth(value: string): Header {
  return ['X-Auth-Token', value]
}

/** The token with a changed character at an index. */
function tampered(token: string, index: number): string {
  return token.slice(0, index) + (token[index] === 'A' ? 'B' : 'A') + token.slice(index + 1)
}
