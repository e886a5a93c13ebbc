/**
 * The worker's side of the shared listeners: asks the primary to listen, and receives connections from it.
 */
import { Socket } from 'node:net'
import type { ConnectionSource, Listener, Listening } from '../../base/net/connections.ts'
import { PendingCalls } from './pending-calls.ts'
import type { FromWorker, ListenAnswer } from './worker-messages.ts'

export class PrimaryConnections implements ConnectionSource {
  readonly #send: (message: FromWorker) => void
  readonly #calls = new PendingCalls()
  /** The bound addresses, by the number of the call that asked for them. */
  readonly #bound = new Map<number, string>()
  /** The function that takes the connections of each listener. Absent: the listener is closed. */
  readonly #takers = new Map<Listener, (connection: Socket) => void>()

  constructor(send: (message: FromWorker) => void) {
    this.#send = send
  }

  async listen(listener: Listener, address: string, take: (connection: Socket) => void): Promise<Listening> {
    // The first connection may arrive immediately after the answer.
    this.#takers.set(listener, take)
    const id = await this.#calls.call((id) => this.#send({ type: 'listen', id, listener, address }))
    return {
      address: this.#bound.get(id) ?? address,
      close: () => {
        this.#takers.delete(listener)
        this.#send({ type: 'listener_closed', listener })
      },
    }
  }

  /** Passes the primary's answer to the server that waits for it. */
  receive({ id, address, error }: ListenAnswer): void {
    if (address !== undefined) this.#bound.set(id, address)
    this.#calls.answer(id, error === undefined ? undefined : new Error(error))
  }

  /** Takes or refuses a connection from the primary. Nothing has been read from it yet. */
  receiveConnection(listener: Listener, connection: unknown): void {
    const take = this.#takers.get(listener)
    this.#send({ type: take === undefined ? 'connection_refused' : 'connection_taken', listener })
    // The client may have left already. Then only the message arrives.
    if (!(connection instanceof Socket)) return
    if (take === undefined) return void connection.destroy()
    take(connection)
  }

  /** The primary is gone. */
  close(): void {
    this.#calls.close(new Error('the primary has ended'))
  }
}
