/** Secrets in memory. */
import { inspect } from 'node:util'

const REDACTED = '[redacted]'

/** A token or a password. Printing it always gives `[redacted]`; only `reveal` returns the value. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}
