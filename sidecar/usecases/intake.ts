/**
 * Lets in a few administrative calls, logins and revocations in each turn of the event loop, so that checks
 * are answered between them however many arrive at once. Callers who are known come first, and connections
 * take turns.
 */
import { callError } from '../base/call-error.ts'
import { FairQueue } from '../base/fair-queue.ts'
import type { Caller, CallerCredentials, Callers } from './callers.ts'

/**
 * How many calls begin in one turn. Each takes up to a quarter of a millisecond, mostly to find out who
 * calls.
 */
const CALLS_PER_TURN = 4

/** Most calls that wait in each lane. */
const WAITING_MAX = 2_000

const NONE: readonly string[] = []

/** A session that a call presents. */
export interface PresentedSession {
  /** SHA-256 of its secret; `undefined`: there is none. */
  readonly session?: Buffer | undefined
}

/** Says whose sessions were. */
export interface KnownSessions {
  /** SHA-256 of the caller token. It does not show whether the session has ended. */
  callerBefore(session: Buffer): Buffer | undefined
}

export class Intake {
  readonly #callers: Callers
  readonly #sessions: KnownSessions | undefined
  readonly #queue = new FairQueue({
    weights: { callers: 4, others: 1 },
    concurrent: CALLS_PER_TURN,
    waiting: WAITING_MAX,
    full: () => callError('DIRECTORY_EXHAUSTED', { what: 'calls' }),
  })

  /** @param sessions `undefined`: no call has a session */
  constructor(callers: Callers, sessions?: KnownSessions) {
    this.#callers = callers
    this.#sessions = sessions
  }

  /** How many calls wait in each lane. */
  get waiting(): Readonly<Record<string, number>> {
    return this.#queue.waiting
  }

  /**
   * Resolves when it is the turn of the call.
   *
   * @param connection a name that no other connection has
   * @param presented what the call presents, a session among it; to read that of a certificate costs more
   *   than a check; absent: nothing
   * @throws CallError `DIRECTORY_EXHAUSTED` if too many calls of its connection wait
   */
  turn(connection: string, presented?: Partial<CallerCredentials> & PresentedSession): Promise<void> {
    const caller = presented && this.#callerOf(presented)
    const place = {
      lane: caller === undefined ? 'others' : 'callers',
      shares: [caller?.name ?? '', connection],
    } as const
    return this.#queue.run(place, nextTurn)
  }

  /**
   * A session has the lane of the caller whose it was when it was used last. A look into the directory
   * decides its rights.
   */
  #callerOf({
    session,
    authorization = NONE,
    iamToken = NONE,
    // Survives: `[]` → `["Stryker was here"]`. No caller has such a name.
    certificateNames = [],
  }: Partial<CallerCredentials> & PresentedSession): Caller | undefined {
    const digest = session && this.#sessions?.callerBefore(session)
    return digest === undefined
      ? this.#callers.findOrNobody({ authorization, iamToken, certificateNames })
      : this.#callers.byDigestOrNobody(digest)
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
