/**
 * Asks the hub about tokens: those that are asked about at the same moment in one call. Connections take
 * turns, because a call to the hub is costly: one that asks about many tokens waits behind its own. While the
 * hub is slow, fewer tokens are under way: thousands of followers may ask it about all of theirs.
 */
import { callError } from '../../base/call-error.ts'
import { FairQueue } from '../../base/fair-queue.ts'
import type { Described } from './hub-messages.ts'

/** Most tokens of a call. A hub reads and answers it at once. */
const TOKENS_MAX = 250

/** Most tokens that wait for their turn. */
const WAITING_MAX = 20_000

/** Most tokens under way: at first and while the hub is slow, and where it is fast. */
const UNDER_WAY_LEAST = 16
const UNDER_WAY_MAX = 2_000

/**
 * A call is slow that takes longer than twice the fastest one, and this time in milliseconds: the next one
 * may take twice as long, and must not come near `directory.timeout_ms`.
 */
const SLOW_MS = 250

/** By how much the fastest call counts as slower with each other call: the next hub may be far away. */
const FADING = 1.01

type Answer = Pick<Described, 'of'> & { readonly found: Described['tokens'][number] }

interface Waiting {
  readonly value: string
  readonly onSent: () => void
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** The owner of questions whose connection is unknown. */
const UNKNOWN_CONNECTION = {}

export class DescribedTokens {
  readonly #ask: (tokens: readonly string[]) => Promise<Described>
  #underWayMax = UNDER_WAY_LEAST
  #fastestMs = Number.POSITIVE_INFINITY
  readonly #queue: FairQueue<'tokens'>
  readonly #names = new WeakMap<object, string>()
  #connections = 0
  /** Those of the next call. */
  #next: Waiting[] = []
  #calls = 0
  #hasTurn = false

  /** @param ask asks about at most 250 tokens */
  constructor(ask: (tokens: readonly string[]) => Promise<Described>) {
    this.#ask = ask
    const underWayMax = () => this.#underWayMax
    this.#queue = new FairQueue({
      weights: { tokens: 1 },
      get concurrent() {
        return underWayMax()
      },
      waiting: WAITING_MAX,
      full: () => callError('VERIFICATIONS_EXHAUSTED', {}),
    })
  }

  get waiting(): number {
    return this.#queue.waiting.tokens + this.#next.length
  }

  /**
   * @param onSent called when the question is sent: the answer is of then or later
   * @param connection the same object for all questions of a connection
   * @throws CallError if too many tokens wait, or the hub does not answer
   */
  describe(value: string, onSent: () => void, connection: object = UNKNOWN_CONNECTION): Promise<Answer> {
    const place = { lane: 'tokens', shares: [this.#nameOf(connection)] } as const
    return this.#queue.run(place, () => this.#described(value, onSent))
  }

  #described(value: string, onSent: () => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#next.push({ value, onSent, resolve, reject })
      this.#askSoon()
    })
  }

  /** Questions of this turn of the event loop go along. */
  #askSoon(): void {
    if (this.#hasTurn) return
    this.#hasTurn = true
    setImmediate(() => {
      this.#hasTurn = false
      const all = this.#next
      this.#next = []
      for (let at = 0; at < all.length; at += TOKENS_MAX) void this.#askAbout(all.slice(at, at + TOKENS_MAX))
    })
  }

  async #askAbout(some: readonly Waiting[]): Promise<void> {
    const askedAtMs = performance.now()
    const isFull = this.#queue.waiting.tokens > 0
    for (const { onSent } of some) onSent()
    this.#calls++
    try {
      const { tokens, of } = await this.#ask(some.map(({ value }) => value))
      if (tokens.length !== some.length) throw callError('DIRECTORY_UNAVAILABLE', {})
      this.#took(performance.now() - askedAtMs, isFull ? some.length : 0)
      for (const [index, { resolve }] of some.entries()) resolve({ of, found: tokens[index] })
    } catch (error) {
      this.#slowDown()
      for (const { reject } of some) reject(error)
    }
    this.#calls--
    // Until the next question the hub may become slow.
    if (this.#calls === 0 && this.waiting === 0) this.#underWayMax = UNDER_WAY_LEAST
  }

  /** @param more tokens that may be under way if it was fast, so that they double in one round trip */
  #took(ms: number, more: number): void {
    this.#fastestMs = Math.min(FADING * this.#fastestMs, ms)
    if (ms > 2 * this.#fastestMs + SLOW_MS) this.#slowDown()
    else this.#underWayMax = Math.min(UNDER_WAY_MAX, this.#underWayMax + more)
  }

  #slowDown(): void {
    this.#underWayMax = Math.max(UNDER_WAY_LEAST, this.#underWayMax / 2)
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
