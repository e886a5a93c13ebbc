/**
 * Failed logins of several workers. Only the primary counts them, so that a guesser gains nothing by using
 * several workers. A worker waits until the primary admits a login, and reports its result later. The login
 * counts as in progress until the report has arrived, so the count is as exact as in a single process. The
 * round trip takes little time compared with the check of a password.
 */
import type { LoginAttempt, LoginThrottle, Settle } from '../../authority/throttle.ts'
import { CallError, callError } from '../../base/call-error.ts'
import { PendingCalls } from './pending-calls.ts'
import type { LoginAdmission, LoginRequest, LoginSettled } from './worker-messages.ts'

/** The worker's side: a throttle that asks the primary. */
export class PrimaryThrottle implements LoginThrottle {
  readonly #send: (message: LoginRequest | LoginSettled) => void
  readonly #admissions = new PendingCalls()

  constructor(send: (message: LoginRequest | LoginSettled) => void) {
    this.#send = send
  }

  /** @throws CallError as every throttle does, and `STOPPING` if the primary is gone */
  async admit(attempt: LoginAttempt): Promise<Settle> {
    const id = await this.#admissions.call((id) => this.#send({ type: 'login', id, attempt }))
    return (outcome) => this.#send({ type: 'login_settled', id, outcome })
  }

  /** Passes the primary's answer to the login that waits for it. */
  receive({ id, refusal }: LoginAdmission): void {
    this.#admissions.answer(id, refusal && new CallError(refusal.reason, refusal.message, refusal))
  }

  /** The primary is gone. Failures are no longer counted, so no login is admitted. */
  close(): void {
    this.#admissions.close(callError('STOPPING', {}))
  }
}

/**
 * The primary's side: the logins of one worker. When the worker ends, its logins no longer count as in
 * progress.
 */
export class WorkerLogins {
  readonly #throttle: LoginThrottle
  readonly #inFlight = new Map<number, Settle>()
  #workerGone = false

  constructor(throttle: LoginThrottle) {
    this.#throttle = throttle
  }

  async admit({ id, attempt }: LoginRequest): Promise<LoginAdmission> {
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

  /** The worker is gone, so the results of its logins will never arrive. */
  close(): void {
    this.#workerGone = true
    for (const settle of this.#inFlight.values()) settle('abandoned')
    this.#inFlight.clear()
  }
}
