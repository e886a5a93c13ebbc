/** Revokes a token: by its value, which whoever presents may, or by its id, which needs an administrator. */
import type { Engine } from '../../engine/index.ts'
import type { Authority } from '../authority/authority.ts'
import { longestLifetimeMs } from '../authority/keys.ts'
import { callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import type { Caller } from './callers.ts'

/** Which token; `caller` is who asks, where they said. */
export type RevocationRequest =
  | { readonly type: 'value'; readonly value: Secret }
  | { readonly type: 'token_id'; readonly tokenId: string; readonly caller: Caller | undefined }

export interface Revoked {
  readonly tokenId: string
  readonly revokedAtMs: number
}

/** @param nowMs wall clock, in milliseconds since the epoch. Revoking twice is no error, and revoking an expired token neither. @throws CallError */
export async function revoke(
  engine: Engine,
  authority: Authority,
  revocation: RevocationRequest,
  nowMs: number,
): Promise<Revoked> {
  if (revocation.type === 'token_id') {
    const { tokenId, caller } = revocation
    if (caller === undefined) throw callError('CALLER_TOKEN_MISSING', { action: 'revoking by token id' })
    if (!caller.administrator)
      throw callError('CALLER_NOT_OPERATOR', { caller: caller.name, action: 'revoke by token id' })
    // Of a token that the authority has no record of, nothing is known but that it was issued before now.
    const lifetimeMs = longestLifetimeMs(engine.tokenKinds.values())
    const expiresAtMs = Number.isFinite(lifetimeMs) ? nowMs + lifetimeMs : undefined
    const actor = `caller ${caller.name}`
    return { tokenId, revokedAtMs: await authority.revoke({ tokenId, account: '', expiresAtMs, actor }) }
  }
  const verification = await authority.verify(revocation.value.reveal(), engine.tokenKinds)
  const { token } = verification
  if (token === undefined) throw callError('CREDENTIAL_INVALID', {})
  const { tokenId, expiresAtMs, scope } = token
  const actor = `whoever holds the token of ${token.subject.type} ${token.subject.id}`
  return {
    tokenId,
    revokedAtMs: await authority.revoke({ tokenId, account: scope.account, expiresAtMs, actor }),
  }
}
