/** The APIs that a credential opens: it is verified once, and each API is answered as a separate check is. */
import { expect, test, vi } from 'vitest'
import type { Verification, VerifiedToken, Verifier } from '../../sidecar/authority/authority.ts'
import { checkCredentials } from '../../sidecar/usecases/check.ts'
import { credentialForSearch } from '../../sidecar/usecases/credential-search.ts'
import { ENGINE, WHOLE } from '../support/sidecar/four-kinds.ts'

const TOKEN: VerifiedToken = {
  ...{ kind: 'whole', scope: { account: '7' }, subject: { id: 'u', name: 'u', type: 'service_user' } },
  ...{ tokenId: 't', issuedAtMs: 0, expiresAtMs: undefined },
}
const EXPIRED: Verification = { ok: false, reason: 'CREDENTIAL_EXPIRED', token: TOKEN }
const INVALID: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }
const CONNECTION = {}

function servicesWith(verification: Verification) {
  const verify = vi.fn(() => verification)
  const verifier: Verifier = { recognize: () => undefined, verify }
  return { services: { engine: ENGINE, authority: verifier, verifier }, verify }
}
const questionWith = (headers: Readonly<Record<string, string>>, account?: string) => ({
  headers: Object.entries(headers),
  target: account === undefined ? undefined : { account },
  clientAddress: '192.0.2.7' as const,
})
const HEADERS = { [String(WHOLE.header)]: 'Bearer any' }

test.each<[claim: string, account: string | undefined, opened: string[]]>([
  ['any target', undefined, ['whole', 'whole+part', 'whole+fixed', 'whole+part+fixed', 'narrow']],
  ['its own account', '7', ['whole', 'whole+part', 'whole+fixed', 'whole+part+fixed', 'narrow']],
  ['another account', '8', []],
])('a credential opens what a check says, for %s', async (_claim, account, opened) => {
  const { services, verify } = servicesWith({ ok: true, token: TOKEN })
  const question = questionWith(HEADERS, account)
  const found = await credentialForSearch(services, question, CONNECTION)
  expect(found).toMatchObject({ token: TOKEN, denial: undefined })
  const apis = ['none', ...ENGINE.apis.keys()]
  expect(apis.filter((api) => found.opens(api))).toEqual(opened)
  const from = { clientAddress: '192.0.2.7', connection: CONNECTION }
  expect(verify.mock.calls).toEqual([['any', ENGINE.tokenKinds, from]])
  for (const api of apis) {
    const asker = { connection: CONNECTION, listener: undefined }
    const { decision } = await checkCredentials(services, { ...question, api }, asker)
    expect([api, found.opens(api)]).toEqual([api, decision.allowed])
  }
})

test.each<[claim: string, headers: Record<string, string>, verification: Verification, reason: string]>([
  ['has expired', HEADERS, EXPIRED, 'CREDENTIAL_EXPIRED'],
  ['is unknown', HEADERS, INVALID, 'CREDENTIAL_INVALID'],
  ['is not there', {}, INVALID, 'CREDENTIAL_MISSING'],
])(
  'a credential that %s opens nothing, and the answer says why',
  async (_claim, headers, verification, reason) => {
    const { services } = servicesWith(verification)
    const found = await credentialForSearch(services, questionWith(headers), CONNECTION)
    expect(found).toMatchObject({ denial: { reason } })
    expect(found.token).toEqual(verification.ok ? undefined : verification.token)
    for (const api of ENGINE.apis.keys()) expect(found.opens(api)).toBe(false)
  },
)
