/** A transport of calls: a server that listens, runs the methods, and can be closed. */
import type { WatchedCertificates } from '../base/net/certificates.ts'
import type { ConnectionSource } from '../base/net/connections.ts'
import type { SocketAccess } from '../base/net/unix-socket.ts'
import type { Methods, StatusOf } from '../contract/call.ts'

/**
 * Bounds of connections. grpc-js has no place for most of them, so `grpc-js/guard.ts` keeps those that it
 * can.
 */
export interface ConnectionBounds {
  readonly connections: number
  readonly connectionsPerAddress: number
  readonly headerListBytes: number
  /** Bytes of requests in flight on one connection. */
  readonly connectionBufferBytes: number
  /** Bytes of requests and answers in flight on all connections. */
  readonly bufferBytes: number
  readonly resetsPerSecond: number
  readonly controlFramesPerSecond: number
  /** How long a message may take to arrive, in milliseconds. */
  readonly requestMs: number
  /** How long a client may leave an answer unread, in milliseconds. */
  readonly readerMs: number
}

export interface TransportOptions {
  /** `HOST:PORT` or `unix:PATH`. */
  readonly address: string
  /** The rights to connect to a Unix socket; default: the user and the group of this process. */
  readonly socket?: SocketAccess | undefined
  /** Of a listener with TLS; every client must present a certificate. */
  readonly certificates: WatchedCertificates | undefined
  /** Accepts the connections; `undefined`: the server itself does. */
  readonly connections: ConnectionSource | undefined
  readonly maxMessageBytes: number
  readonly maxConcurrentStreams: number
  /** How long a connection may stay open without a call, in milliseconds. */
  readonly maxConnectionIdleMs: number
  /** After this time a client is asked to reconnect, in milliseconds. */
  readonly maxConnectionAgeMs: number
  readonly bounds: ConnectionBounds
  readonly statusOf: StatusOf
  /** The metadata that handlers ask for; default: `METADATA_NAMES`. */
  readonly metadataNames?: readonly string[]
  /** Bounds were exceeded, with the number since the last report. */
  readonly onExceeded: (counts: Readonly<Record<string, number>>) => void
}

interface Transport {
  /** The address with the port that was bound. */
  readonly address: string
  /** Lets calls finish for up to `drainMs`, then closes the remaining connections. */
  close(drainMs: number): Promise<void>
}

/** @throws Error that names the address */
export type StartTransport = (methods: Methods, options: TransportOptions) => Promise<Transport>

/** How often connections are asked for a sign of life, and how long an answer may take, in milliseconds. */
export const KEEPALIVE_MS = 60_000
export const KEEPALIVE_TIMEOUT_MS = 20_000
