/** Follows the changes of the directory by their numbers: each effect is noted once, in their order. */
import type { Queries } from '../database.ts'
import { number, text } from '../rows.ts'
import { RecentChanges } from './recent-changes.ts'
import { RecentRecords } from './recent-records.ts'
import { type FeedRecord, isOfChange, type Position, readTouched, type Touched } from './touches.ts'

/** Most records that are read. A process that has missed more of them forgets everything instead. */
const RECORDS_MAX = 10_000

/**
 * Records that a process knows from its start, for those who follow from outside: otherwise all of them would
 * forget everything whenever it restarts. One response names as many.
 */
const STARTING_RECORDS = 1_000

/** Reads the last records, newest first, and the one before them. */
export const LAST_RECORDS = `SELECT sequence, at_ms, account, touches FROM audit ORDER BY sequence DESC LIMIT ${STARTING_RECORDS + 1}`

/** Reads the last record, for `startAgain`. */
export const LAST_RECORD = 'SELECT sequence, at_ms FROM audit ORDER BY sequence DESC LIMIT 1'

/** Reads the record of the position, which must be there, and the records after it. */
const RECORDED_SINCE = `SELECT sequence, at_ms, account, touches FROM audit WHERE sequence >= :position ORDER BY sequence LIMIT ${RECORDS_MAX}`

const BEGINNING: Position = { sequence: 0, atMs: 0 }

/**
 * The result of reading: all records; too many were missed to read them all; or the records of another
 * history. After the last two, `startAgain` follows.
 */
export type Reading = 'all' | 'too many' | 'another history'

export class FollowedChanges {
  readonly recent = new RecentChanges()
  /** For those who follow from outside. A record without its number is not among them yet. */
  readonly records: RecentRecords
  /** How often each thing was touched. A record counts once, however often it is heard of. */
  readonly touched = { token: 0, user: 0, account: 0, project: 0, matrix: 0, everything: 0 }
  #position: Position
  readonly #onNews: () => void
  #hasNews = false

  /**
   * @param rows of `LAST_RECORDS`; nothing that was read before them is remembered
   * @param onNews called once for whatever is noted together, when the position stands
   */
  constructor(rows: readonly Record<string, unknown>[], onNews: () => void = () => {}) {
    this.#onNews = onNews
    this.#position = positionOf(rows)
    const [before, ...records] = rows.map(recordOf).reverse()
    this.records = new RecentRecords(before ?? BEGINNING)
    for (const { sequence, atMs, account, touches } of records)
      this.records.add({ sequence, atMs, account, touched: readTouched(touches) })
  }

  get position(): Position {
    return this.#position
  }

  /** The statement that reads what was recorded since. Its rows are for `take`. */
  get statement(): Parameters<Queries['all']> {
    return [RECORDED_SINCE, { position: this.#position.sequence }]
  }

  /**
   * Notes what was read.
   *
   * @param rows of `statement`
   * @param from the position at which the statement was made
   */
  take(rows: readonly Record<string, unknown>[], from: Position): Reading {
    // A server may lack changes of the one before, and give their numbers to others.
    if (from.sequence > 0 && !isAt(rows[0], from)) {
      this.touchAll()
      return 'another history'
    }
    if (rows.length === RECORDS_MAX) return 'too many'
    const records = (from.sequence > 0 ? rows.slice(1) : rows).map(recordOf)
    this.#note(records)
    this.#advance(records)
    this.#tell()
    return 'all'
  }

  /**
   * Notes records that come with a message. Their effects count at once.
   *
   * @param previous the record before them
   * @returns whether none is missing between what was known and them; otherwise they must be read, too
   */
  hear(previous: Position, records: readonly FeedRecord[]): boolean {
    const { sequence, atMs } = this.#position
    const isKnown = (records.at(-1)?.sequence ?? 0) <= sequence
    const isNext = previous.sequence === sequence && previous.atMs === atMs
    this.#note(records)
    if (isNext) this.#advance(records)
    this.#tell()
    return isKnown || isNext
  }

  /**
   * Notes what records touch. They are read once more: it is not known yet whether they are of this history,
   * and where COMMIT failed, others may get their numbers.
   *
   * @returns whether none is missing before them. The state before a fact that was so already is unknown.
   */
  touch(records: readonly FeedRecord[]): boolean {
    this.#note(records)
    this.#tell()
    const next = this.#position.sequence + 1
    return records.every(isOfChange) && (records[0]?.sequence ?? next) <= next
  }

  /** Anything may have changed. */
  touchAll(): void {
    this.#touchAll()
    this.#tell()
  }

  /** Another history is followed from here. @param rows of `LAST_RECORD` */
  startAgain(rows: readonly Record<string, unknown>[]): void {
    this.#position = positionOf(rows)
    this.touchAll()
  }

  #touchAll(): void {
    this.recent.touchAll()
    this.records.startAgain(this.#position)
    this.touched.everything++
    this.#hasNews = true
  }

  #advance(records: readonly FeedRecord[]): void {
    for (const { sequence, atMs, account, touches } of records) {
      if (sequence <= this.#position.sequence) continue
      this.#position = { sequence, atMs }
      const touched = readTouched(touches)
      if (typeof touched === 'object') this.touched[touched.thing]++
      this.records.add({ sequence, atMs, account, touched })
      this.#hasNews = true
    }
  }

  #note(records: readonly FeedRecord[]): void {
    let isEverything = false
    for (const { touches } of records) {
      const touched: Touched = readTouched(touches)
      if (touched === undefined) isEverything = true
      else if (touched !== 'nothing' && touched.thing !== 'matrix')
        this.recent.touch(touched.thing, touched.id)
    }
    if (isEverything) this.#touchAll()
  }

  #tell(): void {
    if (!this.#hasNews) return
    this.#hasNews = false
    this.#onNews()
  }
}

function recordOf(row: Record<string, unknown>): FeedRecord {
  const [sequence, atMs] = [number(row.sequence), number(row.at_ms)]
  return { sequence, atMs, account: text(row.account), touches: row.touches as string | null }
}

function positionOf([row]: readonly Record<string, unknown>[]): Position {
  return row === undefined ? BEGINNING : { sequence: number(row.sequence), atMs: number(row.at_ms) }
}

function isAt(row: Record<string, unknown> | undefined, { sequence, atMs }: Position): boolean {
  return row !== undefined && number(row.sequence) === sequence && number(row.at_ms) === atMs
}
