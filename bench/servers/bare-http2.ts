/**
 * The constant answer without grpc-js: frames made by hand on `node:http2`. There are no deadlines, metadata
 * or cancellation. It shows what a unary call costs if only its bytes are served.
 *
 *     node bench/servers/bare-http2.ts BYTES
 */
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { framed, messagesOf } from '../harness/grpc.ts'
import { listening, runProgram, type Served } from './served.ts'

export async function serve(bytes: string): Promise<Served> {
  const answer = framed(Buffer.alloc(Number(bytes), 'x'))
  const sessions = new Set<ServerHttp2Session>()
  const server = createServer()
  server.on('session', (session) => sessions.add(session))
  server.on('stream', (stream) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => reply(stream, Buffer.concat(chunks), answer))
  })
  const stop = () => {
    server.close()
    for (const session of sessions) session.destroy()
  }
  return { ready: { grpc: await listening(server) }, stop }
}

if (import.meta.main) await runProgram(serve)

/** Answers one message with one message. The status follows in the trailers. */
function reply(stream: ServerHttp2Stream, request: Buffer, answer: Buffer): void {
  // 3 is INVALID_ARGUMENT, which the driver refuses.
  const status = messagesOf(request).length === 1 ? '0' : '3'
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }))
  stream.end(answer)
}
