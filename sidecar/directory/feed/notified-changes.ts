/**
 * The changes of a database on the network. Its notifications name the touched subjects at once. Whether one
 * is missing is asked every second: memory counts as long as the last such answer is within the staleness
 * bound, and no query is needed for a token.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { CallError, callError } from '../../base/call-error.ts'
import { elapsedMs } from '../../base/clock.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Queries } from '../database.ts'
import type { Changes, ChangesState } from './changes.ts'
import { FollowedChanges, LAST_RECORD, LAST_RECORDS } from './followed-changes.ts'
import type { Remembered } from './recent-changes.ts'
import type { FeedRecord, Position } from './touches.ts'

export interface NotifiedChangesOptions {
  /** Asks the database. */
  readonly ask: (...statement: Parameters<Queries['all']>) => Promise<Record<string, unknown>[]>
  /** Whether the database has the record of a position, or a substitute for it. */
  readonly has: (position: Position) => Promise<boolean>
  /** The error of each question that needs the database, at once; `undefined`: such questions wait for it. */
  readonly refusal?: () => CallError | undefined
  /** The staleness bound, in milliseconds; 0: nothing is answered from memory. */
  readonly stalenessMs: number
  /**
   * The clock of what is remembered (`elapsedMs`), in milliseconds. With a wall clock, setting it back would
   * keep old values alive.
   */
  readonly now?: () => number
}

/** Longest time between two questions, in milliseconds. */
const ASK_MS_MAX = 1_000
/** The time that a change waits for earlier records, in milliseconds. */
const CATCH_UP_MS = 100
/** How many questions there are within the staleness bound, at least. */
const ASKED_WITHIN_BOUND = 4

export class NotifiedChanges implements Changes {
  readonly #options: NotifiedChangesOptions
  readonly #now: () => number
  readonly #pauseMs: number
  readonly #stop = new AbortController()
  readonly #listeners = new Set<() => void>()
  #followed: FollowedChanges | undefined
  /** Memory counts before this time. */
  #knownUntilMs = Number.NEGATIVE_INFINITY
  #asking: Promise<boolean> | undefined
  #askAgain = false
  /** Of the last question. That changes are lost counts until one is answered. */
  #failure: CallError | undefined
  /** Whether the answer that is awaited may lack what a change was acknowledged after. */
  #isLate = false

  constructor(options: NotifiedChangesOptions) {
    const { stalenessMs, now = elapsedMs } = options
    this.#options = options
    this.#now = now
    this.#pauseMs = stalenessMs === 0 ? ASK_MS_MAX : Math.min(ASK_MS_MAX, stalenessMs / ASKED_WITHIN_BOUND)
  }

  moment(): number | undefined {
    return this.#now() < this.#knownUntilMs ? this.#followed?.recent.moment : undefined
  }

  isTrue(remembered: Remembered): boolean {
    return this.#followed?.recent.isTrue(remembered) ?? false
  }

  /** Number of the last change that is known with all before it; 0: none yet. */
  get position(): number {
    return this.#followed?.position.sequence ?? 0
  }

  get state(): ChangesState {
    const ageMs = this.#now() - (this.#knownUntilMs - this.#options.stalenessMs)
    return {
      position: this.position,
      ageMs: Number.isFinite(ageMs) ? ageMs : undefined,
      touched: this.#followed?.touched ?? {},
    }
  }

  get followed(): FollowedChanges | undefined {
    return this.#followed
  }

  knownForMs(): number | undefined {
    const knownForMs = this.#knownUntilMs - this.#now()
    return knownForMs > 0 && this.#followed !== undefined ? knownForMs : undefined
  }

  outage(): CallError | undefined {
    const failure = this.#failure
    if (failure?.row.lacksChanges) return failure
    return (this.knownForMs() === undefined ? failure : undefined) ?? this.#options.refusal?.()
  }

  latest(): Position | undefined {
    return this.#followed?.position
  }

  has(position: Position): MaybePromise<boolean> {
    if (this.#followed?.records.placeAfter(position) !== undefined) return true
    return this.#has(position)
  }

  async #has(position: Position): Promise<boolean> {
    if (!(await this.#options.has(position))) return false
    if (position.sequence > this.position) await this.look()
    return true
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Asks until `close`. Resolves after the first answer or failure. */
  async start(): Promise<void> {
    await this.#ask()
    void this.#askOn()
  }

  close(): void {
    this.#stop.abort()
  }

  /**
   * Takes the records of this process or those beside it. It counts at once, and is heard of again.
   *
   * Resolves when earlier records of others count, too: a caller that hears of a change sees those before it.
   * If that is not answered soon, nothing is answered from memory until it is.
   */
  async touch(records: readonly FeedRecord[]): Promise<void> {
    if (this.#followed?.touch(records) !== false) return
    const soon = new AbortController()
    const late = delay(CATCH_UP_MS, false, { ref: false, signal: soon.signal }).catch(() => false)
    const isAnswered = await Promise.race([this.look(), late])
    soon.abort()
    if (isAnswered) return
    this.#knownUntilMs = Number.NEGATIVE_INFINITY
    this.#isLate = true
    void this.look()
  }

  /** A notification says what was recorded after a change. */
  hear(previous: Position, records: readonly FeedRecord[]): void {
    // Before the first answer nothing is remembered.
    if (this.#followed?.hear(previous, records) === false) void this.look()
  }

  /** The database says that there is more, but not what. @returns whether it was answered */
  look(): Promise<boolean> {
    // An answer on its way may be from before.
    this.#askAgain = true
    return this.#ask()
  }

  /** It may be another server now, which lacks what was read from the one before. */
  reconnected(): void {
    this.#followed?.touchAll()
    void this.look()
  }

  async #askOn(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await delay(this.#pauseMs, undefined, { signal, ref: false }).catch(() => {})
      if (!signal.aborted) await this.#ask()
    }
  }

  /** One question at a time. Returns whether it was answered. */
  #ask(): Promise<boolean> {
    this.#asking ??= this.#askAll()
    return this.#asking
  }

  async #askAll(): Promise<boolean> {
    try {
      for (;;) {
        this.#askAgain = false
        this.#isLate = false
        const askedAtMs = this.#now()
        const more = await this.#askOnce().catch((error: unknown) => this.#failed(error))
        if (this.#stop.signal.aborted || more === undefined) return false
        this.#failure = undefined
        if (!more && !this.#isLate) this.#knownUntilMs = askedAtMs + this.#options.stalenessMs
        if (!more && !this.#askAgain) return true
      }
    } finally {
      // At once: later callers must not get this answer.
      this.#asking = undefined
    }
  }

  #failed(error: unknown): undefined {
    if (this.#failure?.row.lacksChanges) return
    this.#failure =
      error instanceof CallError ? error : callError('DIRECTORY_UNAVAILABLE', {}, { cause: error })
  }

  /** Whether there may be more than was read. */
  async #askOnce(): Promise<boolean> {
    const { ask } = this.#options
    const followed = this.#followed
    if (followed === undefined) {
      this.#followed = new FollowedChanges(await ask(LAST_RECORDS), () => {
        for (const listener of this.#listeners) listener()
      })
      return false
    }
    const { position, statement } = followed
    const reading = followed.take(await ask(...statement), position)
    if (reading !== 'all') followed.startAgain(await ask(LAST_RECORD))
    // Records of the meantime are asked for from the new position.
    return reading !== 'all'
  }
}
