/** A client of a stream that reads only on request. */
import type { Responses } from '../../../sidecar/contract/call.ts'

export class Reader<Response> implements Responses {
  readonly got: Response[] = []
  unread = false
  failure: unknown
  readonly #listeners: (() => void)[] = []
  readonly #decode: (response: Buffer) => Response
  readonly #onWrite: () => void

  constructor(decode: (response: Buffer) => Response, onWrite: () => void = () => {}) {
    this.#decode = decode
    this.#onWrite = onWrite
  }

  write(response: Buffer): void {
    this.got.push(this.#decode(response))
    this.#onWrite()
  }

  end(): void {
    for (const listener of this.#listeners.splice(0)) listener()
  }

  fail(error: unknown): void {
    this.failure = error
    this.end()
  }

  onEnd(listener: () => void): void {
    this.#listeners.push(listener)
  }
}
