/**
 * The server behind those that forward. It reads each body, and answers with so many bytes. Its header says
 * whether a token came.
 *
 *     node bench/servers/target.ts BYTES
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const answer = Buffer.alloc(Number(process.argv[2]), 'x')

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
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ http: `127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => process.exit())
