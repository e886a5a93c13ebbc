/** The answer to a client of another protocol: words that it, or the reader of its output, understands. */

/** The first byte of a client that begins a handshake of TLS (RFC 8446, §5.1). */
const TLS_HANDSHAKE = 0x16

const TEXT =
  'This port speaks HTTP/2 from the first byte (prior knowledge), as clients of gRPC do. It does not speak HTTP/1.1, does not ' +
  'upgrade from it, and expects TLS only where the sidecar was given a certificate. With curl: --http2-prior-knowledge\n'

/** The version is the fault (RFC 9110, §15.6.6). An invitation to upgrade would be a lie. */
const HTTP_ANSWER = Buffer.from(
  'HTTP/1.1 505 HTTP Version Not Supported\r\n' +
    `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(TEXT)}\r\nConnection: close\r\n\r\n${TEXT}`,
)

/**
 * A fatal alert (RFC 8446, §6): no version of TLS is spoken here. The text is for a person who sees the
 * bytes.
 */
const TLS_ANSWER = Buffer.concat([Buffer.of(0x15, 3, 3, 0, 2, 2, 70), Buffer.from(TEXT)])

/**
 * The first bytes of the usual methods of HTTP/1.1: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT,
 * TRACE.
 */
const METHOD_INITIALS = Buffer.from('GHPDOCT')

/**
 * @param first the first byte that the client has sent.
 * @returns undefined: it is unknown what the client speaks
 */
export function answerTo(first: number): Uint8Array | undefined {
  if (first === TLS_HANDSHAKE) return TLS_ANSWER
  return METHOD_INITIALS.includes(first) ? HTTP_ANSWER : undefined
}
