/**
 * The handlers of `Check`, `CheckBatch` and `CheckStream`: the hot path. All answers to claims are encoded in
 * advance.
 */
import { finish } from '../../engine/index.ts'
import { invalidArgument } from '../base/call-error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { SHORT_BYTES, type Turns } from '../base/turns.ts'
import type { Asker, DecisionListener } from '../usecases/asker.ts'
import type { Admitting, Clocked, Following, PerCall, Reporting, Ruled } from '../usecases/capabilities.ts'
import { checkClaims, checkCredentials, type Verifying } from '../usecases/check.ts'
import type { DecisionMeter } from '../usecases/decision-meters.ts'
import type { CredentialsQuestion } from '../usecases/questions.ts'
import { timed } from '../usecases/timed.ts'
import {
  type BidiMethod,
  type CallContext,
  type ClientConnection,
  readingAtOnce,
  type UnaryMethod,
} from './call.ts'
import { type CheckQuestion, readCheck, readCheckBatch, readStreamedCheck } from './check-request.ts'
import { expectNotOver, type ListenerOf, listenersOf } from './handler.ts'
import { checkBatchResponse, checkStreamResponse, EncodedAnswers } from './responses.ts'
import { refusedResponse, withRoute } from './route-messages.ts'

export type CheckServices = PerCall<Verifying> & Ruled & Admitting & Reporting & Clocked & Following

interface CheckHandlers {
  readonly check: UnaryMethod
  readonly checkBatch: UnaryMethod
  readonly checkStream: BidiMethod
}

/** How long a batch may work before others have their turn, in milliseconds. */
const SLICE_MS = 0.5

/** The clock is looked at after this number of claims of a batch, and after each credential. */
const CLAIMS_A_LOOK = 256

/** With metrics, one in this number of single checks is timed. */
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
  const inForce = answersInForce(services)
  const [one, batch, stream] = (['grpc', 'grpc-batch', 'grpc-stream'] as const).map((protocol) => {
    const meter = meters?.of(protocol)
    return { meter, listenerOf: listenersOf(services, protocol, meter, reachable) }
  }) as [Listeners, Listeners, Listeners]
  const answerStreamed = timed(
    stream.meter,
    (question: CheckQuestion, context: CallContext) =>
      inForce().answer(question, context.connection, stream.listenerOf?.(context)),
    TIMED_EVERY,
  )
  return {
    check: readingAtOnce(unaryCheck(inForce, one, turns)),
    checkBatch: readingAtOnce(
      timed(batch.meter, (request: Buffer, context: CallContext) => {
        const long = request.length > SHORT_BYTES
        // A batch that waits is read later, when the bytes that it was lent are of another request.
        const own = long ? Buffer.from(request) : request
        const read = () => readCheckBatch(own, batchLengthMax)
        const listener = batch.listenerOf?.(context)
        return new Batch({ read, answers: inForce(), turns, context, listener }).run(long)
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

/** The listeners to the calls and the decisions of a method. */
interface Listeners {
  readonly meter: DecisionMeter | undefined
  readonly listenerOf: ListenerOf | undefined
}

/** A long request is so costly to read that waiting callers come first. */
function inTurn<T>(turns: Turns, context: CallContext, work: () => MaybePromise<T>): MaybePromise<T> {
  const unlessOver = () => {
    expectNotOver(context)
    return work()
  }
  return andThen(turns.run(context.connection, unlessOver), (result) => result)
}

/**
 * The handler of `Check`. With metrics it does as `timed` does, but most calls of a sidecar come here, and a
 * function that wraps any handler is not inlined.
 */
function unaryCheck(inForce: () => Answers, { meter, listenerOf }: Listeners, turns: Turns): UnaryMethod {
  const answer = (request: Buffer, context: CallContext) =>
    inForce().answer(readCheck(request), context.connection, listenerOf?.(context))
  const check = (request: Buffer, context: CallContext): MaybePromise<Buffer> => {
    if (request.length <= SHORT_BYTES) return answer(request, context)
    // Its bytes are only lent.
    const own = Buffer.from(request)
    return inTurn(turns, context, () => answer(own, context))
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

/** @returns what answers with the engine that is in force then */
function answersInForce(services: CheckServices): () => Answers {
  const { rules, cacheForMs } = services
  let answers = new Answers(finish(EncodedAnswers.of(rules.engine, cacheForMs)), services)
  rules.prepare(function* (engine) {
    const encoded = yield* EncodedAnswers.of(engine, cacheForMs)
    return () => {
      answers = new Answers(encoded, services)
    }
  })
  return () => answers
}

/** Answers checks with one engine and its encoded answers, whichever comes into force meanwhile. */
class Answers {
  readonly #encoded: EncodedAnswers
  readonly #verifying: Verifying
  readonly #services: CheckServices

  constructor(encoded: EncodedAnswers, services: CheckServices) {
    this.#encoded = encoded
    this.#verifying = services.forCall()
    this.#services = services
  }

  /**
   * The parts of an `Asker` are passed separately: one more object for each check of claims would cost
   * something even without a listener.
   */
  answer(
    checked: CheckQuestion,
    connection: ClientConnection,
    listener: DecisionListener | undefined,
  ): MaybePromise<Buffer> {
    if (checked.type === 'claims')
      return this.#encoded.forClaims(checkClaims(this.#verifying, checked.question, listener))
    if (checked.type === 'credentials') return this.#ofCredentials(checked.question, { connection, listener })
    const { routes } = this.#services
    if (routes === undefined)
      throw invalidArgument({
        field: 'request',
        expected: '`api` in its place, because the configuration has no `routes`',
      })
    const match = routes.match(checked.request)
    if (match.refused !== undefined) return refusedResponse(match)
    const { api, target } = match
    const answer = this.#ofCredentials({ ...checked.question, api, target }, { connection, listener })
    return andThen(answer, (answered) => withRoute(answered, match))
  }

  #ofCredentials(question: CredentialsQuestion, asker: Asker): MaybePromise<Buffer> {
    const { changes, basis, now } = this.#services
    // Named before the question is answered: a key may be withdrawn meanwhile.
    const { name } = basis(this.#verifying.engine)
    const outcome = checkCredentials(this.#verifying, question, asker)
    if (!(outcome instanceof Promise))
      return this.#encoded.forCredentials(outcome, changes.followed?.position, name, now())
    // A change that comes while the question is answered has a later position, which voids the answer.
    const position = changes.latest()
    return outcome.then((value) => this.#encoded.forCredentials(value, position, name, now()))
  }
}

interface BatchParts {
  readonly read: () => readonly CheckQuestion[]
  readonly answers: Answers
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
    const { read, answers, listener, context } = this.#parts
    expectNotOver(context)
    const results = this.#results
    this.#questions ??= read()
    const questions = this.#questions
    while (results.length < questions.length) {
      const question = questions[results.length] as CheckQuestion
      const result = answers.answer(question, context.connection, listener)
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
