/** The gRPC server: the service, health and reflection, with every limit set. */
import { logVerbosity, Server, setLogVerbosity } from '@grpc/grpc-js'
import { HealthService } from '../gen/health/v1/health.ts'
import type { Services } from '../usecases/services.ts'
import { authorizationHandlers, authorizationService } from './authorization.ts'
import { directoryHandlers, directoryService } from './directory.ts'
import { healthHandlers } from './health.ts'
import { type ListenOptions, listen } from './listen.ts'
import { addReflection } from './reflection.ts'

export interface GrpcOptions extends ListenOptions {
  readonly maxMessageBytes: number
  readonly maxConcurrentStreams: number
  readonly maxBatchLength: number
  /** How long a connection may stand without a call, in milliseconds. */
  readonly maxConnectionIdleMs: number
  /** After how long a client is asked to connect anew, in milliseconds. */
  readonly maxConnectionAgeMs: number
}

export interface GrpcServer {
  /** With the port that was bound. */
  readonly address: string
  /** Tells health checks, ends watches, lets calls finish for `drainMs`, then closes what is left. */
  close(drainMs: number): Promise<void>
}

const SERVICES = ['portcullis.v1.AuthorizationService', 'portcullis.v1.DirectoryService']

/** Memory that one connection's HTTP/2 session may hold, in megabytes. */
const SESSION_MEMORY_MB = 16

// grpc-js writes headers that it refuses to standard error, whole: a caller token would be among them.
setLogVerbosity(logVerbosity.NONE)

export async function startGrpcServer(services: Services, options: GrpcOptions): Promise<GrpcServer> {
  const server = new Server({
    // grpc-js bounds nothing by itself.
    'grpc.max_receive_message_length': options.maxMessageBytes,
    'grpc.max_concurrent_streams': options.maxConcurrentStreams,
    'grpc.max_connection_idle_ms': options.maxConnectionIdleMs,
    // The client is asked to connect anew; calls and streams that are under way go on.
    'grpc.max_connection_age_ms': options.maxConnectionAgeMs,
    'grpc-node.max_session_memory': SESSION_MEMORY_MB,
    // Pings find connections whose other end is gone.
    'grpc.keepalive_time_ms': 60_000,
    'grpc.keepalive_timeout_ms': 20_000,
    // Channelz keeps books on every call; nobody reads them here.
    'grpc.enable_channelz': 0,
  })
  const { handlers, endStreams } = authorizationHandlers(services, {
    batchLengthMax: options.maxBatchLength,
    reachable: options.tls !== undefined,
  })
  server.addService(authorizationService, handlers)
  server.addService(directoryService, directoryHandlers(services, options.tls !== undefined))
  const health = healthHandlers(['', ...SERVICES])
  server.addService(HealthService, health.handlers)
  addReflection(server, services.log)

  const address = await listen(server, options)
  return {
    address,
    close: (drainMs) => {
      health.stopServing()
      endStreams()
      // Not `forceShutdown`: without channelz grpc-js forgets there which connections are open. Before
      // `tryShutdown`, which marks them as closing.
      server.drain(address, drainMs)
      return new Promise((resolve) => server.tryShutdown(() => resolve()))
    },
  }
}
