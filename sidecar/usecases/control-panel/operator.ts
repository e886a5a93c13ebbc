/**
 * The views that the control panel shows to operators beside the directory: the callers, the keys and their
 * ages, what is left to remove, and decisions as they are made.
 */
import { callError } from '../../base/call-error.ts'
import type { LeftToRemove } from '../../directory/left-to-remove.ts'
import { authorizeCaller } from '../administration/authorize.ts'
import type { Caller, CallerRights, Callers } from '../callers.ts'
import type { Clocked } from '../capabilities.ts'
import type { DecisionLog } from '../decision-recorder.ts'
import type { Requester } from '../requester.ts'
import type { KeysView, OperatorFacts } from './facts.ts'
import { Tail, type TailListener } from './tail.ts'

/** The facts about a caller. None of them helps to impersonate the caller. */
export interface CallerView {
  readonly name: string
  readonly rights: Omit<CallerRights, 'administer'> & { readonly administer: readonly string[] }
  readonly profiles: readonly string[]
  readonly identifiedBy: readonly ('token' | 'certificate')[]
  /** Milliseconds since the epoch; null: the caller does not expire. */
  readonly expiresAtMs: number | null
  readonly expired: boolean
}

export interface Operating extends Clocked {
  readonly callers: Callers
  readonly decisions: DecisionLog | undefined
  readonly operatorFacts: OperatorFacts
}

/** The listener to decisions, and the labels of its lines. */
export interface Listening {
  readonly listener: TailListener
  readonly samplePercent: number
  readonly workers: number
}

export class OperatorViews {
  readonly #services: Operating
  /** From the first listener on. */
  #tail: Tail | undefined

  constructor(services: Operating) {
    this.#services = services
  }

  /** @throws CallError: PERMISSION_DENIED */
  callers(requester: Requester): readonly CallerView[] {
    authorizeReader(requester)
    const { callers, now } = this.#services
    const nowMs = now()
    return callers.all.map((caller) => callerView(caller, nowMs))
  }

  /** @throws CallError: PERMISSION_DENIED */
  async keys(requester: Requester): Promise<KeysView> {
    authorizeReader(requester)
    const { operatorFacts, now } = this.#services
    return operatorFacts.keys(now())
  }

  /** @throws CallError: PERMISSION_DENIED */
  left(requester: Requester): LeftToRemove | null {
    authorizeReader(requester)
    return this.#services.operatorFacts.left() ?? null
  }

  /**
   * Begins to listen to the decisions of this process. The listener must keep asking `authorizeReader`.
   *
   * @throws CallError: PERMISSION_DENIED; `NOT_FOUND` where decisions are not logged; `WATCHES_EXHAUSTED`
   */
  listen(requester: Requester): Listening {
    const caller = authorizeReader(requester)
    const { decisions, operatorFacts } = this.#services
    if (decisions === undefined)
      throw callError('NOT_FOUND', {
        what: 'decision log: `decision_log` in the configuration switches it on',
      })
    const { workers } = operatorFacts
    this.#tail ??= new Tail(decisions)
    return { listener: this.#tail.listen(caller), samplePercent: decisions.samplePercent, workers }
  }
}

/**
 * As for every record of the directory.
 *
 * @returns the name of the caller
 * @throws CallError: PERMISSION_DENIED
 */
export function authorizeReader(requester: Requester): string {
  if (requester.type !== 'operator') throw callError('NOT_ADMINISTRATOR', { who: 'an operator' })
  // Survives: `'operator'` → `""`, `{ account: undefined }` → `{}`. A look at everything takes the right to
  // read, whatever it is for: it is about no account.
  authorizeCaller(requester.caller, 'operator', { account: undefined }, true)
  return requester.caller.name
}

function callerView(caller: Caller, nowMs: number): CallerView {
  const { name, rights, profiles, tokenSha256, certificateName, expiresAtMs } = caller
  const { everything, read, revoke, follow, administer } = rights
  return {
    name,
    rights: { everything, read, revoke, follow, administer: [...administer].sort() },
    profiles: [...profiles].sort(),
    identifiedBy: [
      ...(tokenSha256 === undefined ? [] : (['token'] as const)),
      ...(certificateName === undefined ? [] : (['certificate'] as const)),
    ],
    expiresAtMs: expiresAtMs ?? null,
    // Survives: `expiresAtMs !== undefined` → `true`. No time has come that is not there.
    expired: expiresAtMs !== undefined && nowMs >= expiresAtMs,
  }
}
