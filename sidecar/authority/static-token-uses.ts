/**
 * On which day static tokens were last used, so that a person sees which of them are no longer used. Writes
 * take turns with the changes of all processes, so the days of many tokens are written together, at most once
 * a minute.
 */
import { dayOf } from '../base/day.ts'

export interface StaticTokenUsesOptions {
  /** Writes the days down, by the ids of the tokens. It never lowers a day. */
  readonly write: (days: ReadonlyMap<string, number>) => Promise<void>
  /** Called when the days cannot be written, with the reason, and when they can be again, with none. */
  readonly onUnwritten: (error: unknown) => void
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** The day of last use where none is known. */
export const NEVER_USED = -1

/** Most tokens whose day waits to be written. The use of another one is noted when there is room again. */
const WAITING_MAX = 10_000

const MINUTE_MS = 60_000

/** Longest time between two attempts where writing fails, in minutes. A host may have no right to write. */
const PAUSE_MINUTES_MAX = 60

export class StaticTokenUses {
  readonly #options: StaticTokenUsesOptions
  readonly #waiting = new Map<string, number>()
  #today = NEVER_USED
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #closed = false
  /** How many minutes pass without an attempt to write: twice as many after each failure. */
  #pauseMinutes = 0
  #pausedMinutes = 0

  constructor(options: StaticTokenUsesOptions) {
    this.#options = options
  }

  /**
   * Today (UTC), in days since the epoch, by a look at the clock at most a minute ago. Before the first use
   * there was none.
   */
  get today(): number {
    return this.#today
  }

  /**
   * Notes that a token is used now.
   *
   * @param lastUsedDay the last day that is known, in days since the epoch, or `NEVER_USED`
   * @returns the last day that is known or waits to be written
   */
  note(tokenId: string, lastUsedDay: number): number {
    if (this.#timer === undefined && !this.#closed) this.#look()
    if (lastUsedDay >= this.#today || !this.#hasRoomFor(tokenId)) return lastUsedDay
    this.#waiting.set(tokenId, this.#today)
    return this.#today
  }

  /**
   * Writes the waiting days, unless the last attempt failed: a closing part must not wait for a silent one.
   */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#writing
    if (this.#pauseMinutes === 0) await this.#write()
  }

  #hasRoomFor(tokenId: string): boolean {
    return !this.#closed && (this.#waiting.size < WAITING_MAX || this.#waiting.has(tokenId))
  }

  /** Looks at the clock, now and whenever a minute begins, and with it perhaps a day. */
  #look(): void {
    const nowMs = this.#options.now()
    this.#today = dayOf(nowMs)
    // A timer may fire some time too early.
    const leftMs = MINUTE_MS - (nowMs % MINUTE_MS) + 10
    this.#timer = setTimeout(() => {
      this.#look()
      if (this.#pausedMinutes++ < this.#pauseMinutes) return
      this.#pausedMinutes = 0
      this.#writing = this.#writing.then(() => this.#write())
    }, leftMs).unref()
  }

  async #write(): Promise<void> {
    if (this.#waiting.size === 0) return
    const days = new Map(this.#waiting)
    try {
      await this.#options.write(days)
    } catch (error) {
      if (this.#pauseMinutes === 0) this.#options.onUnwritten(error)
      this.#pauseMinutes = Math.min(2 * this.#pauseMinutes + 1, PAUSE_MINUTES_MAX)
      return
    }
    if (this.#pauseMinutes > 0) this.#options.onUnwritten(undefined)
    this.#pauseMinutes = 0
    for (const [tokenId, day] of days) if (this.#waiting.get(tokenId) === day) this.#waiting.delete(tokenId)
  }
}
