/**
 * Lets in a few administrative calls, logins and revocations in each turn of the event loop, so that checks
 * are answered between them however many arrive at once. Callers who are known come first, and connections
 * take turns. Followers that ask about tokens have another queue: thousands of them may ask about all of
 * theirs.
 */
import { type CallError, callError } from '../base/call-error.ts'
import { FairQueue } from '../base/fair-queue.ts'
import type { Caller, CallerCredentials, Callers } from './callers.ts'

/**
 * How many calls begin in one turn. Each takes up to a quarter of a millisecond, mostly to find out who
 * calls.
 */
const CALLS_PER_TURN = 4

/** Most calls that wait in each lane. */
const WAITING_MAX = 2_000

/**
 * How many calls of followers are answered at the same time. Each asks the directory about few tokens at
 * once, so the question of another caller finds few before it.
 */
const FOLLOWERS_AT_ONCE = 8

/** Most calls of followers that wait: one for each of all streams. */
const FOLLOWERS_WAITING_MAX = 20_000

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
    full: tooMany,
  })
  readonly #followers = new FairQueue({
    weights: { followers: 1 },
    concurrent: FOLLOWERS_AT_ONCE,
    waiting: FOLLOWERS_WAITING_MAX,
    full: tooMany,
  })

  /** @param sessions `undefined`: no call has a session */
  constructor(callers: Callers, sessions?: KnownSessions) {
    this.#callers = callers
    this.#sessions = sessions
  }

  /** How many calls wait in each lane. */
  get waiting(): Readonly<Record<string, number>> {
    return { ...this.#queue.waiting, ...this.#followers.waiting }
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
   * Does the work of a follower's call when it is its turn: the connection that has waited longest since its
   * last one comes first.
   *
   * @throws CallError `DIRECTORY_EXHAUSTED` if too many calls of its connection wait, and any error of the
   *   work
   */
  follower<T>(caller: string, connection: string, work: () => Promise<T>): Promise<T> {
    return this.#followers.run({ lane: 'followers', shares: [caller, connection] }, work)
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

function tooMany(): CallError {
  return callError('DIRECTORY_EXHAUSTED', { what: 'calls' })
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
