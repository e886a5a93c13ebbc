/**
 * The floor of a start: a Node process that loads grpc-js and binds a server that serves nothing. JavaScript, as the
 * compiled package is: stripping types takes time and memory, which would be taken for the floor's own.
 */
import { Server, ServerCredentials } from '@grpc/grpc-js'

const server = new Server({ 'grpc.enable_channelz': 0 })
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  process.stdout.write(`${JSON.stringify({ grpc: `127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => server.forceShutdown())
