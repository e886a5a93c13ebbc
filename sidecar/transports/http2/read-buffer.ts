/**
 * Reading without an allocation. For each read Node takes new memory, 64 KiB at first, and keeps it until a
 * collection of garbage: a busy server would hold twice the memory that it needs. Here all sockets are read
 * into one buffer, because the bytes of a read are used before the next read.
 */
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** As much as Node reads at a time. */
const READ_BYTES = 65_536

const buffer = Buffer.allocUnsafeSlow(READ_BYTES)

/**
 * Reads from a connection. Of a plain socket it makes another one, because only a new one can be given a
 * buffer. The old one is useless then.
 *
 * @param take is lent what has arrived: after it returns, the bytes are overwritten
 * @returns the connection to use from now on; it reads after `resume()`
 */
export function readInto(connection: Duplex, take: (bytes: Buffer) => void): Duplex {
  const handle = handleOf(connection)
  if (handle === undefined) {
    connection.on('data', take)
    return connection
  }
  const socket = new Socket({
    handle,
    allowHalfOpen: true,
    manualStart: true,
    onread: {
      buffer,
      callback: (bytes) => {
        take(buffer.subarray(0, bytes))
        return true
      },
    },
  } as ConstructorParameters<typeof Socket>[0])
  const old = connection as Owner
  old._handle = null
  old.destroy()
  return socket
}

/**
 * A socket of Node, with the handle of the operating system's socket. Neither Node's documentation nor its
 * types have that.
 */
type Owner = Duplex & { _handle?: object | null }

/** undefined: it is encrypted, has no such handle, or was read from already. */
function handleOf(connection: Owner): object | undefined {
  const plain = connection instanceof Socket && connection.constructor === Socket
  if (!plain || connection.readableLength > 0 || connection.destroyed) return undefined
  const { _handle: handle } = connection as Owner
  return handle != null && 'useUserBuffer' in handle ? handle : undefined
}
