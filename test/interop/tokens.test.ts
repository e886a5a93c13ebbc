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
})
