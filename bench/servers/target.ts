/**
 * The server behind those that forward. It reads each body, and answers with a number of bytes. Its header
 * says whether a token came.
 *
 *     node bench/servers/target.ts BYTES
 */
import { createServer } from 'node:http'
import { listening, runProgram, type Served } from './served.ts'

export async function serve(bytes: string): Promise<Served> {
  const answer = Buffer.alloc(Number(bytes), 'x')
  const server = createServer((request, response) => {
    const credential = request.headers['x-auth-token'] === undefined ? 'none' : 'token'
    request.resume().on('end', () => {
      const headers = {
        'content-type': 'application/json',
        'content-length': answer.length,
        'x-credential': credential,
      }
      response.writeHead(200, headers).end(answer)
    })
  })
  server.keepAliveTimeout = 60_000
  return { ready: { http: await listening(server) }, stop: () => server.close().closeAllConnections() }
}

if (import.meta.main) await runProgram(serve)
