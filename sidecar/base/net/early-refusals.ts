/**
 * Requests over HTTP that are refused before any route sees them. Node reports some by the code of an error,
 * and answers others itself, without a report.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The bound or rule that such a request broke, for logs and metrics. */
export type EarlyBound = 'header_list' | 'request_time' | 'requests' | 'plaintext' | 'protocol_error' | 'host'

export interface EarlyRefusal {
  readonly bound: EarlyBound
  readonly status: number
  readonly expected: string
}

export interface EarlyLimits {
  readonly headerBytesMax: number
  /** The part that must arrive in time, and the time. */
  readonly inTime: string
}

/** The code of a request to open a tunnel, which no listener does. */
export const TUNNEL = 'TUNNEL'

/** @param code of Node's error */
export function earlyRefusalOf(code: string | undefined, limits: EarlyLimits): EarlyRefusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        bound: 'header_list',
        status: 431,
        expected: `headers of at most ${limits.headerBytesMax} bytes`,
      }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { bound: 'request_time', status: 408, expected: limits.inTime }
    case 'ERR_SSL_HTTP_REQUEST':
      return { bound: 'plaintext', status: 400, expected: 'https: this port speaks nothing else' }
    case TUNNEL:
      return { bound: 'protocol_error', status: 405, expected: 'another method than CONNECT' }
    default:
      return { bound: 'protocol_error', status: 400, expected: 'an HTTP/1.1 request' }
  }
}

/** Whether a request lacks the header that HTTP/1.1 demands. Node is not to answer it itself. */
export function lacksHost({
  httpVersion,
  headers,
}: Pick<IncomingMessage, 'httpVersion' | 'headers'>): boolean {
  return httpVersion === '1.1' && headers.host === undefined
}

/** Counts what Node refuses itself, and answers where it would only close the connection. */
export function countSilentRefusals(
  server: Server,
  count: (bound: EarlyBound) => void,
  refuse: (code: string, connection: Socket) => void,
): void {
  server.on('dropRequest', () => count('requests'))
  server.on('checkExpectation', (_request, response) => {
    count('protocol_error')
    response.writeHead(417).end()
  })
  server.on('connect', (_request, to: Socket | ServerResponse) => {
    if ('remotePort' in to) refuse(TUNNEL, to)
    // A request of HTTP/2 has a response.
    else to.writeHead(405).end(() => count('protocol_error'))
  })
}
