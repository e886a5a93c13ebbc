/** HTTP on connections that another process accepts: what `listen` and `close` of a server do for its own connections. */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { type ListenAddress, parseAddress } from '../base/address.ts'
import type { ConnectionSource } from '../base/connections.ts'

export interface HttpListener {
  /** The port that was bound. */
  readonly port: number
  /** Lets requests finish, then closes. */
  close(): Promise<void>
}

/** Time between two looks for connections without a request while the server closes, in milliseconds. */
const CLOSING_POLL_MS = 20

/** @param connectionsMax most open connections; a server counts only those that it accepts itself */
export async function takeConnections(
  server: FastifyInstance,
  connectionsMax: number,
  address: string,
  connections: ConnectionSource,
): Promise<HttpListener> {
  const open = new Set<Socket>()
  await server.ready()
  // Starts the checks of slow clients, which a server begins with when it listens.
  server.server.emit('listening')
  const listening = await connections
    .listen('http', address, (connection) => {
      if (open.size >= connectionsMax) return void connection.destroy()
      // As an HTTP server sets it for connections that it accepts itself.
      connection.allowHalfOpen = true
      connection.setNoDelay(true)
      open.add(connection)
      connection.once('close', () => open.delete(connection))
      server.server.emit('connection', connection)
    })
    .catch(async (error: unknown) => {
      await server.close()
      throw error
    })
  return {
    port: portOf(parseAddress('http.address', listening.address)),
    close: async () => {
      listening.close()
      await server.close()
      // A server waits only for connections that it has accepted itself.
      while (open.size > 0) {
        server.server.closeIdleConnections()
        await sleep(CLOSING_POLL_MS)
      }
    },
  }
}

function portOf(address: ListenAddress): number {
  return address.type === 'tcp' ? address.port : 0
}
