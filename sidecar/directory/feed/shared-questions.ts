/** Questions to the directory that are on their way. Calls that ask the same at the same moment share one. */
import type { MaybePromise } from '../../base/maybe-promise.ts'

interface Asked<Answer> {
  readonly moment: number
  readonly answer: Promise<Answer>
}

export class SharedQuestions<Answer> {
  readonly #asked = new Map<string, Asked<Answer>>()

  /** @param moment of the call; `undefined`: its question is its own */
  ask(key: string, moment: number | undefined, question: () => MaybePromise<Answer>): MaybePromise<Answer> {
    const asked = this.#asked.get(key)
    if (asked !== undefined && asked.moment === moment) return asked.answer
    const answer = question()
    if (answer instanceof Promise && moment !== undefined) this.#keep(key, { moment, answer })
    return answer
  }

  #keep(key: string, asked: Asked<Answer>): void {
    this.#asked.set(key, asked)
    const forget = () => {
      // A later one may have taken its place.
      if (this.#asked.get(key) === asked) this.#asked.delete(key)
    }
    asked.answer.then(forget, forget)
  }
}
