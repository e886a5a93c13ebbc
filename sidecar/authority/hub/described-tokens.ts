/** Asks the hub about tokens: those that are asked about at the same moment in one call. */
import { callError } from '../../base/call-error.ts'
import type { Described } from './hub-messages.ts'

/** Most tokens of a call, most calls at the same time, and most tokens that wait. */
const TOKENS_MAX = 1_000
const CALLS_MAX = 8
const WAITING_MAX = 20_000

type Answer = Pick<Described, 'of'> & { readonly found: Described['tokens'][number] }

interface Waiting {
  readonly value: string
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

export class DescribedTokens {
  readonly #ask: (tokens: readonly string[]) => Promise<Described>
  #waiting: Waiting[] = []
  #calls = 0
  #hasTurn = false

  /** @param ask asks about at most 1,000 tokens */
  constructor(ask: (tokens: readonly string[]) => Promise<Described>) {
    this.#ask = ask
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** @throws CallError if too many tokens wait, or the hub does not answer */
  describe(value: string): Promise<Answer> {
    if (this.#waiting.length >= WAITING_MAX) throw callError('VERIFICATIONS_EXHAUSTED', {})
    return new Promise((resolve, reject) => {
      this.#waiting.push({ value, resolve, reject })
      if (this.#hasTurn || this.#calls >= CALLS_MAX) return
      this.#hasTurn = true
      // What comes in this turn of the event loop goes along.
      setImmediate(() => {
        this.#hasTurn = false
        this.#askSome()
      })
    })
  }

  #askSome(): void {
    while (this.#waiting.length > 0 && this.#calls < CALLS_MAX) {
      const some = this.#waiting.slice(0, TOKENS_MAX)
      this.#waiting = this.#waiting.slice(TOKENS_MAX)
      this.#calls++
      this.#ask(some.map(({ value }) => value))
        .then(({ tokens, of }) => {
          if (tokens.length !== some.length) throw callError('DIRECTORY_UNAVAILABLE', {})
          for (const [index, { resolve }] of some.entries()) resolve({ of, found: tokens[index] })
        })
        .catch((error: unknown) => {
          for (const { reject } of some) reject(error)
        })
        .finally(() => {
          this.#calls--
          this.#askSome()
        })
    }
  }
}
