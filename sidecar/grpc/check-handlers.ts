/** The handlers of `Check`, `CheckBatch` and `CheckStream`: the hot path. All answers to claims are encoded in advance. */
import { checkClaims, checkCredentials } from '../usecases/check.ts'
import { forCall, type Services } from '../usecases/services.ts'
import type { BidiMethod, UnaryMethod } from './call.ts'
import { type CheckQuestion, readCheck, readCheckBatch, readStreamedCheck } from './check-request.ts'
import { checkBatchResponse, checkStreamResponse, EncodedAnswers } from './responses.ts'

interface CheckHandlers {
  readonly check: UnaryMethod
  readonly checkBatch: UnaryMethod
  readonly checkStream: BidiMethod
}

type Answer = (question: CheckQuestion) => Buffer | Promise<Buffer>

/** @param batchLengthMax most checks in one `CheckBatch` */
export function checkHandlers(services: Services, batchLengthMax: number): CheckHandlers {
  const answer = newAnswer(services)
  return {
    check: (request) => answer(readCheck(request)),
    checkBatch: (request) => {
      const results = readCheckBatch(request, batchLengthMax).map(answer)
      return results.every(isReady)
        ? checkBatchResponse(results)
        : Promise.all(results).then(checkBatchResponse)
    },
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

function isReady(result: Buffer | Promise<Buffer>): result is Buffer {
  return !(result instanceof Promise)
}
