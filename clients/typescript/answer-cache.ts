/** Answers that may be reused for the time that each of them states. Bounded: the oldest one makes room. */
import { createHash } from 'node:crypto'
import type { CheckAnswer } from './values.ts'

export class AnswerCache {
  readonly #entriesMax: number
  readonly #elapsedMs: () => number
  readonly #entries = new Map<string, { readonly answer: CheckAnswer; readonly untilMs: number }>()

  /** @param elapsedMs how much time has passed, in milliseconds */
  constructor(entriesMax: number, elapsedMs: () => number) {
    this.#entriesMax = entriesMax
    this.#elapsedMs = elapsedMs
  }

  /**
   * The answer to an equal question that may still be reused, or a new one.
   *
   * @param question everything that the answer depends on; it may hold secrets, and only its digest is kept
   */
  async answer(question: unknown, ask: () => Promise<CheckAnswer>): Promise<CheckAnswer> {
    if (this.#entriesMax === 0) return ask()
    const key = createHash('sha256').update(JSON.stringify(question)).digest('base64')
    const askedMs = this.#elapsedMs()
    const known = this.#entries.get(key)
    if (known !== undefined && askedMs < known.untilMs) return known.answer
    this.#entries.delete(key)
    const answer = await ask()
    // The time counts from the question on: how old the answer was when it arrived is not known.
    const untilMs = askedMs + answer.cacheForMs
    if (untilMs > this.#elapsedMs()) this.#keep(key, { answer, untilMs })
    return answer
  }

  #keep(key: string, entry: { readonly answer: CheckAnswer; readonly untilMs: number }): void {
    const [oldest] = this.#entries.keys()
    if (this.#entries.size >= this.#entriesMax && oldest !== undefined) this.#entries.delete(oldest)
    this.#entries.set(key, entry)
  }
}
