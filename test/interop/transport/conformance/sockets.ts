/** The service on the sidecar's own transport. */

import { DEFAULT_LIMITS } from '../../../../sidecar/transports/http2/limits.ts'
import { startTransport } from '../../../../sidecar/transports/sockets/sockets-transport.ts'
import { certificatesOf, DEFAULT_MESSAGE_BYTES, METADATA, ownMethods, ownStatus } from './own.ts'
import type { Method, Wishes } from './service.ts'

/** @returns the port */
export async function serveOnSockets(
  methods: readonly Method[],
  { tls, maxMessageBytes = DEFAULT_MESSAGE_BYTES }: Wishes,
): Promise<number> {
  const transport = await startTransport(ownMethods(methods), {
    address: '127.0.0.1:0',
    certificates: tls && certificatesOf(tls),
    connections: undefined,
    maxMessageBytes,
    maxConcurrentStreams: DEFAULT_LIMITS.streams,
    maxConnectionIdleMs: DEFAULT_LIMITS.idleMs,
    maxConnectionAgeMs: DEFAULT_LIMITS.ageMs,
    bounds: DEFAULT_LIMITS,
    statusOf: ownStatus,
    metadataNames: METADATA,
    onExceeded: (counts) => process.stderr.write(`${JSON.stringify(counts)}\n`),
  })
  return Number(transport.address.split(':')[1])
}
