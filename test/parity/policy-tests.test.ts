/**
 * Policy tests decide about headers as a sidecar does: both get the same tokens, and both answer each
 * question alike.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type CredentialReason, compile, fieldValue, type Scope } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { Credentials } from '../../matrix/policy-tests/credential.ts'
import type { TestHeaders, TestToken } from '../../matrix/policy-tests/document.ts'
import type { VerifiedToken, Verifier } from '../../sidecar/authority/authority.ts'
import { readMatrix } from '../../sidecar/rules/matrix-file/read.ts'
import { checkCredentials } from '../../sidecar/usecases/check.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

/** A matrix whose kinds are all issued, each in a different header. */
const [first, second] = smallMatrix().tokenKinds
if (first === undefined || second === undefined) throw new Error('expected two kinds')
const issuedAlone = {
  ...smallMatrix(),
  tokenKinds: [first, { ...second, obtained: first.obtained, scopeLevel: first.scopeLevel }],
  statements: [],
  conflicts: [],
}

const library = readMatrix(join(import.meta.dirname, '../../examples/matrices/city-library.json'))

const FAULTS: readonly (CredentialReason | undefined)[] = [
  ...([undefined, 'CREDENTIAL_EXPIRED', 'CREDENTIAL_REVOKED', 'ADDRESS_NOT_ALLOWED'] as const),
]

test.each([
  ['the shipped matrix', supportMatrix],
  ['a small one', smallMatrix()],
  ['one of issued kinds alone', issuedAlone],
  ['one of kinds in one header', library],
])('%s', async (_name, matrix) => {
  const engine = compile(matrix)
  const kinds = [...engine.tokenKinds.values()]
  const scopes: Scope[] = [{ account: '1' }, { account: '1', project: 'a' }]
  const tokens: Record<string, TestToken> = { nameless: { fault: 'CREDENTIAL_EXPIRED' } }
  for (const { id, prefix = '' } of kinds)
    for (const [index, scope] of scopes.entries())
      for (const fault of FAULTS)
        tokens[`${prefix}${id}-${index}-${fault}`] = {
          kind: id,
          scope,
          holder: 'service_user',
          ...(fault && { fault }),
        }

  const values = [...Object.keys(tokens), 'unheard-of', '', 'two words', 'a,b']
  const places = [...kinds, { header: 'x-other', scheme: undefined }]
  const sent = places.flatMap(({ header, scheme }) =>
    values
      .flatMap((value) => [value, fieldValue({ scheme }, value)])
      .flatMap((value): TestHeaders[] => [{ [header]: value }, { [header]: [value, value] }]),
  )
  const authority = authorityOf(engine.tokenKinds, tokens)
  const credentials = new Credentials(engine, tokens)
  const reasons = new Set<string>()
  for (const headers of [{}, ...sent])
    for (const api of [...engine.apis.keys(), 'unknown'])
      for (const target of [undefined, { account: '1', project: 'a' }, { account: '2' }]) {
        const question = { api, headers: Object.entries(headers), target, clientAddress: undefined }
        const asker = { connection: undefined, listener: undefined }
        const { decision } = await checkCredentials(
          { engine, authority, verifier: authority },
          question,
          asker,
        )
        reasons.add(decision.reason)
        expect(credentials.decide(engine, api, headers, target).decision.reason).toBe(decision.reason)
      }
  expect(reasons).toContain('WRONG_HEADER')
  expect(reasons.size).toBeGreaterThanOrEqual(12)
})

/** An authority that knows these tokens, and by their form how they are obtained. */
function authorityOf(
  kinds: ReadonlyMap<string, { obtained: { by: 'issue' | 'control_panel' | 'elsewhere' } }>,
  tokens: Record<string, TestToken>,
): Verifier {
  const known = (value: string): TestToken | undefined =>
    Object.hasOwn(tokens, value) ? tokens[value] : undefined
  return {
    recognize: (value) => {
      const by = kinds.get(known(value)?.kind ?? '')?.obtained.by
      return by === 'elsewhere' ? undefined : by
    },
    verify: (value) => {
      const found = known(value)
      if (found === undefined) return { ok: false, reason: 'CREDENTIAL_INVALID' }
      const { kind, scope, holder, fault } = found
      if (kind === undefined) return { ok: false, reason: fault ?? 'CREDENTIAL_INVALID' }
      const token = { kind, scope, subject: { type: holder } } as VerifiedToken
      return fault === undefined ? { ok: true, token } : { ok: false, reason: fault, token }
    },
  }
}
