/**
 * The least cost of a start: a Node process that loads grpc-js and binds a server without services. It is
 * JavaScript, as the compiled package is. Stripping types would take time and memory that belong to neither.
 */
import { Server, ServerCredentials } from '@grpc/grpc-js'

const server = new Server({ 'grpc.enable_channelz': 0 })
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  process.stdout.write(`${JSON.stringify({ grpc: `127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => server.forceShutdown())
