/** The requester at the identity endpoint (§4.1): the user whose IAM token came with the request. */

import {
  type CredentialHeaders,
  carries,
  type Engine,
  type Extraction,
  type TokenKind,
} from '../../../engine/index.ts'
import { isUnscoped, type VerifiedToken } from '../../authority/authority.ts'
import { callError } from '../../base/call-error.ts'
import { type IpAddress, whereabouts } from '../../base/ip-address.ts'
import { type UserByToken, userByIamToken } from '../requester.ts'
import { type IdentityServices, unscopedKind } from './identity-token.ts'

/** A request, and where the token of its requester is. */
export interface IdentityRequest {
  /** Where the requester's own token is. */
  readonly headers: CredentialHeaders
  /** Where the requester is, for accounts that restrict addresses (§1). */
  readonly clientAddress: IpAddress | undefined
  /** The same object for all requests of a connection. */
  readonly connection: object
  /** The id of the request. */
  readonly requestId?: string
}

/**
 * The user whose active IAM token is in the header that carries it.
 *
 * @param wanted `undefined`: an unscoped token is enough
 * @throws CallError where there is none
 */
export async function authenticate(
  services: IdentityServices,
  { headers, clientAddress, connection, requestId }: IdentityRequest,
  wanted?: 'scoped',
): Promise<UserByToken> {
  const { engine, settings } = services
  const found = engine.extract(headers)
  const requester = found.ok
    ? await userByIamToken(services, {
        value: found.value,
        clientAddress,
        connection,
        acceptUnscoped: settings.unscopedLogin,
        from: { protocol: 'http', address: whereabouts(clientAddress) },
        requestId,
      })
    : undefined
  if (found.ok && requester !== undefined && isCarriedAs(engine, requester.token, found)) {
    if (wanted === 'scoped' && isUnscoped(requester.token)) throw callError('SCOPE_REQUIRED', {})
    return requester
  }
  throw callError('REQUESTER_NOT_AUTHENTICATED', {
    credential: IDENTITY_CREDENTIAL,
  })
}

export const IDENTITY_CREDENTIAL = 'one active IAM token, in the header that carries it'

/** Whether the token travelled where tokens of its kind do. */
function isCarriedAs(
  engine: Engine,
  token: VerifiedToken,
  found: Extract<Extraction, { ok: true }>,
): boolean {
  // A user is authenticated by kinds of the matrix, and by unscoped tokens.
  const kind = isUnscoped(token) ? unscopedKind(engine) : (engine.tokenKinds.get(token.kind) as TokenKind)
  return carries(kind, found)
}
