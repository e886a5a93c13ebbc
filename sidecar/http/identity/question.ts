/** The requester at the identity endpoint, the address, and the token in question. */
import type { HttpRequest } from '../../base/http/exchange.ts'
import { connectionOf, headersOf } from '../../base/net/http-request.ts'
import type { TokenQuestion } from '../../usecases/identity/subject-token.ts'

/** The question about the token of a request. */
export function questionOf(request: HttpRequest): TokenQuestion {
  const subjects = request.raw.headersDistinct['x-subject-token']
  return {
    headers: headersOf(request),
    clientAddress: request.clientAddress,
    connection: connectionOf(request),
    requestId: request.id,
    // A repeated header counts as an empty one.
    subject: subjects && (subjects.length === 1 ? (subjects[0] ?? '') : ''),
    acceptExpired: false,
  }
}
