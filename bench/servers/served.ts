/** The servers of this folder: programs, and functions that a test can call in its own process. */
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/** A server that is ready. */
export interface Served {
  /** The line that its program prints. */
  readonly ready: object
  stop(): void
}

/** Listens on a free port. @returns its address */
export async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Serves until SIGTERM. */
export async function runProgram(serve: (...args: readonly string[]) => Promise<Served>): Promise<void> {
  const { ready, stop } = await serve(...process.argv.slice(2))
  process.stdout.write(`${JSON.stringify(ready)}\n`)
  process.once('SIGTERM', () => {
    stop()
    process.exit()
  })
}
