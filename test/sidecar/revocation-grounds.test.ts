/**
 * Who may revoke what, over the whole space of requesters and tokens, against the rule as the docs say it.
 */
import { describe, expect, test } from 'vitest'
import {
  type AskerClass,
  type Ground,
  groundOf,
  type TokenClass,
} from '../../sidecar/usecases/revocation-right.ts'

const ASKERS = [
  ...(['named_caller', 'caller_with_right', 'caller_without_right'] as const),
  ...(['user', 'user_of_upstream', 'unknown_user', 'nobody'] as const),
] satisfies AskerClass[]
const TOKENS = ['iam', 'static', 'upstream', 'other_upstream'] satisfies TokenClass[]
const SPACE = ASKERS.flatMap((asker) => TOKENS.map((token) => ({ asker, token })))

/** The rule again, in the order of its sentences. */
function stated(asker: AskerClass, token: TokenClass): Ground {
  const isOurs = token === 'iam' || token === 'static'
  // A caller token names who asks, and nothing else counts. So does a certificate whose caller has the right.
  if (asker === 'named_caller' || asker === 'caller_with_right') return 'right'
  // A credential that is presented and is none is never ignored.
  if (asker === 'unknown_user') return 'not_authenticated'
  // A user of ours decides about our tokens alone.
  if (asker === 'user') return isOurs ? 'user' : 'not_holder'
  // A static token is not ended by possession: its finder must be authenticated.
  if (token === 'static') return asker === 'caller_without_right' ? 'right' : 'not_authenticated'
  // An upstream judges by its own tokens.
  if (asker === 'user_of_upstream') return token === 'upstream' ? 'upstream' : 'not_holder'
  // Who holds a token may end it, and a certificate without the right takes nothing away.
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
