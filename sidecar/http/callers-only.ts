/**
 * The right to ask over HTTP beside the contract. Where a call of the contract needs a caller token, so does
 * this, by the same rule and in the same words (`sidecar/contract/admission.ts`).
 */
import type { IncomingMessage } from 'node:http'
import type { HttpRequest } from '../base/http/exchange.ts'
import { whereabouts } from '../base/ip-address.ts'
import { connectionOf } from '../base/net/http-request.ts'
import type { Admitting } from '../usecases/capabilities.ts'
import { expectLiveSession } from '../usecases/requester.ts'

export interface Admission {
  /** Whether every request needs the token of a caller; else a token that is presented must be valid. */
  readonly callersOnly: boolean
  /** Finds the session that counts in place of a caller token; absent: none does. */
  readonly sessionOf?: ((request: IncomingMessage) => Buffer | undefined) | undefined
}

/**
 * Looks at the header fields alone.
 *
 * @throws CallError where the request is not that of a caller, and has no session
 */
export async function expectCaller(
  services: Admitting,
  request: HttpRequest,
  { callersOnly, sessionOf }: Admission,
): Promise<void> {
  const { authorization = [] } = request.raw.headersDistinct
  if (authorization.length === 0 && !callersOnly) return
  const { clientAddress } = request
  try {
    const session = sessionOf?.(request.raw)
    if (session === undefined) return void services.callers.expectToken(authorization)
    const connection = `http ${connectionOf(request).name}`
    await expectLiveSession(services, session, { clientAddress, connection, ownersFromAnywhere: false })
  } catch (error) {
    const by = { protocol: 'http', address: whereabouts(clientAddress) }
    services.trace.refused('a question about access was refused', error, by, () => ({
      request_id: request.id,
    }))
    throw error
  }
}
