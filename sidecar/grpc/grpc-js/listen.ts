/** Listens on a TCP port or on a Unix socket, with or without TLS. */
import type { Server, ServerCredentials } from '@grpc/grpc-js'
import { addressInUse, type ListenAddress } from '../../base/address.ts'
import type { ConnectionSource } from '../../base/connections.ts'
import { prepareSocketPath, restrictSocket } from '../../base/unix-socket.ts'
import { checkGrpcAddress } from '../address.ts'
import type { TransportOptions } from '../transport.ts'

/** A listener of the server. */
export interface GrpcListener {
  /** The address with the port that was bound. */
  readonly address: string
  /** Closes the connections that are still open after `drainMs`. */
  drain(drainMs: number): void
  /** Resolves when the connections are closed that the server has not accepted itself. grpc-js does not wait for them. */
  connectionsClosed(): Promise<void>
}

/**
 * Binds the server.
 *
 * @param credentials of the server: with TLS if the options say so
 * @throws Error if the address is in use, or if other machines can reach it without TLS
 */
export async function listen(
  server: Server,
  options: Pick<TransportOptions, 'address' | 'certificates' | 'connections'>,
  credentials: ServerCredentials,
): Promise<GrpcListener> {
  const { connections, certificates: tls } = options
  const parsed = checkGrpcAddress({ address: options.address, tls })
  if (connections !== undefined) return take(server, credentials, options.address, connections)
  const address = await bindTo(server, parsed, credentials, options.address)
  return {
    address,
    drain: (drainMs) => server.drain(address, drainMs),
    connectionsClosed: async () => {},
  }
}

/** Serves connections that another process accepts. */
async function take(
  server: Server,
  credentials: ServerCredentials,
  address: string,
  connections: ConnectionSource,
): Promise<GrpcListener> {
  const injector = server.createConnectionInjector(credentials)
  const open = new Set<Promise<void>>()
  const listening = await connections.listen('grpc', address, (connection) => {
    const closed = new Promise<void>((resolve) => connection.once('close', () => resolve()))
    open.add(closed)
    void closed.then(() => open.delete(closed))
    injector.injectConnection(connection)
  })
  return {
    address: listening.address,
    drain: (drainMs) => {
      listening.close()
      injector.drain(drainMs)
    },
    connectionsClosed: async () => {
      await Promise.all(open)
    },
  }
}

async function bindTo(
  server: Server,
  parsed: ListenAddress,
  credentials: ServerCredentials,
  address: string,
): Promise<string> {
  if (parsed.type === 'unix') {
    await prepareSocketPath(parsed.path)
    await bind(server, `unix:${parsed.path}`, credentials)
    restrictSocket(parsed.path)
    return `unix:${parsed.path}`
  }
  const port = await bind(server, address, credentials)
  const host = parsed.host.includes(':') ? `[${parsed.host}]` : parsed.host
  return `${host}:${port}`
}

function bind(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error === null) resolve(port)
      else
        reject(
          /EADDRINUSE/.test(error.message)
            ? addressInUse({ listener: 'grpc', address })
            : new Error(error.message),
        )
    })
  })
}
