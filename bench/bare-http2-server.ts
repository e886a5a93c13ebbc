/**
 * Below the floor: the constant answer without grpc-js, its frames made by hand on `node:http2`. No deadlines, no
 * metadata, no cancellation: what a unary call costs where nothing but its bytes is served.
 *
 *     node bench/bare-http2-server.ts BYTES
 */
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { framed, messagesOf } from './load.ts'

const answer = framed(Buffer.alloc(Number(process.argv[2]), 'x'))

const server: Http2Server = createServer()
server.on('stream', (stream) => {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('end', () => reply(stream, Buffer.concat(chunks)))
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ grpc: `127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => process.exit())

/** One message in, one out; the status follows in the trailers. */
function reply(stream: ServerHttp2Stream, request: Buffer): void {
  // INVALID_ARGUMENT; the driver counts no such answer.
  const status = messagesOf(request).length === 1 ? '0' : '3'
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }))
  stream.end(answer)
}
