/** Listens on an address as it is configured, for servers of any protocol. */
import { lookup } from 'node:dns/promises'
import { createServer, type Server } from 'node:net'
import { addressInUse, parseAddress, type TakenAddress } from '../address.ts'
import type { ConnectionSource } from './connections.ts'
import { prepareSocketPath, restrictSocket, type SocketAccess } from './unix-socket.ts'

/** The families of addresses that this machine does not have. */
const NO_SUCH_FAMILY: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

/** Accepts connections in this process. @param access as in `listenOn` */
export function ownConnections(access?: SocketAccess): ConnectionSource {
  return {
    listen: async (listener, address, take) => {
      const newServer = () => createServer({ allowHalfOpen: true }, take)
      const { servers, bound } = await listenOn(listener, address, newServer, access)
      return {
        address: bound,
        close: () => {
          for (const server of servers) server.close()
        },
      }
    },
  }
}

/**
 * Listens on a Unix socket, or on every address of a host.
 *
 * @param listener for errors
 * @param newServer makes a server; one for each address
 * @param access who may connect to a Unix socket; default: the user and the group of this process
 * @throws Error of `addressInUse`, one that names the path, or the one of the operating system
 */
export async function listenOn(
  listener: TakenAddress['listener'],
  address: string,
  newServer: () => Server,
  access?: SocketAccess,
): Promise<{ servers: Server[]; bound: string }> {
  const parsed = parseAddress('address', address)
  if (parsed.type === 'unix') {
    await prepareSocketPath(parsed.path, listener, access)
    const server = newServer()
    await listening(server, { path: parsed.path }, { listener, address })
    restrictSocket(parsed.path, access)
    return { servers: [server], bound: `unix:${parsed.path}` }
  }
  const { host } = parsed
  const servers: Server[] = []
  let { port } = parsed
  let failure: unknown
  // `localhost` has an address of each family. All of them get the same port.
  for (const { address: ip } of await lookup(host, { all: true })) {
    const server = newServer()
    try {
      await listening(server, { host: ip, port }, { listener, address })
    } catch (error) {
      failure = error
      if (NO_SUCH_FAMILY.has((error as NodeJS.ErrnoException).code ?? '')) continue
      for (const opened of servers) opened.close()
      throw error
    }
    servers.push(server)
    const found = server.address()
    if (found !== null && typeof found === 'object') port = found.port
  }
  if (servers.length === 0) throw failure
  return { servers, bound: `${host.includes(':') ? `[${host}]` : host}:${port}` }
}

function listening(
  server: Server,
  where: { path: string } | { host: string; port: number },
  configured: TakenAddress,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? addressInUse(configured) : error)
    server.once('error', fail)
    server.listen(where, () => {
      server.off('error', fail)
      // A connection that cannot be accepted, for example without a free descriptor, is not an error of the
      // listener.
      server.on('error', () => {})
      resolve()
    })
  })
}
