/** Who asks the identity endpoint, from where, and about which token. */
import type { FastifyRequest } from 'fastify'
import type { TokenQuestion } from '../usecases/identity.ts'

/** The question about the token of a request. */
export function questionOf(request: FastifyRequest): TokenQuestion {
  const headers = request.raw.headersDistinct
  const subjects = headers['x-subject-token']
  return {
    headers: Object.entries(headers).map(([name, values]) => [name, values ?? []]),
    clientAddress: addressOf(request),
    // A repeated header counts as an empty one.
    subject: subjects && (subjects.length === 1 ? (subjects[0] ?? '') : ''),
    acceptExpired: false,
  }
}

/** The client's address. A client that has already disconnected has none, and must not count as a client on this machine. */
export function addressOf(request: FastifyRequest): string {
  return request.ip || 'gone'
}
