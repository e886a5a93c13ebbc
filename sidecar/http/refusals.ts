/** The log's line about a request that is refused or fails. */

import { CallError } from '../base/call-error.ts'
import type { HttpError, HttpRequest } from '../base/http/exchange.ts'
import { whereabouts } from '../base/ip-address.ts'
import type { Reporting } from '../usecases/capabilities.ts'

/**
 * The lines name the request by its id, which its client has in a header. They hold nothing that the client
 * sent.
 */
export function logRefusal(
  { log, trace }: Reporting,
  { id, clientAddress }: Pick<HttpRequest, 'id' | 'clientAddress'>,
  error: Error,
  { status }: HttpError,
): void {
  const request = { client_address: whereabouts(clientAddress), request_id: id }
  if (status >= 500) trace.failed(error, request)
  if (status === 500) return
  const reason = error instanceof CallError && { reason: error.reason }
  log.debug({ status, ...reason, ...request }, 'a request was refused')
}
