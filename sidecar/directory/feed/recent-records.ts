/**
 * The last records of the feed, in their order, for those who follow it from outside this process. Each has
 * its own place in the list; a record older than the list is `everything`.
 */
import type { Position, Touched } from './touches.ts'

/** Most records that are kept. One who has missed more of them forgets everything. */
const RECORDS_MAX = 10_000

/** A record that was read. */
export interface RecentRecord extends Position {
  readonly touched: Touched
  /** Number of the account that the change was about; empty: of none. */
  readonly account: string
}

export class RecentRecords {
  #records: RecentRecord[] = []
  /** The record before the first one. */
  #before: Position
  /** The place before the first one. */
  #first = 0

  constructor(before: Position) {
    this.#before = before
  }

  /** The place that the next record will have. */
  get end(): number {
    return this.#first + this.#records.length
  }

  add(record: RecentRecord): void {
    this.#records.push(record)
    if (this.#records.length >= 2 * RECORDS_MAX) this.#drop(RECORDS_MAX)
  }

  /** Earlier records are no longer known, or they were of another history. */
  startAgain(before: Position): void {
    // No place of a follower is in the new list.
    this.#first = this.end + 1
    this.#records = []
    this.#before = before
  }

  /** The records from that place on; `undefined`: some of them are not kept. */
  from(place: number): readonly RecentRecord[] | undefined {
    return place < this.#first ? undefined : this.#records.slice(place - this.#first)
  }

  /** The place after the record of a position; `undefined`: it is not among those that are kept. */
  placeAfter({ sequence, atMs }: Position): number | undefined {
    const is = (position: Position) => position.sequence === sequence && position.atMs === atMs
    if (is(this.#before)) return this.#first
    const index = this.#records.findLastIndex((record) => record.sequence <= sequence)
    const record = this.#records[index]
    return record !== undefined && is(record) ? this.#first + index + 1 : undefined
  }

  #drop(count: number): void {
    const last = this.#records[count - 1]
    if (last !== undefined) this.#before = last
    this.#records = this.#records.slice(count)
    this.#first += count
  }
}
