/** Who asks the identity endpoint, from where, and about which token. */
import type { FastifyRequest } from 'fastify'
import { carrierOf } from '../base/http-carrier.ts'
import type { LoginConnection, TokenQuestion } from '../usecases/identity.ts'

/** The question about the token of a request. */
export function questionOf(request: FastifyRequest): TokenQuestion {
  const subjects = request.raw.headersDistinct['x-subject-token']
  return {
    headers: headersOf(request),
    clientAddress: addressOf(request),
    connection: connectionOf(request),
    requestId: request.id,
    // A repeated header counts as an empty one.
    subject: subjects && (subjects.length === 1 ? (subjects[0] ?? '') : ''),
    acceptExpired: false,
  }
}

/** Every header with each of its values. */
export function headersOf({ raw }: FastifyRequest): [name: string, values: string[]][] {
  const { headersDistinct } = raw
  const headers: [name: string, values: string[]][] = []
  for (const name in headersDistinct) headers.push([name, headersDistinct[name] as string[]])
  return headers
}

/** The client's address. A client that has already disconnected has none, and must not count as a client on this machine. */
export function addressOf(request: FastifyRequest): string {
  return request.ip || 'gone'
}

const CONNECTIONS = new WeakMap<object, LoginConnection>()

/** The connection of a request. */
export function connectionOf({ raw, socket }: FastifyRequest): LoginConnection {
  const carrier = carrierOf(raw)
  let connection = CONNECTIONS.get(carrier)
  if (connection === undefined) {
    connection = { name: String(socket.remotePort) }
    CONNECTIONS.set(carrier, connection)
  }
  return connection
}
