/**
 * Turns for work that is costly and cannot be interrupted: signatures, and parts of batches. Only a part of
 * it is done in one turn of the event loop, and connections take turns. So it does not delay clients that ask
 * for something cheap, and a client that asks for much waits behind their own work.
 */
import { callError } from './call-error.ts'
import type { MaybePromise } from './maybe-promise.ts'

/** A request with more bytes than this is so costly to read that it waits for its turn. */
export const SHORT_BYTES = 8_192

/**
 * How long work may take in one turn of the event loop, in milliseconds. Work that began before the end is
 * finished.
 */
const TURN_MS = 0.5

/**
 * After this time of it the next connection has its turn, in milliseconds. Answers of one turn go out
 * together, which is cheaper.
 */
const CONNECTION_MS = 0.25

/**
 * Most work that waits. Connections share it equally. Each of them may wait for something, whatever the
 * others do.
 */
const WAITING_MAX = 4_000

/**
 * Most work that has begun and goes on in a later turn: each holds what it has read and found so far, which
 * is many times the bytes that it came with. Connections share it equally, and each may begin one.
 */
const BEGUN_MAX = 16

/** How long a connection is suspected after a forged token, in milliseconds. */
const SUSPECTED_MS = 10_000

/**
 * While both wait, this number of turns is for connections that are not suspected, and then one is for those
 * that are.
 */
const UNSUSPECTED_TURNS = 4

/** The state of a connection. */
interface Requester {
  /** Its work, which passes on its result. */
  readonly waiting: (() => void)[]
  /** Its work that has begun and goes on. */
  readonly begun: (() => void)[]
  /** Whether the last turn was for work that had begun. */
  wentOn: boolean
  suspectedUntilMs: number
}

/** The owner of a turn whose connection is unknown. */
const NOBODY = {}

export class Turns {
  readonly #requesters = new WeakMap<object, Requester>()
  /** Connections for which work waits, in the order of their turns. */
  readonly #unsuspected = new Set<Requester>()
  readonly #suspected = new Set<Requester>()
  #waiting = 0
  /** Turns of the unsuspected since the last one of the suspected. */
  #passed = 0
  /** Whether work is being done. Work that it asks for is part of it. */
  #working = false
  /** When the work of this turn of the event loop ends; `undefined`: none has begun. */
  #endsMs: number | undefined

  /**
   * Does the work: at once if nothing waits and this turn of the event loop has time, else when it is the
   * connection's turn.
   *
   * @param connection any object that is the same for all that a connection asks for
   * @param goesOn whether the work has begun in an earlier turn: then it is not refused, and while much has
   *   begun, it comes before what has not
   * @throws CallError `VERIFICATIONS_EXHAUSTED` if more of its work waits than its share
   */
  run<T>(connection: object | undefined, work: () => T, goesOn = false): MaybePromise<T> {
    if (this.#working) return work()
    if (this.#waiting === 0 && this.#hasTime()) return this.#work(work)
    const requester = this.#requester(connection)
    if (!goesOn && countOf(requester) * this.#connections >= WAITING_MAX)
      throw callError('VERIFICATIONS_EXHAUSTED', {})
    return this.#wait(requester, goesOn ? requester.begun : requester.waiting, work)
  }

  /** A connection has sent a forged token. For a while, those that have not come first. */
  suspect(connection: object | undefined): void {
    this.#requester(connection).suspectedUntilMs = performance.now() + SUSPECTED_MS
  }

  /** How much work waits, of connections that are suspected and of others. */
  get waiting(): Readonly<Record<'unsuspected' | 'suspected', number>> {
    return { unsuspected: waitingIn(this.#unsuspected), suspected: waitingIn(this.#suspected) }
  }

  /** How many have work that waits. */
  get #connections(): number {
    return this.#unsuspected.size + this.#suspected.size
  }

  #wait<T>(requester: Requester, queue: (() => void)[], work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      queue.push(() => {
        try {
          resolve(this.#work(work))
        } catch (error) {
          reject(error)
        }
      })
      this.#waiting++
      if (countOf(requester) === 1) this.#lineUp(requester)
    })
  }

  #lineUp(requester: Requester): void {
    const suspected = requester.suspectedUntilMs > performance.now()
    const line = suspected ? this.#suspected : this.#unsuspected
    line.add(requester)
  }

  /** The turn of one connection. */
  #runNext(): void {
    const endsMs = performance.now() + CONNECTION_MS
    const line = this.#nextLine()
    for (const requester of line) {
      line.delete(requester)
      do {
        this.#waiting--
        this.#nextOf(requester)?.()
      } while (countOf(requester) > 0 && performance.now() < endsMs)
      // It goes behind the others, and with a forged token into the line of the suspected.
      if (countOf(requester) > 0) this.#lineUp(requester)
      return
    }
  }

  /** Begun and new work take turns, until too much has begun. */
  #nextOf(requester: Requester): (() => void) | undefined {
    const { waiting, begun, wentOn } = requester
    // While it has its turn it is not in line.
    const isMuch = begun.length * (this.#connections + 1) >= BEGUN_MAX
    const goesOn = begun.length > 0 && (waiting.length === 0 || !wentOn || isMuch)
    requester.wentOn = goesOn
    return (goesOn ? begun : waiting).shift()
  }

  #nextLine(): Set<Requester> {
    const passed = this.#passed < UNSUSPECTED_TURNS || this.#suspected.size === 0
    if (passed && this.#unsuspected.size > 0) {
      this.#passed++
      return this.#unsuspected
    }
    this.#passed = 0
    return this.#suspected
  }

  #work<T>(work: () => T): T {
    this.#working = true
    try {
      return work()
    } finally {
      this.#working = false
    }
  }

  #hasTime(): boolean {
    if (this.#endsMs === undefined) this.#begin()
    return performance.now() < (this.#endsMs as number)
  }

  #begin(): void {
    this.#endsMs = performance.now() + TURN_MS
    setImmediate(() => {
      this.#endsMs = undefined
      if (this.#waiting > 0) this.#runTurn()
    })
  }

  #runTurn(): void {
    while (this.#waiting > 0 && this.#hasTime()) this.#runNext()
  }

  #requester(connection: object = NOBODY): Requester {
    let requester = this.#requesters.get(connection)
    if (requester === undefined) {
      requester = { waiting: [], begun: [], wentOn: false, suspectedUntilMs: 0 }
      this.#requesters.set(connection, requester)
    }
    return requester
  }
}

function waitingIn(line: ReadonlySet<Requester>): number {
  let count = 0
  for (const requester of line) count += countOf(requester)
  return count
}

function countOf({ waiting, begun }: Requester): number {
  return waiting.length + begun.length
}
