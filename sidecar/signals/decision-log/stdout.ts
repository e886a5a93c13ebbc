/** Standard output. A reader that is slow, or gone, blocks no call. */
import { fstatSync, write as writeTo } from 'node:fs'
import { Socket } from 'node:net'
import { promisify } from 'node:util'
import type { Destination } from '../backlog.ts'

const STANDARD_OUTPUT = 1

export function openStandardOutput(descriptor: number = STANDARD_OUTPUT): Destination {
  const found = fstatSync(descriptor)
  return found.isFIFO() || found.isSocket() ? new Pipe(descriptor) : new Descriptor(descriptor)
}

/** A file or a terminal. */
class Descriptor implements Destination {
  readonly #descriptor: number

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  async write([bytes]: readonly [Buffer, ...Buffer[]]): Promise<number> {
    const { bytesWritten } = await promisify(writeTo)(this.#descriptor, bytes)
    return bytesWritten
  }

  async close(): Promise<void> {}
}

/**
 * A write to a pipe would wait in one of the few threads of Node, or stop the sidecar. As a socket it does
 * neither.
 */
class Pipe implements Destination {
  readonly #socket: Socket

  constructor(descriptor: number) {
    this.#socket = new Socket({ fd: descriptor, readable: false, writable: true }).unref()
    // `write` reports the error.
    this.#socket.on('error', () => {})
  }

  write([bytes]: readonly [Buffer, ...Buffer[]]): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    this.#socket.write(bytes, (error) => (error ? reject(error) : resolve(bytes.length)))
    return promise
  }

  async close(): Promise<void> {}
}
