/** The handlers of `Check`, `CheckBatch` and `CheckStream`: the hot path. All answers to claims are encoded in advance. */
import { setImmediate } from 'node:timers/promises'
import { checkClaims, checkCredentials } from '../usecases/check.ts'
import { forCall, type Services } from '../usecases/services.ts'
import { type BidiMethod, readingAtOnce, type UnaryMethod } from './call.ts'
import { type CheckQuestion, readCheck, readCheckBatch, readStreamedCheck } from './check-request.ts'
import { checkBatchResponse, checkStreamResponse, EncodedAnswers } from './responses.ts'

interface CheckHandlers {
  readonly check: UnaryMethod
  readonly checkBatch: UnaryMethod
  readonly checkStream: BidiMethod
}

type Answer = (question: CheckQuestion) => Buffer | Promise<Buffer>

/** How long a batch may work before other calls have their turn, in milliseconds. A forged token costs a tenth of one. */
const SLICE_MS = 2

/** The clock is looked at after so many checks of a batch. */
const CHECKS_A_LOOK = 16

/** @param batchLengthMax most checks in one `CheckBatch` */
export function checkHandlers(services: Services, batchLengthMax: number): CheckHandlers {
  const answer = newAnswer(services)
  return {
    check: readingAtOnce((request) => answer(readCheck(request))),
    checkBatch: readingAtOnce((request) => new Batch(readCheckBatch(request, batchLengthMax), answer).run()),
    checkStream: (responses) => ({
      // The next question comes after this one is answered. So answers keep their order.
      next: (request) => {
        const { id, question } = readStreamedCheck(request)
        const result = answer(question)
        if (!(result instanceof Promise)) responses.write(checkStreamResponse(id, result))
        else return result.then((answered) => responses.write(checkStreamResponse(id, answered)))
      },
      end: () => responses.end(),
    }),
  }
}

/** Makes the function that answers checks with the current engine. */
function newAnswer(services: Services): Answer {
  const { rules, cacheForMs, now } = services
  let answers = new EncodedAnswers(rules.engine, cacheForMs)
  let current = forCall(services)
  rules.watch((changed) => {
    // Both change together, so that no check gets the answers of another engine.
    answers = new EncodedAnswers(changed, cacheForMs)
    current = forCall(services)
  })
  return (checked) => {
    if (checked.type === 'claims') return answers.forClaims(checkClaims(current, checked.question))
    const encoded = answers
    const outcome = checkCredentials(current, checked.question)
    return outcome instanceof Promise
      ? outcome.then((value) => encoded.forCredentials(value, now()))
      : encoded.forCredentials(outcome, now())
  }
}

/** The checks of one call. Others have their turn between its slices, so that a batch of forged tokens holds up nobody. */
class Batch {
  readonly #questions: readonly CheckQuestion[]
  readonly #answer: Answer
  readonly #results: (Buffer | Promise<Buffer>)[] = []

  constructor(questions: readonly CheckQuestion[], answer: Answer) {
    this.#questions = questions
    this.#answer = answer
  }

  /** Nearly every batch is answered in its first slice. */
  run(): Buffer | Promise<Buffer> {
    return this.#runSlice() ? this.#response() : this.#runSlices()
  }

  async #runSlices(): Promise<Buffer> {
    do await setImmediate()
    while (!this.#runSlice())
    return this.#response()
  }

  /** @returns whether every check has its answer, or waits for it */
  #runSlice(): boolean {
    const endsMs = performance.now() + SLICE_MS
    while (this.#results.length < this.#questions.length) {
      const result = this.#answer(this.#questions[this.#results.length] as CheckQuestion)
      // The batch may fail before it waits for this one, whose error is then nobody's.
      if (result instanceof Promise) result.catch(() => {})
      this.#results.push(result)
      if (this.#results.length % CHECKS_A_LOOK === 0 && performance.now() > endsMs) break
    }
    return this.#results.length === this.#questions.length
  }

  #response(): Buffer | Promise<Buffer> {
    const results = this.#results
    return results.every(isReady)
      ? checkBatchResponse(results)
      : Promise.all(results).then(checkBatchResponse)
  }
}

function isReady(result: Buffer | Promise<Buffer>): result is Buffer {
  return !(result instanceof Promise)
}
