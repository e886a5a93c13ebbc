/** Listens on a TCP port or on a Unix socket, with or without TLS. */
import type { Socket } from 'node:net'
import type { Server, ServerCredentials } from '@grpc/grpc-js'
import { ownConnections } from '../../base/net/listen.ts'
import type { TransportOptions } from '../transport.ts'
import type { Guard } from './guard.ts'

/** A listener of the server. */
export interface GrpcListener {
  /** The address with the port that was bound. */
  readonly address: string
  /** Closes the connections that are still open after `drainMs`. */
  drain(drainMs: number): void
  /**
   * Resolves when the connections are closed. grpc-js does not wait for those that it has not accepted
   * itself.
   */
  connectionsClosed(): Promise<void>
}

/**
 * Accepts connections for the server.
 *
 * @param credentials of the server: with TLS if the options say so
 * @throws Error if the address is in use, or cannot be bound
 */
export async function listen(
  server: Server,
  options: Pick<TransportOptions, 'address' | 'socket' | 'connections'>,
  credentials: ServerCredentials,
  guard: Guard,
): Promise<GrpcListener> {
  const { address, socket: access, connections = ownConnections(access) } = options
  const injector = server.createConnectionInjector(credentials)
  const open = new Map<Socket, Promise<void>>()
  const listening = await connections.listen('grpc', address, (socket) => {
    socket.setNoDelay(true)
    // A client that has gone must not keep its calls. Node's HTTP/2 does not look at the half of it that
    // ends.
    socket.allowHalfOpen = false
    socket.on('error', () => {})
    if (!guard.admit(socket)) return
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    open.set(socket, closed)
    void closed.then(() => open.delete(socket))
    injector.injectConnection(socket)
  })
  return {
    address: listening.address,
    drain: (drainMs) => {
      listening.close()
      injector.drain(drainMs)
    },
    connectionsClosed: async () => {
      await Promise.all(open.values())
    },
  }
}
