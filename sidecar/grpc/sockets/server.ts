/** The transport of our own: gRPC on HTTP/2, straight on sockets. */
import { Http2Server } from '../../http2/server.ts'
import {
  KEEPALIVE_MS,
  KEEPALIVE_TIMEOUT_MS,
  type StartTransport,
  type TransportOptions,
} from '../transport.ts'
import { GrpcApplication } from './application.ts'
import { listen } from './listener.ts'

/** Time between two reports of bounds that were exceeded, in milliseconds. */
const REPORT_MS = 10_000

export const startTransport: StartTransport = async (methods, options) => {
  const { bounds, statusOf, maxMessageBytes } = options
  const reports = new Reports(options.onExceeded)
  const http2 = new Http2Server(new GrpcApplication(methods, { maxMessageBytes, statusOf }), {
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
  const listener = await listen(http2, options)
  return {
    address: listener.address,
    close: async (drainMs) => {
      listener.close()
      await http2.close(drainMs)
      reports.close()
    },
  }
}

/** Reports bounds that were exceeded: the first time at once, then every few seconds with their counts. */
class Reports {
  readonly #report: TransportOptions['onExceeded']
  readonly #counts = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(report: TransportOptions['onExceeded']) {
    this.#report = report
  }

  add(bound: string): void {
    this.#counts.set(bound, (this.#counts.get(bound) ?? 0) + 1)
    if (this.#timer === undefined) this.#tell()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#counts.size > 0) this.#report(Object.fromEntries(this.#counts))
  }

  #tell(): void {
    this.#timer = undefined
    if (this.#counts.size === 0) return
    this.#report(Object.fromEntries(this.#counts))
    this.#counts.clear()
    this.#timer = setTimeout(() => this.#tell(), REPORT_MS).unref()
  }
}
