/**
 * The constant answer without grpc-js: frames made by hand on `node:http2`. There are no deadlines, metadata
 * or cancellation. It shows what a unary call costs if only its bytes are served.
 *
 *     node bench/servers/bare-http2.ts BYTES
 */
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { framed, messagesOf } from '../harness/grpc.ts'

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

/** Answers one message with one message. The status follows in the trailers. */
function reply(stream: ServerHttp2Stream, request: Buffer): void {
  // 3 is INVALID_ARGUMENT, which the driver refuses.
  const status = messagesOf(request).length === 1 ? '0' : '3'
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }))
  stream.end(answer)
}
