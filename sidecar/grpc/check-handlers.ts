/** The handlers of `Check`, `CheckBatch` and `CheckStream`: the hot path. All answers to claims are encoded in advance. */
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js'
import { checkClaims, checkCredentials } from '../usecases/check.ts'
import { forCall, type Services } from '../usecases/services.ts'
import { type CheckQuestion, readCheck, readCheckBatch, readStreamedCheck } from './check-request.ts'
import { failure, type Unary, unaryHandler } from './handler.ts'
import { checkBatchResponse, checkStreamResponse, EncodedAnswers } from './responses.ts'

interface CheckHandlers {
  readonly check: Unary
  readonly checkBatch: Unary
  readonly checkStream: handleBidiStreamingCall<Buffer, Buffer>
}

type Answer = (question: CheckQuestion) => Buffer | Promise<Buffer>

/** @param batchLengthMax most checks in one `CheckBatch` */
export function checkHandlers(services: Services, batchLengthMax: number): CheckHandlers {
  const { log } = services
  const answer = newAnswer(services)
  return {
    check: unaryHandler(log, (request) => answer(readCheck(request))),
    checkBatch: unaryHandler(log, (request) => {
      const results = readCheckBatch(request, batchLengthMax).map(answer)
      return results.every(isReady)
        ? checkBatchResponse(results)
        : Promise.all(results).then(checkBatchResponse)
    }),
    checkStream: (call) => {
      answerAll(call, answer).catch((error) => {
        if (!call.cancelled) call.emit('error', failure(log, error))
      })
    },
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

/** Answers one check at a time. So answers keep their order, and a client that reads slowly is not sent too much. */
async function answerAll(call: ServerDuplexStream<Buffer, Buffer>, answer: Answer): Promise<void> {
  // Leaving the loop must not destroy the call, because a destroyed call cannot send the status of an error.
  for await (const request of call.iterator({ destroyOnReturn: false })) {
    const { id, question } = readStreamedCheck(request)
    const result = answer(question)
    const response = checkStreamResponse(id, result instanceof Promise ? await result : result)
    if (!call.write(response)) await drained(call)
  }
  call.end()
}

function isReady(result: Buffer | Promise<Buffer>): result is Buffer {
  return !(result instanceof Promise)
}

/** Resolves when the client has read enough, or is gone. */
function drained(call: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const events = ['drain', 'cancelled', 'close', 'error']
    const done = () => {
      for (const event of events) call.removeListener(event, done)
      resolve()
    }
    for (const event of events) call.once(event, done)
  })
}
