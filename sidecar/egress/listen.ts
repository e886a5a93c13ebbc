/** The listener of egress: on an address of its own, or on connections that another process accepts. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { addressInUse, type ListenAddress } from '../base/address.ts'
import type { ConnectionSource } from '../base/connections.ts'
import { prepareSocketPath, restrictSocket } from '../base/unix-socket.ts'

export interface EgressListener {
  /** The address with the port that was bound. */
  readonly address: string
  /** Takes no more connections, and lets requests finish for so long, in milliseconds. */
  close(drainMs: number): Promise<void>
}

/** Time between two looks for connections without a request while the server closes, in milliseconds. */
const CLOSING_POLL_MS = 20

/** @throws Error if the address is in use, or cannot be bound */
export async function listen(
  server: Server,
  address: string,
  parsed: ListenAddress,
  connections: ConnectionSource | undefined,
): Promise<EgressListener> {
  const open = new Set<Socket>()
  server.on('connection', (connection: Socket) => {
    open.add(connection)
    connection.once('close', () => open.delete(connection))
  })
  const { bound, stop } =
    connections === undefined
      ? await bind(server, address, parsed)
      : await take(server, open, address, connections)
  return {
    address: bound,
    close: async (drainMs) => {
      stop()
      const deadline = performance.now() + drainMs
      while (open.size > 0 && performance.now() < deadline) {
        server.closeIdleConnections()
        await sleep(CLOSING_POLL_MS)
      }
      for (const connection of open) connection.destroy()
    },
  }
}

interface Bound {
  readonly bound: string
  readonly stop: () => void
}

async function bind(server: Server, address: string, parsed: ListenAddress): Promise<Bound> {
  if (parsed.type === 'unix') await prepareSocketPath(parsed.path, 'egress')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(
    parsed.type === 'unix' ? { path: parsed.path } : { host: parsed.host, port: parsed.port },
    resolve,
  )
  try {
    await promise
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw addressInUse({ listener: 'egress', address })
    throw error
  }
  server.off('error', reject)
  // A connection that cannot be accepted, for example without a free descriptor, is no error of the listener.
  server.on('error', () => {})
  if (parsed.type === 'unix') restrictSocket(parsed.path)
  return { bound: boundAddress(server, parsed), stop: () => void server.close() }
}

function boundAddress(server: Server, parsed: ListenAddress): string {
  const found = server.address()
  if (parsed.type === 'unix' || found === null || typeof found === 'string')
    return parsed.type === 'unix' ? `unix:${parsed.path}` : String(found)
  return `${parsed.host.includes(':') ? `[${parsed.host}]` : parsed.host}:${found.port}`
}

async function take(
  server: Server,
  open: ReadonlySet<Socket>,
  address: string,
  connections: ConnectionSource,
): Promise<Bound> {
  // Starts the checks of slow clients, which a server begins with when it listens.
  server.emit('listening')
  const listening = await connections.listen('egress', address, (connection) => {
    if (open.size >= server.maxConnections) return void connection.destroy()
    // As an HTTP server sets it for connections that it accepts itself.
    connection.allowHalfOpen = true
    connection.setNoDelay(true)
    server.emit('connection', connection)
  })
  return {
    bound: listening.address,
    stop: () => {
      listening.close()
      server.close()
    },
  }
}
