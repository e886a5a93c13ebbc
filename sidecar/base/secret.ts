/** Secrets in memory. */
import { inspect } from 'node:util'

const REDACTED = '[redacted]'

/** A token or a password. It prints as redacted wherever it is printed; `reveal` is the only way to the value. */
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
