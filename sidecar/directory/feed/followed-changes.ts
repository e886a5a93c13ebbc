/** Follows the changes of the directory by their numbers: what each touched is noted once, in their order. */
import type { Queries } from '../database.ts'
import { number } from '../rows.ts'
import { RecentChanges } from './recent-changes.ts'
import { type FeedRecord, readTouched, type Touched } from './touches.ts'

/** Most records that are read at once. A process that has missed more of them forgets everything. */
const RECORDS_MAX = 10_000

/** What was recorded after a change, in order. */
const RECORDED_AFTER = `SELECT sequence, at_ms, touches FROM audit WHERE sequence > :after ORDER BY sequence LIMIT ${RECORDS_MAX}`

export class FollowedChanges {
  readonly recent = new RecentChanges()
  /** How often each thing was touched. */
  readonly touched = { token: 0, user: 0, account: 0, project: 0, everything: 0 }
  #position: number

  /** @param position number of the last change; nothing that was read before it is remembered */
  constructor(position: number) {
    this.#position = position
  }

  /** Number of the last change that is known with all before it. */
  get position(): number {
    return this.#position
  }

  /** The statement that reads what was recorded since. Its rows are for `take`. */
  get statement(): Parameters<Queries['all']> {
    return [RECORDED_AFTER, { after: this.#position }]
  }

  /**
   * Notes what was read. Returns whether there may be more to read.
   *
   * @param rows of `statement`
   */
  take(rows: readonly Record<string, unknown>[]): boolean {
    if (rows.length === RECORDS_MAX) this.touchAll()
    for (const row of rows) this.#note(number(row.sequence), row.touches)
    return rows.length === RECORDS_MAX
  }

  /**
   * Notes records that come with a message. What they touch counts at once.
   *
   * @param previous number of the change before them
   * @returns whether none is missing between what was known and them; otherwise they must be read, too
   */
  hear(previous: number, records: readonly FeedRecord[]): boolean {
    if (previous > this.#position) {
      this.touch(records)
      return false
    }
    for (const { sequence, touches } of records) if (sequence > this.#position) this.#note(sequence, touches)
    return true
  }

  /** Notes what records touch, without their numbers: others may be missing before them. */
  touch(records: readonly FeedRecord[]): void {
    for (const { touches } of records) this.#touch(readTouched(touches))
  }

  /** Anything may have changed. */
  touchAll(): void {
    this.recent.touchAll()
    this.touched.everything++
  }

  #note(sequence: number, touches: unknown): void {
    const touched = readTouched(touches)
    if (isDeletion(touched)) {
      // What was deleted was read before, or it is missing.
      if (touched.deletedThrough > this.#position) this.touchAll()
    } else this.#touch(touched)
    this.#position = Math.max(this.#position, sequence)
  }

  #touch(touched: Touched): void {
    if (touched === undefined) this.touchAll()
    else if (touched !== 'nothing' && !isDeletion(touched)) {
      this.recent.touch(touched.thing, touched.id)
      this.touched[touched.thing]++
    }
  }
}

function isDeletion(touched: Touched): touched is { readonly deletedThrough: number } {
  return typeof touched === 'object' && 'deletedThrough' in touched
}
