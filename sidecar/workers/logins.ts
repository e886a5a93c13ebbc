/**
 * Failed logins where there are several workers: the primary alone counts them, so that whoever guesses gains nothing by
 * reaching another worker. A worker waits until the primary has counted before it answers, so the count is as exact as
 * that of one process; a round trip over the channel is a small part of what checking a password takes.
 */
import type { LoginThrottle } from '../authority/throttle.ts'
import { NoAnswer } from '../errors.ts'
import type { LoginAnswer, LoginQuestion } from './messages.ts'

type Login = LoginQuestion['login']

/** A worker's side: asks the primary. */
export class PrimaryThrottle implements LoginThrottle {
  readonly #send: (question: LoginQuestion) => void
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>()
  #lastId = 0
  #primaryGone = false

  constructor(send: (question: LoginQuestion) => void) {
    this.#send = send
  }

  admit(...login: Login): Promise<void> {
    return this.#ask('admit', login)
  }

  failed(...login: Login): Promise<void> {
    return this.#ask('failed', login)
  }

  succeeded(...login: Login): Promise<void> {
    return this.#ask('succeeded', login)
  }

  /** Hands an answer of the primary to whoever waits for it. */
  answered({ id, refusal }: LoginAnswer): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (refusal === undefined) waiting?.resolve()
    else waiting?.reject(new NoAnswer(refusal.code, refusal.message, refusal))
  }

  /** The primary is gone: nobody counts any more, so nobody may try. */
  close(): void {
    this.#primaryGone = true
    for (const { reject } of this.#waiting.values()) reject(stopping())
    this.#waiting.clear()
  }

  #ask(call: LoginQuestion['call'], login: Login): Promise<void> {
    if (this.#primaryGone) return Promise.reject(stopping())
    const id = ++this.#lastId
    const waiting = Promise.withResolvers<void>()
    this.#waiting.set(id, waiting)
    this.#send({ type: 'login', id, call, login })
    return waiting.promise
  }
}

/** The primary's side: counts, and says what came of it. */
export async function answerLogin(
  failedLogins: LoginThrottle,
  { id, call, login }: LoginQuestion,
): Promise<LoginAnswer> {
  try {
    await failedLogins[call](...login)
    return { type: 'login', id }
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    const { code, message, reason, metadata } = error
    return { type: 'login', id, refusal: { code, message, reason, metadata } }
  }
}

function stopping(): NoAnswer {
  return new NoAnswer('UNAVAILABLE', 'the sidecar is stopping', { reason: 'STOPPING' })
}
