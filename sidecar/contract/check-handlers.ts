/**
 * The handlers of `Check`, `CheckBatch` and `CheckStream`: the hot path. All answers to claims are encoded in
 * advance.
 */
import { finish } from '../../engine/index.ts'
import { invalidArgument } from '../base/call-error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { SHORT_BYTES, type Turns } from '../base/turns.ts'
import type { DecisionListener } from '../usecases/asker.ts'
import type { Admitting, Clocked, Following, PerCall, Reporting, Ruled } from '../usecases/capabilities.ts'
import { checkClaims, checkCredentials, type Verifying } from '../usecases/check.ts'
import type { DecisionMeter } from '../usecases/meters.ts'
import { timed } from '../usecases/timed.ts'
import {
  type BidiMethod,
  type CallContext,
  type ClientConnection,
  readingAtOnce,
  STATUS,
  StatusError,
  type UnaryMethod,
} from './call.ts'
import { type CheckQuestion, readCheck, readCheckBatch, readStreamedCheck } from './check-request.ts'
import { type ListenerOf, listenersOf } from './handler.ts'
import { checkBatchResponse, checkStreamResponse, EncodedAnswers } from './responses.ts'
import { refusedResponse, withRoute } from './route-messages.ts'

export type CheckServices = PerCall<Verifying> & Ruled & Admitting & Reporting & Clocked & Following

interface CheckHandlers {
  readonly check: UnaryMethod
  readonly checkBatch: UnaryMethod
  readonly checkStream: BidiMethod
}

/**
 * The parts of an `Asker` apart: one more object for each check of claims would cost something even without a
 * listener.
 */
type Answer = (
  question: CheckQuestion,
  connection: ClientConnection,
  listener: DecisionListener | undefined,
) => MaybePromise<Buffer>

/** How long a batch may work before others have their turn, in milliseconds. */
const SLICE_MS = 0.5

/** The clock is looked at after so many claims of a batch, and after each credential. */
const CLAIMS_A_LOOK = 256

/** With metrics, one of so many single checks is timed. */
const TIMED_EVERY = 16

/**
 * @param batchLengthMax most checks in one `CheckBatch`
 * @param reachable whether other machines can reach the listener
 */
export function checkHandlers(
  services: CheckServices,
  batchLengthMax: number,
  reachable: boolean,
): CheckHandlers {
  const { turns, meters } = services
  const { answer, answerNow } = newAnswers(services)
  const [one, batch, stream] = (['grpc', 'grpc-batch', 'grpc-stream'] as const).map((protocol) => {
    const meter = meters?.of(protocol)
    return { meter, listenerOf: listenersOf(services, protocol, meter, reachable) }
  }) as [Told, Told, Told]
  const answerStreamed = timed(
    stream.meter,
    (question: CheckQuestion, context: CallContext) =>
      answer(question, context.connection, stream.listenerOf?.(context)),
    TIMED_EVERY,
  )
  return {
    check: readingAtOnce(unaryCheck(answer, one, turns)),
    checkBatch: readingAtOnce(
      timed(batch.meter, (request: Buffer, context: CallContext) => {
        const long = request.length > SHORT_BYTES
        // A batch that waits is read later, when the bytes that it was lent are of another request.
        const own = long ? Buffer.from(request) : request
        const read = () => readCheckBatch(own, batchLengthMax)
        const listener = batch.listenerOf?.(context)
        return new Batch({ read, answer: answerNow(), turns, context, listener }).run(long)
      }),
    ),
    checkStream: (responses, context) => ({
      // The next question comes after this one is answered. So answers keep their order.
      next: (request) => {
        const next = (): MaybePromise<void> => {
          const { id, question } = readStreamedCheck(request)
          const result = answerStreamed(question, context)
          if (!(result instanceof Promise)) responses.write(checkStreamResponse(id, result))
          else return result.then((answered) => responses.write(checkStreamResponse(id, answered)))
        }
        return request.length <= SHORT_BYTES ? next() : inTurn(turns, context, next)
      },
      end: () => responses.end(),
    }),
  }
}

/** The listeners for the calls and decisions of a method. */
interface Told {
  readonly meter: DecisionMeter | undefined
  readonly listenerOf: ListenerOf | undefined
}

/** What is long costs so much to read that others come first who have waited. */
function inTurn<T>(turns: Turns, context: CallContext, work: () => MaybePromise<T>): MaybePromise<T> {
  const unlessOver = () => {
    expectNotOver(context)
    return work()
  }
  return andThen(turns.run(context.connection, unlessOver), (result) => result)
}

/** Nobody waits for the answer any more, and what the call keeps until then is counted no longer. */
function expectNotOver({ over }: CallContext): void {
  if (over === true) throw new StatusError({ code: STATUS.CANCELLED, message: 'the call is over' })
}

/**
 * The handler of `Check`. With metrics it does as `timed` does, but most calls of a sidecar come here, and a
 * function that wraps any handler is not inlined.
 */
function unaryCheck(answer: Answer, { meter, listenerOf }: Told, turns: Turns): UnaryMethod {
  const check = (request: Buffer, context: CallContext): MaybePromise<Buffer> => {
    if (request.length > SHORT_BYTES) return long(request, context)
    return answer(readCheck(request), context.connection, listenerOf?.(context))
  }
  const long = (request: Buffer, context: CallContext) => {
    // Its bytes are only lent.
    const own = Buffer.from(request)
    return inTurn(turns, context, () => answer(readCheck(own), context.connection, listenerOf?.(context)))
  }
  if (meter === undefined || listenerOf === undefined) return check
  const timedCheck = timed(meter, check)
  // The first one is timed.
  let calls = TIMED_EVERY - 1
  return (request, context) => {
    if (++calls < TIMED_EVERY) return check(request, context)
    calls = 0
    return timedCheck(request, context)
  }
}

