/** The transport of grpc-js: the reference that the transport on sockets is compared with. */
import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js'
import type { Methods } from '../../contract/call.ts'
import {
  KEEPALIVE_MS,
  KEEPALIVE_TIMEOUT_MS,
  type StartTransport,
  type Transport,
  type TransportOptions,
} from '../transport.ts'
import { admissionOf, serviceOf } from './calls.ts'
import { Guard } from './guard.ts'
import { listen } from './listen.ts'
import { serverCredentials } from './server-credentials.ts'

/** How long connections may take to close after their calls have ended, in milliseconds. */
const CLOSING_MS_MAX = 2_000

/** Most memory of one connection's HTTP/2 session, in megabytes. */
const SESSION_MEMORY_MB = 16

// grpc-js would write refused headers to standard error, including caller tokens.
setLogVerbosity(logVerbosity.NONE)

export const startTransport: StartTransport = async (
  methods: Methods,
  options: TransportOptions,
): Promise<Transport> => {
  const { statusOf } = options
  const server = new Server({
    interceptors: [admissionOf(methods, { statusOf })],
    // grpc-js sets no limits by default.
    'grpc.max_receive_message_length': options.maxMessageBytes,
    'grpc.max_concurrent_streams': options.maxConcurrentStreams,
    'grpc.max_connection_idle_ms': options.maxConnectionIdleMs,
    // The client is asked to reconnect. Calls and streams in progress continue.
    'grpc.max_connection_age_ms': options.maxConnectionAgeMs,
    'grpc-node.max_session_memory': SESSION_MEMORY_MB,
    // Pings detect connections whose client is gone.
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    // Channelz would record every call, and nothing here reads its records.
    'grpc.enable_channelz': 0,
  })
  const guard = new Guard(methods, options)
  const { definition, implementation } = serviceOf(methods, {
    statusOf,
    onResponse: (stream, bytes) => guard.responds(stream, bytes),
  })
  server.addService(definition, implementation)
  const { certificates } = options
  const credentials =
    certificates === undefined ? ServerCredentials.createInsecure() : serverCredentials(certificates)
  const listener = await listen(server, options, credentials, guard).catch((error: unknown) => {
    guard.close()
    throw error
  })
  return {
    address: listener.address,
    close: (drainMs) => {
      // `forceShutdown` does not work, because grpc-js without channelz does not know its open connections.
      // `drain` must come before `tryShutdown`, which marks the connections as closing.
      listener.drain(drainMs)
      const { promise, resolve } = Promise.withResolvers<void>()
      server.tryShutdown(() => listener.connectionsClosed().then(resolve))
      // Once in a while grpc-js does not report the end. The sidecar must not wait for it for ever.
      const limit = setTimeout(resolve, drainMs + CLOSING_MS_MAX)
      return promise.finally(() => {
        clearTimeout(limit)
        guard.close()
      })
    },
  }
}
