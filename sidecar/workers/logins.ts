/**
 * Failed logins where there are several workers: the primary alone counts them, so that whoever guesses gains nothing by
 * reaching another worker. A worker waits until the primary admits a login, and says later what became of it; the place is
 * taken until that has arrived, so the count is as exact as that of one process. A round trip over the channel is a small
 * part of what checking a password takes.
 */
import type { LoginAttempt, LoginThrottle, Settle } from '../authority/throttle.ts'
import { CallError, callError } from '../base/call-error.ts'
import type { LoginAnswer, LoginQuestion, LoginSettled } from './messages.ts'
import { PendingCalls } from './pending-calls.ts'

/** A worker's side: asks the primary. */
export class PrimaryThrottle implements LoginThrottle {
  readonly #send: (message: LoginQuestion | LoginSettled) => void
  readonly #admissions = new PendingCalls()

  constructor(send: (message: LoginQuestion | LoginSettled) => void) {
    this.#send = send
  }

  /** @throws CallError as every throttle, and `STOPPING` where the primary is gone */
  async admit(attempt: LoginAttempt): Promise<Settle> {
    const id = await this.#admissions.ask((id) => this.#send({ type: 'login', id, attempt }))
    return (outcome) => this.#send({ type: 'login_settled', id, outcome })
  }

  /** Hands an answer of the primary to whoever waits for it. */
  answered({ id, refusal }: LoginAnswer): void {
    this.#admissions.answer(id, refusal && new CallError(refusal.reason, refusal.message, refusal))
  }

  /** The primary is gone: nobody counts any more, so nobody may try. */
  close(): void {
    this.#admissions.close(callError('STOPPING', {}))
  }
}

/** The primary's side: the logins of one worker, whose places do not outlive it. */
export class WorkerLogins {
  readonly #throttle: LoginThrottle
  readonly #inFlight = new Map<number, Settle>()
  #workerGone = false

  constructor(throttle: LoginThrottle) {
    this.#throttle = throttle
  }

  async admit({ id, attempt }: LoginQuestion): Promise<LoginAnswer> {
    try {
      const settle = await this.#throttle.admit(attempt)
      if (this.#workerGone) settle('abandoned')
      else this.#inFlight.set(id, settle)
      return { type: 'login', id }
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      const { message, reason, metadata } = error
      return { type: 'login', id, refusal: { message, reason, metadata } }
    }
  }

  settle({ id, outcome }: LoginSettled): void {
    this.#inFlight.get(id)?.(outcome)
    this.#inFlight.delete(id)
  }

  /** The worker is gone: nobody learns any more what became of its logins. */
  close(): void {
    this.#workerGone = true
    for (const settle of this.#inFlight.values()) settle('abandoned')
    this.#inFlight.clear()
  }
}
