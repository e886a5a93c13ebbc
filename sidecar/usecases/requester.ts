/** Who asks with an IAM token of their own. */
import type { Engine } from '../../engine/index.ts'
import type { Authority, VerifiedToken } from '../authority/authority.ts'
import { callError } from '../base/call-error.ts'

/**
 * The token, if it is an IAM token that stands; no other credential speaks for anybody here, whatever it opens.
 *
 * @param clientAddress where it came from, for accounts that restrict addresses (§1)
 * @throws CallError `ADDRESS_NOT_ALLOWED`, and where the authority does not answer
 */
export async function requesterOf(
  { engine, authority }: { readonly engine: Engine; readonly authority: Authority },
  value: string,
  clientAddress: string | undefined,
): Promise<VerifiedToken | undefined> {
  if (authority.formOf(value) !== 'issue') return undefined
  const verification = await authority.verify(value, engine.tokenKinds, clientAddress)
  const { token } = verification
  if (token === undefined || engine.tokenKinds.get(token.kind)?.obtained.by !== 'issue') return undefined
  if (verification.ok) return token
  if (verification.reason === 'ADDRESS_NOT_ALLOWED') throw callError('ADDRESS_NOT_ALLOWED', {})
  return undefined
}
