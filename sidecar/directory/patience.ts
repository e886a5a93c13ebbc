/**
 * Many callers ask a database on the network the same few questions. While it hangs, or holds a lock that
 * they need, each of them would wait as long as a query may take. So the question that took too long is asked
 * once more, and where that takes too long as well, it alone is asked until it is answered. Meanwhile callers
 * are refused at once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { CallError } from '../base/call-error.ts'
import type { Queries } from './database.ts'

type Statement = Parameters<Queries['all']>
type Rows = Record<string, unknown>[]

export interface PatienceOptions {
  /** Asks the database. */
  readonly ask: (...statement: Statement) => Promise<Rows>
  /** How long a query may take, in milliseconds. */
  readonly timeoutMs: number
  /** Time between two questions while callers are refused, in milliseconds; default: 1,000. */
  readonly pauseMs?: number
}

const PAUSE_MS = 1_000

/** Timers may end a little early. */
const OF_TIMEOUT = 0.9

export class Patience implements Queries {
  readonly #options: PatienceOptions
  readonly #stop = new AbortController()
  #asking = false
  #refusal: CallError | undefined

  constructor(options: PatienceOptions) {
    this.#options = options
  }

  /** The error that callers get now without a question; `undefined`: their questions are asked. */
  get refusal(): CallError | undefined {
    return this.#refusal
  }

  /** @throws CallError */
  async all(...statement: Statement): Promise<Rows> {
    if (this.#refusal !== undefined) throw this.#refusal
    const begunMs = performance.now()
    try {
      return await this.#options.ask(...statement)
    } catch (error) {
      if (this.#tookTooLong(begunMs) && !this.#asking) {
        this.#asking = true
        void this.#askOn(statement)
      }
      throw error
    }
  }

  close(): void {
    this.#stop.abort()
  }

  #tookTooLong(begunMs: number): boolean {
    return performance.now() - begunMs >= this.#options.timeoutMs * OF_TIMEOUT
  }

  /** Asks until there is an answer, or an error that comes soon: then callers need not wait for theirs. */
  async #askOn(statement: Statement): Promise<void> {
    const { ask, pauseMs = PAUSE_MS } = this.#options
    const { signal } = this.#stop
    while (!signal.aborted) {
      const begunMs = performance.now()
      const failure = await ask(...statement).then(
        () => undefined,
        (error: unknown) => error as CallError,
      )
      this.#refusal = failure !== undefined && this.#tookTooLong(begunMs) ? failure : undefined
      if (this.#refusal === undefined) break
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
    this.#asking = false
  }
}
