/** Revokes a token: by its value, which whoever presents may, or by its id, which needs an administrator. */
import type { Engine } from '../../engine/index.ts'
import type { Authority } from '../authority/authority.ts'
import { longestLifetimeMs } from '../authority/keys.ts'
import { NoAnswer } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import type { Caller } from './callers.ts'

/** Which token; `caller` is who asks, where they said. */
export type Revocation =
  | { readonly type: 'value'; readonly value: Secret }
  | { readonly type: 'token_id'; readonly tokenId: string; readonly caller: Caller | undefined }

export interface Revoked {
  readonly tokenId: string
  readonly revokedAtMs: number
}

/** @param nowMs wall clock, in milliseconds since the epoch. Revoking twice is no error, and revoking an expired token neither. @throws NoAnswer */
export async function revoke(
  engine: Engine,
  authority: Authority,
  revocation: Revocation,
  nowMs: number,
): Promise<Revoked> {
  if (revocation.type === 'token_id') {
    const { tokenId, caller } = revocation
    if (caller === undefined)
      throw new NoAnswer(
        'UNAUTHENTICATED',
        'revoking by token id needs a caller token: metadata `authorization: Bearer …`',
        {
          reason: 'CALLER_TOKEN_MISSING',
        },
      )
    if (!caller.administrator)
      throw new NoAnswer('PERMISSION_DENIED', `caller \`${caller.name}\` may not revoke by token id`, {
        reason: 'CALLER_NOT_ADMINISTRATOR',
      })
    // Of a token that the authority has no record of, nothing is known but that it was issued before now.
    const lifetimeMs = longestLifetimeMs(engine.tokenKinds.values())
    const expiresAtMs = Number.isFinite(lifetimeMs) ? nowMs + lifetimeMs : undefined
    const actor = `caller ${caller.name}`
    return { tokenId, revokedAtMs: await authority.revoke({ tokenId, account: '', expiresAtMs, actor }) }
  }
  const verification = await authority.verify(revocation.value.reveal(), engine.tokenKinds)
  const { token } = verification
  if (token === undefined)
    throw new NoAnswer('NOT_FOUND', 'no authority vouches for the token, so there is nothing to revoke', {
      reason: 'CREDENTIAL_INVALID',
    })
  const { tokenId, expiresAtMs, scope } = token
  const actor = `whoever holds the token of ${token.subject.type} ${token.subject.id}`
  return {
    tokenId,
    revokedAtMs: await authority.revoke({ tokenId, account: scope.account, expiresAtMs, actor }),
  }
}