interface Answering {
  /** Answers with the engine in force. */
  readonly answer: Answer
  /**
   * Makes what answers with the engine that is in force now, whatever comes: all checks of a call have one
   * matrix.
   */
  readonly answerNow: () => Answer
}

function newAnswers(services: CheckServices): Answering {
  const { rules, cacheForMs, forCall } = services
  let answers = finish(EncodedAnswers.of(rules.engine, cacheForMs))
  let current = forCall()
  rules.prepare(function* (engine) {
    const next = yield* EncodedAnswers.of(engine, cacheForMs)
    // Both change together, so that no check gets the answers of another engine.
    return () => {
      answers = next
      current = forCall()
    }
  })
  return {
    answer: (checked, connection, listener) =>
      answerWith(answers, current, services, checked, connection, listener),
    answerNow: () => {
      const [encoded, verifying] = [answers, current]
      return (checked, connection, listener) =>
        answerWith(encoded, verifying, services, checked, connection, listener)
    },
  }
}

function answerWith(
  encoded: EncodedAnswers,
  services: Verifying,
  told: Clocked & Following & Pick<Ruled, 'routes'>,
  checked: CheckQuestion,
  connection: ClientConnection,
  listener: DecisionListener | undefined,
): MaybePromise<Buffer> {
  if (checked.type === 'claims') return encoded.forClaims(checkClaims(services, checked.question, listener))
  if (checked.type === 'request') return answerRouted(encoded, services, told, checked, connection, listener)
  const { changes, basis, now } = told
  // Named before the question is answered: a key may be withdrawn meanwhile.
  const { name } = basis(services.engine)
  const outcome = checkCredentials(services, checked.question, { connection, listener })
  if (!(outcome instanceof Promise))
    return encoded.forCredentials(outcome, changes.followed?.position, name, now())
  // A change that comes while the question is answered has a later position, which voids the answer.
  const position = changes.latest()
  return outcome.then((value) => encoded.forCredentials(value, position, name, now()))
}

/** The check that the routes make of a request. */
function answerRouted(
  encoded: EncodedAnswers,
  services: Verifying,
  told: Clocked & Following & Pick<Ruled, 'routes'>,
  { request, question }: Extract<CheckQuestion, { readonly type: 'request' }>,
  connection: ClientConnection,
  listener: DecisionListener | undefined,
): MaybePromise<Buffer> {
  const { routes } = told
  if (routes === undefined)
    throw invalidArgument({
      field: 'request',
      expected: '`api` in its place, because the configuration has no `routes`',
    })
  const match = routes.match(request)
  if (match.refused !== undefined) return refusedResponse(match)
  const { api, target } = match
  const routed = { type: 'credentials', question: { ...question, api, target } } as const
  return andThen(answerWith(encoded, services, told, routed, connection, listener), (answered) =>
    withRoute(answered, match),
  )
}

interface BatchParts {
  readonly read: () => readonly CheckQuestion[]
  readonly answer: Answer
  readonly turns: Turns
  readonly context: CallContext
  readonly listener: DecisionListener | undefined
}

/**
 * The checks of one call. They are answered in slices, between which others have their turn, so that a batch
 * of forged tokens does not block others.
 */
class Batch {
  readonly #parts: BatchParts
  #questions: readonly CheckQuestion[] | undefined
  readonly #results: MaybePromise<Buffer>[] = []

  constructor(parts: BatchParts) {
    this.#parts = parts
  }

  /** Nearly every batch is answered at once. @param long whether it waits for its turn before it is read */
  run(long: boolean): MaybePromise<Buffer> {
    const ended = long ? this.#nextSlice(false) : this.#runSlice()
    return ended === true ? this.#response() : this.#runSlices(ended)
  }

  async #runSlices(first: MaybePromise<boolean>): Promise<Buffer> {
    for (let ended = await first; !ended; ) ended = await this.#nextSlice(true)
    return this.#response()
  }

  #nextSlice(goesOn: boolean): MaybePromise<boolean> {
    const { turns, context } = this.#parts
    return turns.run(context.connection, () => this.#runSlice(), goesOn)
  }

  /** @returns whether every check has its answer, or waits for it */
  #runSlice(): boolean {
    const endsMs = performance.now() + SLICE_MS
    const { read, answer, listener, context } = this.#parts
    expectNotOver(context)
    const results = this.#results
    this.#questions ??= read()
    const questions = this.#questions
    while (results.length < questions.length) {
      const question = questions[results.length] as CheckQuestion
      const result = answer(question, context.connection, listener)
      // The batch may fail before it waits for this one, whose error is then unhandled.
      if (result instanceof Promise) result.catch(() => {})
      results.push(result)
      const look = question.type !== 'claims' || results.length % CLAIMS_A_LOOK === 0
      if (look && performance.now() > endsMs) break
    }
    return results.length === questions.length
  }

  #response(): MaybePromise<Buffer> {
    const results = this.#results
    return results.every(isReady)
      ? checkBatchResponse(results)
      : Promise.all(results).then(checkBatchResponse)
  }
}

function isReady(result: MaybePromise<Buffer>): result is Buffer {
  return !(result instanceof Promise)
}
