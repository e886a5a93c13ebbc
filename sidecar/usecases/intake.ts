/**
 * Lets in a few administrative calls, logins and revocations in each turn of the event loop, so that checks are answered between
 * them however many arrive at once. Callers who are known come first, and connections take turns.
 */
import { callError } from '../base/call-error.ts'
import { FairQueue } from '../base/fair-queue.ts'
import type { CallerCredentials, Callers } from './callers.ts'

/** How many calls begin in one turn. Each takes up to a quarter of a millisecond, mostly to find out who calls. */
const CALLS_PER_TURN = 4

/** Most calls that wait in each lane. */
const WAITING_MAX = 2_000

export class Intake {
  readonly #callers: Callers
  readonly #queue = new FairQueue({
    weights: { callers: 4, others: 1 },
    concurrent: CALLS_PER_TURN,
    waiting: WAITING_MAX,
    full: () => callError('DIRECTORY_EXHAUSTED', { what: 'calls' }),
  })

  constructor(callers: Callers) {
    this.#callers = callers
  }

  /** How many calls wait in each lane. */
  get waiting(): Readonly<Record<string, number>> {
    return this.#queue.waiting
  }

  /**
   * Resolves when it is the turn of the call.
   *
   * @param connection a name that no other connection has
   * @param presented what the call presents; to read that of a certificate costs more than a check; absent: nothing
   * @throws CallError `DIRECTORY_EXHAUSTED` if too many calls of its connection wait
   */
  turn(connection: string, presented?: CallerCredentials): Promise<void> {
    const caller = presented && this.#callers.findOrNobody(presented)
    const place = {
      lane: caller === undefined ? 'others' : 'callers',
      shares: [caller?.name ?? '', connection],
    } as const
    return this.#queue.run(place, nextTurn)
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
