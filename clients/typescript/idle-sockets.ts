/**
 * A program ends although its client follows the sidecar: the connection of a client in local mode keeps it
 * alive only while a call is made. grpc-js refers to a connection for as long as any stream is open, and has
 * no word for this, so the sockets are found as Node lists them.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** Whether a socket that is made now is of a client in local mode. */
const ofLocalMode = new AsyncLocalStorage<true>()
const sockets = new Set<Socket>()
let isListening = false

/** Runs what may open a connection of a client in local mode. */
export function withIdleSockets<T>(run: () => T): T {
  if (!isListening) subscribe('net.client.socket', keep)
  isListening = true
  return ofLocalMode.run(true, run)
}

/** Lets the program end in spite of the connections. */
export function letProgramEnd(): void {
  for (const socket of sockets) socket.unref()
}

/** Keeps the program alive until the promise is settled. */
export function aliveUntil<T>(promise: Promise<T>): Promise<T> {
  const alive = setInterval(() => {}, 2 ** 31 - 1)
  return promise.finally(() => clearInterval(alive))
}

function keep(message: unknown): void {
  if (ofLocalMode.getStore() === undefined) return
  const { socket } = message as { readonly socket: Socket }
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
}
