/** Connections that another process accepts for this one. */
import type { Socket } from 'node:net'

export type Listener = 'grpc' | 'http' | 'egress'

/** Where a server gets its connections from if it does not listen itself. */
export interface ConnectionSource {
  /**
   * Listens on the address, and passes every connection to `take`.
   *
   * @throws Error if the address is in use
   */
  listen(listener: Listener, address: string, take: (connection: Socket) => void): Promise<Listening>
}

export interface Listening {
  /** The address with the port that was bound. */
  readonly address: string
  /** From now on other processes get the connections. */
  close(): void
}
