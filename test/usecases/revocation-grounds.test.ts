/**
 * The requesters who may revoke each token, over the whole space of both, against the rule of the docs.
 */
import { describe, expect, test } from 'vitest'
import { UNSCOPED_KIND, type VerifiedToken } from '../../sidecar/authority/authority.ts'
import type { UserByToken } from '../../sidecar/usecases/requester.ts'
import {
  type AskerClass,
  expectAdministrator,
  expectHolderOrAdministrator,
  type Ground,
  groundOf,
  isHolder,
  type TokenClass,
} from '../../sidecar/usecases/revocation-right.ts'
import { ACCOUNT_KIND } from '../support/matrices/engines.ts'
import { outcomeOf } from '../support/sidecar/services.ts'

const ASKERS = [
  ...(['named_caller', 'caller_with_right', 'caller_without_right'] as const),
  ...(['user', 'user_of_upstream', 'unknown_user', 'nobody'] as const),
] satisfies AskerClass[]
const TOKENS = ['iam', 'static', 'upstream', 'other_upstream'] satisfies TokenClass[]
const SPACE = ASKERS.flatMap((asker) => TOKENS.map((token) => ({ asker, token })))

/** The rule again, in the order of its sentences. */
function stated(asker: AskerClass, token: TokenClass): Ground {
  const isOurs = token === 'iam' || token === 'static'
  // A caller token names the requester, and nothing else counts. So does a certificate if its caller has the
  // right.
  if (asker === 'named_caller' || asker === 'caller_with_right') return 'right'
  // A credential that is presented and invalid is never ignored.
  if (asker === 'unknown_user') return 'not_authenticated'
  // A user of ours decides about our tokens alone.
  if (asker === 'user') return isOurs ? 'user' : 'not_holder'
  // A static token is not ended by possession: its finder must be authenticated.
  if (token === 'static') return asker === 'caller_without_right' ? 'right' : 'not_authenticated'
  // An upstream judges by its own tokens.
  if (asker === 'user_of_upstream') return token === 'upstream' ? 'upstream' : 'not_holder'
  // The holder of a token may end it, and a certificate without the right takes nothing away.
  return 'possession'
}

test.each(SPACE)('$asker, $token', ({ asker, token }) => {
  expect(groundOf(asker, token)).toBe(stated(asker, token))
})

describe('laws', () => {
  test('possession ends no static token, for any requester', () => {
    for (const asker of ASKERS) expect(groundOf(asker, 'static')).not.toBe('possession')
  })

  test('a certificate without the right takes away nothing that a client without one may', () => {
    for (const token of TOKENS)
      if (groundOf('nobody', token) === 'possession')
        expect(groundOf('caller_without_right', token)).toBe('possession')
  })

  test('no upstream decides about a token of ours, or of another upstream', () => {
    for (const { asker, token } of SPACE)
      if (groundOf(asker, token) === 'upstream')
        expect([asker, token]).toEqual(['user_of_upstream', 'upstream'])
  })

  test('a wrong credential never allows what none allows', () => {
    for (const token of TOKENS) expect(groundOf('unknown_user', token)).toBe('not_authenticated')
  })
})

describe('the holder of a token, and an administrator of its account', () => {
  const [HERE, ELSEWHERE] = ['4711', '4712']
  const token = (holder: string, account = HERE): VerifiedToken => ({
    ...{
      kind: ACCOUNT_KIND,
      scope: { account },
      subject: { id: holder, name: holder, type: 'service_user' },
    },
    ...{ tokenId: `of ${holder}`, issuedAtMs: 0, expiresAtMs: undefined },
  })
  const requester = (rights: { owner?: boolean; roles?: string[] }, kind = ACCOUNT_KIND) => {
    const user = { account: HERE, id: 'a', owner: false, roles: [], ...rights }
    return { type: 'user', user, token: { ...token('a'), kind } } as unknown as UserByToken
  }
  const ADMINISTRATOR = { roles: ['iam.admin'] }

  test.each<[claim: string, requester: UserByToken, of: VerifiedToken, holds: boolean, administers: boolean]>(
    [
      ['the holder', requester({}), token('a'), true, false],
      ['an administrator', requester(ADMINISTRATOR), token('b'), false, true],
      ['an owner', requester({ owner: true }), token('b'), false, true],
      ['a user without the role', requester({}), token('b'), false, false],
      ['an administrator of another account', requester(ADMINISTRATOR), token('b', ELSEWHERE), false, false],
      ['an administrator without a scope', requester(ADMINISTRATOR, UNSCOPED_KIND), token('b'), false, false],
    ],
  )('%s', async (_claim, asking, of, holds, administers) => {
    expect(isHolder(asking, of)).toBe(holds)
    const refusal = (isAllowed: boolean) =>
      isAllowed ? undefined : expect.stringMatching(/^NOT_HOLDER_NOR_ADMINISTRATOR: only the holder/)
    const { account } = of.scope
    expect(await outcomeOf(() => expectAdministrator(asking, account))).toEqual(refusal(administers))
    const either = await outcomeOf(() => expectHolderOrAdministrator(asking, of))
    expect(either).toEqual(refusal(holds || administers))
  })
})
