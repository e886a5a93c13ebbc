/** The gRPC server: the services, health and reflection, with a limit for every resource. */
import {
  logVerbosity,
  Server,
  ServerCredentials,
  type ServerInterceptor,
  setLogVerbosity,
} from '@grpc/grpc-js'
import { HealthService } from '../gen/health/v1/health.ts'
import type { Services } from '../usecases/services.ts'
import { authorizationHandlers, authorizationService } from './authorization.ts'
import { serverCredentials } from './credentials.ts'
import { directoryHandlers, directoryService } from './directory.ts'
import { healthHandlers } from './health.ts'
import { type ListenOptions, listen } from './listen.ts'
import { addReflection } from './reflection.ts'

export interface GrpcOptions extends ListenOptions {
  /** With TLS: whether a client with a certificate may call that is not the certificate of a caller. */
  readonly anyClient: boolean
  readonly maxMessageBytes: number
  readonly maxConcurrentStreams: number
  readonly maxBatchLength: number
  /** How long a connection may stay open without a call, in milliseconds. */
  readonly maxConnectionIdleMs: number
  /** After this time a client is asked to reconnect, in milliseconds. */
  readonly maxConnectionAgeMs: number
}

export interface GrpcServer {
  /** The address with the port that was bound. */
  readonly address: string
  /** Notifies health checks, ends watches, lets calls finish for up to `drainMs`, then closes the remaining connections. */
  close(drainMs: number): Promise<void>
}

const SERVICES = ['portcullis.v1.AuthorizationService', 'portcullis.v1.DirectoryService']

/** How long connections may take to close after their calls have ended, in milliseconds. */
const CLOSING_MS_MAX = 2_000

/** Most memory of one connection's HTTP/2 session, in megabytes. */
const SESSION_MEMORY_MB = 16

// grpc-js would write refused headers to standard error, including caller tokens.
setLogVerbosity(logVerbosity.NONE)

export async function startGrpcServer(services: Services, options: GrpcOptions): Promise<GrpcServer> {
  const server = new Server({
    // grpc-js sets no limits by default.
    'grpc.max_receive_message_length': options.maxMessageBytes,
    'grpc.max_concurrent_streams': options.maxConcurrentStreams,
    'grpc.max_connection_idle_ms': options.maxConnectionIdleMs,
    // The client is asked to reconnect. Calls and streams in progress continue.
    'grpc.max_connection_age_ms': options.maxConnectionAgeMs,
    'grpc-node.max_session_memory': SESSION_MEMORY_MB,
    // Pings detect connections whose client is gone.
    'grpc.keepalive_time_ms': 60_000,
    'grpc.keepalive_timeout_ms': 20_000,
    // Channelz would record every call, and nothing here reads its records.
    'grpc.enable_channelz': 0,
    interceptors: await interceptorsOf(services, options),
  })
  const { handlers, endStreams } = authorizationHandlers(services, {
    batchLengthMax: options.maxBatchLength,
    reachable: options.certificates !== undefined,
  })
  server.addService(authorizationService, handlers)
  server.addService(directoryService, directoryHandlers(services, options.certificates !== undefined))
  const health = healthHandlers(['', ...SERVICES], services.health)
  server.addService(HealthService, health.handlers)
  addReflection(server, services.log)

  const { certificates } = options
  const credentials =
    certificates === undefined ? ServerCredentials.createInsecure() : serverCredentials(certificates)
  const listener = await listen(server, options, credentials)
  return {
    address: listener.address,
    close: (drainMs) => {
      health.stopServing()
      endStreams()
      // `forceShutdown` does not work, because grpc-js without channelz does not know its open connections. `drain` must
      // come before `tryShutdown`, which marks the connections as closing.
      listener.drain(drainMs)
      const { promise, resolve } = Promise.withResolvers<void>()
      server.tryShutdown(() => listener.connectionsClosed().then(resolve))
      // Once in a while grpc-js does not report the end. The sidecar must not wait for it for ever.
      const limit = setTimeout(resolve, drainMs + CLOSING_MS_MAX)
      return promise.finally(() => clearTimeout(limit))
    },
  }
}

/** Without them a call costs less, so there are none where every client may call. */
async function interceptorsOf(
  services: Services,
  { certificates, anyClient }: GrpcOptions,
): Promise<ServerInterceptor[]> {
  if (certificates === undefined || anyClient) return []
  const { admission } = await import('./admission.ts')
  return [admission(services)]
}
