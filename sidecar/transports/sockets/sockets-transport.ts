/** The transport of our own: gRPC on HTTP/2, straight on sockets. */
import { Reports } from '../../base/net/reports.ts'
import { METADATA_NAMES } from '../../contract/call.ts'
import { Http2Server } from '../http2/http2-server.ts'
import { listen } from '../listener.ts'
import { KEEPALIVE_MS, KEEPALIVE_TIMEOUT_MS, type StartTransport } from '../transport.ts'
import { GrpcApplication } from './application.ts'

export const startTransport: StartTransport = async (methods, options) => {
  const { bounds, statusOf, maxMessageBytes, metadataNames = METADATA_NAMES } = options
  const reports = new Reports(options.onExceeded)
  const settings = { maxMessageBytes, statusOf, metadataNames: new Set(metadataNames) }
  const http2 = new Http2Server(new GrpcApplication(methods, settings), {
    limits: {
      ...bounds,
      // A message that may arrive must fit.
      connectionBufferBytes: Math.max(bounds.connectionBufferBytes, 2 * maxMessageBytes),
      streams: options.maxConcurrentStreams,
      idleMs: options.maxConnectionIdleMs,
      ageMs: options.maxConnectionAgeMs,
      keepaliveMs: KEEPALIVE_MS,
      keepaliveTimeoutMs: KEEPALIVE_TIMEOUT_MS,
    },
    onExceeded: (bound) => reports.add(bound),
  })
  const listener = await listen(options, http2)
  return {
    address: listener.address,
    close: async (drainMs) => {
      listener.close()
      await http2.close(drainMs)
      reports.close()
    },
  }
}
