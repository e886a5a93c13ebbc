/** Revokes a token: by its value, for whoever presents it, or by its id, for an operator. */
import { trusted } from '../authority/actor.ts'
import { callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import type { Caller } from './callers.ts'
import type { CallServices } from './services.ts'

/** Which token; `caller` is the caller whose token was presented, if one was. */
export type RevokeRequest =
  | { readonly type: 'value'; readonly value: Secret }
  | { readonly type: 'token_id'; readonly tokenId: string; readonly caller: Caller | undefined }

export interface Revoked {
  readonly tokenId: string
  /** When it was first revoked, in milliseconds since the epoch. */
  readonly revokedAtMs: number
}

/** Revoking twice is no error, and revoking an expired token neither. @throws CallError */
export async function revoke(
  services: Pick<CallServices, 'engine' | 'authority'>,
  request: RevokeRequest,
): Promise<Revoked> {
  return request.type === 'token_id' ? revokeById(services, request) : revokeByValue(services, request)
}

async function revokeById(
  { authority }: Pick<CallServices, 'authority'>,
  { tokenId, caller }: Extract<RevokeRequest, { type: 'token_id' }>,
): Promise<Revoked> {
  if (caller === undefined) throw callError('CALLER_TOKEN_MISSING', { action: 'revoking by token id' })
  if (!caller.operator)
    throw callError('CALLER_NOT_OPERATOR', { caller: caller.name, action: 'revoke by token id' })
  const actor = trusted(`caller ${caller.name}`)
  return { tokenId, revokedAtMs: await authority.revoke(actor, { tokenId, account: '' }) }
}

async function revokeByValue(
  { engine, authority }: Pick<CallServices, 'engine' | 'authority'>,
  { value }: Extract<RevokeRequest, { type: 'value' }>,
): Promise<Revoked> {
  const { token } = await authority.verify(value.reveal(), engine.tokenKinds)
  if (token === undefined) throw callError('CREDENTIAL_INVALID', {})
  const { tokenId, scope, subject } = token
  const actor = trusted(`whoever holds the token of ${subject.type} ${subject.id}`)
  return {
    tokenId,
    revokedAtMs: await authority.revoke(actor, { tokenId, account: scope.account }),
  }
}
