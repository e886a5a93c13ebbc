/** The bounds of calls and connections. */
import type { Config } from './config.ts'

/**
 * The limits of gRPC: of calls on any transport, and of connections.
 *
 * @param connectionsMax most for which the process has descriptors
 */
export function grpcLimitsOf({ grpc }: Pick<Config, 'grpc'>, connectionsMax = Number.POSITIVE_INFINITY) {
  return {
    maxMessageBytes: grpc.max_message_bytes,
    maxConcurrentStreams: grpc.max_concurrent_streams,
    maxBatchLength: grpc.max_batch_length,
    maxConnectionIdleMs: grpc.max_connection_idle_ms,
    maxConnectionAgeMs: grpc.max_connection_age_ms,
    bounds: {
      connections: Math.min(grpc.max_connections, connectionsMax),
      connectionsPerAddress: grpc.max_connections_per_address,
      headerListBytes: grpc.max_header_list_bytes,
      connectionBufferBytes: grpc.max_connection_buffer_bytes,
      bufferBytes: grpc.max_buffer_bytes,
      resetsPerSecond: grpc.max_resets_per_second,
      controlFramesPerSecond: grpc.max_control_frames_per_second,
      requestMs: grpc.request_timeout_ms,
      readerMs: grpc.reader_timeout_ms,
    },
  }
}
