/** The changes of a directory in a file, which every process of this host reads. */

import { CallError, callError } from '../../base/call-error.ts'
import type { Queries } from '../database.ts'
import type { ExchangeWatch } from '../exchange-watch.ts'
import { isThere, presenceQuery } from '../last-change.ts'
import type { Changes, ChangesState } from './changes.ts'
import { FollowedChanges, LAST_RECORD, LAST_RECORDS } from './followed-changes.ts'
import type { Remembered } from './recent-changes.ts'
import type { Position } from './touches.ts'

/**
 * How long the version that was read last is used, in milliseconds. Reading it takes locks, which under load
 * is a tenth of a check. Checks do not become stale: a change is acknowledged only after this time, when
 * every process must read the version again. So a check after the acknowledgement sees the change.
 */
export const VERSION_AGE_MS_MAX = 1

/** Time between two looks at the file while a process follows its changes, in milliseconds. */
const LOOK_MS = 5

/** The connection that reads the file. */
export interface FileReader {
  all(...statement: Parameters<Queries['all']>): Record<string, unknown>[]
  /** A number that changes with every commit of another connection. */
  readVersion(): number
  /** Number of the last change. */
  lastChange(): number
}

/**
 * The changes of all processes in the file. As long as the version is the same, nothing was. The writer is
 * another connection than the reader, so changes of this process count, too.
 */
export class FileChanges implements Changes {
  readonly #reader: FileReader
  readonly #watch: ExchangeWatch
  readonly #stalenessMs: number
  readonly followed: FollowedChanges
  /** With the time between two looks that each wants, in milliseconds. */
  readonly #listeners = new Map<() => void, number>()
  #looking: NodeJS.Timeout | undefined
  #telling: NodeJS.Immediate | undefined
  #version: number | undefined
  #readAtMs = Number.NEGATIVE_INFINITY

  /** @param stalenessMs how long those who follow may answer without further word, in milliseconds */
  constructor(reader: FileReader, watch: ExchangeWatch, stalenessMs: number) {
    this.#stalenessMs = stalenessMs
    this.#reader = reader
    this.#watch = watch
    const lastChange = reader.lastChange()
    watch.expectForward(lastChange)
    this.followed = new FollowedChanges(reader.all(LAST_RECORDS), () => this.#tellSoon())
  }

  moment(): number {
    // The time is taken before the reading, which may miss what is committed meanwhile.
    const nowMs = performance.now()
    if (nowMs - this.#readAtMs >= VERSION_AGE_MS_MAX) {
      this.#watch.expectSame()
      const version = this.#reader.readVersion()
      if (version !== this.#version) this.#follow()
      this.#version = version
      this.#readAtMs = nowMs
    }
    return this.followed.recent.moment
  }

  isTrue(remembered: Remembered): boolean {
    return this.followed.recent.isTrue(remembered)
  }

  get state(): ChangesState {
    const { position, touched } = this.followed
    // The file is looked at before anything is answered from memory.
    return { position: position.sequence, ageMs: 0, touched }
  }

  knownForMs(): number | undefined {
    // Otherwise the file was exchanged.
    return this.outage() === undefined ? this.#stalenessMs : undefined
  }

  outage(): CallError | undefined {
    try {
      this.moment()
      return undefined
    } catch (error) {
      return error instanceof CallError ? error : callError('DIRECTORY_UNAVAILABLE', {}, { cause: error })
    }
  }

  latest(): Position {
    this.knownForMs()
    return this.followed.position
  }

  has(position: Position): boolean {
    this.moment()
    return this.followed.records.placeAfter(position) !== undefined || this.#isThere(position)
  }

  #isThere(position: Position): boolean {
    const [row] = this.#reader.all(...presenceQuery(position))
    return isThere(row?.presence, position)
  }

  watch(listener: () => void, lookMs = LOOK_MS): () => void {
    this.#listeners.set(listener, lookMs)
    this.#lookOn()
    return () => {
      this.#listeners.delete(listener)
      this.#lookOn()
    }
  }

  #lookOn(): void {
    clearInterval(this.#looking)
    if (this.#listeners.size > 0)
      this.#looking = setInterval(() => this.knownForMs(), Math.min(...this.#listeners.values())).unref()
  }

  /** In a separate turn: a listener may ask for the moment, and no check waits for it. */
  #tellSoon(): void {
    this.#telling ??= setImmediate(() => {
      this.#telling = undefined
      for (const listener of this.#listeners.keys()) listener()
    })
  }

  #follow(): void {
    const { followed } = this
    const { position, statement } = followed
    const reading = followed.take(this.#reader.all(...statement), position)
    if (reading === 'all') return
    if (position.sequence > 0 && !this.#isThere(position)) this.#watch.refuse()
    this.#watch.expectForward(this.#reader.lastChange())
    followed.startAgain(this.#reader.all(LAST_RECORD))
  }
}
