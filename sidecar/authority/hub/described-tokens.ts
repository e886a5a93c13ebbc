/**
 * Asks the hub about tokens: those that are asked about at the same moment in one call. Connections take
 * turns, because a call to the hub is costly: one that asks about many tokens waits behind its own.
 */
import { callError } from '../../base/call-error.ts'
import { FairQueue } from '../../base/fair-queue.ts'
import type { Described } from './hub-messages.ts'

/** Most tokens of a call, and most calls at the same time. */
const TOKENS_MAX = 1_000
const CALLS_MAX = 8

/** Most tokens that are asked about, and those of them that have had their turn. */
const ASKED_MAX = 20_000
const UNDER_WAY_MAX = 2_000

type Answer = Pick<Described, 'of'> & { readonly found: Described['tokens'][number] }

interface Waiting {
  readonly value: string
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** The owner of questions whose connection is unknown. */
const UNKNOWN_CONNECTION = {}

export class DescribedTokens {
  readonly #ask: (tokens: readonly string[]) => Promise<Described>
  readonly #queue = new FairQueue({
    weights: { tokens: 1 },
    concurrent: UNDER_WAY_MAX,
    waiting: ASKED_MAX - UNDER_WAY_MAX,
    full: () => callError('VERIFICATIONS_EXHAUSTED', {}),
  })
  readonly #names = new WeakMap<object, string>()
  #connections = 0
  /** Those of the next call. */
  #next: Waiting[] = []
  #calls = 0
  #hasTurn = false

  /** @param ask asks about at most 1,000 tokens */
  constructor(ask: (tokens: readonly string[]) => Promise<Described>) {
    this.#ask = ask
  }

  get waiting(): number {
    return this.#queue.waiting.tokens + this.#next.length
  }

  /**
   * @param connection the same object for all questions of a connection
   * @throws CallError if too many tokens wait, or the hub does not answer
   */
  describe(value: string, connection: object = UNKNOWN_CONNECTION): Promise<Answer> {
    const place = { lane: 'tokens', shares: [this.#nameOf(connection)] } as const
    return this.#queue.run(place, () => this.#described(value))
  }

  #described(value: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#next.push({ value, resolve, reject })
      this.#askSoon()
    })
  }

  /** Questions of this turn of the event loop go along. */
  #askSoon(): void {
    if (this.#hasTurn || this.#next.length === 0 || this.#calls >= CALLS_MAX) return
    this.#hasTurn = true
    setImmediate(() => {
      this.#hasTurn = false
      this.#askSome()
    })
  }

  #askSome(): void {
    while (this.#next.length > 0 && this.#calls < CALLS_MAX) {
      const some = this.#next.slice(0, TOKENS_MAX)
      this.#next = this.#next.slice(TOKENS_MAX)
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
          this.#askSoon()
        })
    }
  }

  #nameOf(connection: object): string {
    let name = this.#names.get(connection)
    if (name === undefined) {
      name = String(++this.#connections)
      this.#names.set(connection, name)
    }
    return name
  }
}
