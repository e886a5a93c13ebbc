/** gRPC on grpc-js: the reference for the transport on sockets, and the way back if that has a flaw. */
import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js'
import { listen } from '../listener.ts'
import { KEEPALIVE_MS, KEEPALIVE_TIMEOUT_MS, type StartTransport } from '../transport.ts'
import { runningMethods } from './calls.ts'
import { Guard } from './guard.ts'

/** How long connections may take to close after their calls have ended, in milliseconds. */
const CLOSING_MS_MAX = 2_000

// grpc-js would write refused headers to standard error, including caller tokens.
setLogVerbosity(logVerbosity.NONE)

export const startTransport: StartTransport = async (methods, options) => {
  const guard = new Guard(methods, options)
  const server = new Server({
    interceptors: [runningMethods(methods, { ...options, guard })],
    // grpc-js sets no limits by default.
    'grpc.max_receive_message_length': options.maxMessageBytes,
    'grpc.max_concurrent_streams': options.maxConcurrentStreams,
    'grpc.max_connection_idle_ms': options.maxConnectionIdleMs,
    // The client is asked to reconnect. Calls and streams in progress continue.
    'grpc.max_connection_age_ms': options.maxConnectionAgeMs,
    // Of a connection, in megabytes.
    'grpc-node.max_session_memory': 16,
    // Pings detect connections whose client is gone.
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    // Channelz would record every call, and nothing here reads its records.
    'grpc.enable_channelz': 0,
  })
  // Messages stay bytes: one encoded answer serves many calls.
  const identity = (bytes: Buffer) => bytes
  for (const path of methods.keys()) server.register(path, () => {}, identity, identity, 'unary')
  // The listener has done what TLS needs.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  const listener = await listen(options, {
    accept: (socket, peer) => {
      // A client that has gone must not keep its calls. Node's HTTP/2 does not look at the half of it that
      // ends.
      socket.allowHalfOpen = false
      socket.on('error', () => {})
      if (guard.admit(socket, peer)) injector.injectConnection(socket)
    },
    exceeded: (bound) => guard.reports.add(bound),
  }).catch((error: unknown) => {
    guard.close()
    throw error
  })
  return {
    address: listener.address,
    close: async (drainMs) => {
      listener.close()
      // `forceShutdown` does not work, because grpc-js without channelz does not know its open connections.
      // `drain` must come before `tryShutdown`, which marks the connections as closing.
      injector.drain(drainMs)
      server.tryShutdown(() => {})
      // Once in a while a connection does not end. The sidecar must not wait for it for ever.
      const { promise, resolve } = Promise.withResolvers<void>()
      guard.whenEmpty(resolve)
      const limit = setTimeout(resolve, drainMs + CLOSING_MS_MAX)
      await promise
      clearTimeout(limit)
      guard.close()
    },
  }
}
