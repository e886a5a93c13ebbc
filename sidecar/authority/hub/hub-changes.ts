/**
 * The changes of a directory that another sidecar has, as that one tells them (`WatchChanges`). What it says
 * of time counts from when this process asked for the stream: a response that is late prolongs nothing.
 */
import type { Changes, ChangesState, Followed } from '../../directory/feed/changes.ts'
import { RecentChanges, type Remembered } from '../../directory/feed/recent-changes.ts'
import { RecentRecords } from '../../directory/feed/recent-records.ts'
import type { Position, Touched, TrueOf } from '../../directory/feed/touches.ts'

/** A response of the hub. */
export interface HubResponse {
  readonly position: Position
  /** What is void from now on. */
  readonly touched: readonly Touched[]
  /** For how long the hub knows that it misses nothing, in milliseconds. */
  readonly validForMs: number
  /** When it was sent, on a clock of the hub, in milliseconds. */
  readonly sentAtMs: number
  /** Names what it knows of tokens besides the directory: keys, and what kinds ask for. */
  readonly basis: string
}

/** The hub says what cannot be. */
export class WrongHub extends Error {
  override readonly name = 'WrongHub'
}

/** Most positions that are known to have been told. An answer is a few changes old at most. */
const TOLD_MAX = 1_000

/** The stream that is read. */
interface Stream {
  /** When it was asked for, on the clock of this process. */
  readonly askedAtMs: number
  /** When its first response was sent, on the clock of the hub. */
  readonly firstSentAtMs: number
  sentAtMs: number
}

interface HubChangesOptions {
  /** What is remembered counts for so long without word from a hub, at most, in milliseconds. */
  readonly stalenessMs: number
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number
}

export class HubChanges implements Changes {
  readonly #stalenessMs: number
  readonly #now: () => number
  readonly #recent = new RecentChanges()
  readonly #listeners = new Set<() => void>()
  readonly #touched = { token: 0, user: 0, account: 0, project: 0, everything: 0 }
  /** The positions that were told since everything was void, the newest last. */
  readonly #told = new Map<number, number>()
  /** One list for as long as this runs: places in it are of those who follow this sidecar. */
  readonly #records = new RecentRecords({ sequence: 0, atMs: 0 })
  #followed: Followed | undefined
  #basis = ''
  #trusted: readonly string[] = []
  #stream: Stream | undefined
  #askedAtMs = 0
  #knownUntilMs = Number.NEGATIVE_INFINITY

  constructor({ stalenessMs, now = () => performance.now() }: HubChangesOptions) {
    this.#stalenessMs = stalenessMs
    this.#now = now
  }

  moment(): number | undefined {
    return this.#now() < this.#knownUntilMs ? this.#recent.moment : undefined
  }

  isTrue(remembered: Remembered): boolean {
    return this.#recent.isTrue(remembered)
  }

  get followed(): Followed | undefined {
    return this.#followed
  }

  get state(): ChangesState {
    const ageMs = this.#now() - (this.#knownUntilMs - this.#stalenessMs)
    return {
      position: this.#followed?.position.sequence ?? 0,
      ageMs: Number.isFinite(ageMs) ? Math.max(0, ageMs) : undefined,
      touched: this.#touched,
    }
  }

  knownForMs(): number | undefined {
    const knownForMs = this.#knownUntilMs - this.#now()
    return knownForMs > 0 && this.#followed !== undefined ? knownForMs : undefined
  }

  latest(): Position | undefined {
    return this.#followed?.position
  }

  /** What the hub knows of tokens besides the directory, as it named that last. */
  get basis(): string {
    return this.#basis
  }

  /** The same in place of keys, for those who follow this sidecar; the same array until it changes. */
  get trusted(): readonly string[] {
    if (this.#trusted[0] !== this.#basis) this.#trusted = [this.#basis]
    return this.#trusted
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Whether the stream has told what an answer is true of. Only then the answer may be remembered: the stream
   * will say when it is void. The process that answers may be another one than that of the stream.
   */
  wasTold({ position, basis }: TrueOf): boolean {
    return (
      position !== undefined && this.#told.get(position.sequence) === position.atMs && basis === this.#basis
    )
  }

  /** A stream is asked for now. What was known still counts for as long as it did. */
  begin(): void {
    this.#stream = undefined
    this.#askedAtMs = this.#now()
  }

  /** @throws WrongHub if the response cannot follow the one before */
  hear(response: HubResponse): void {
    const { position, touched, validForMs, sentAtMs, basis } = response
    const stream = this.#expectForward(response)
    if (touched.includes(undefined)) this.#startAgain(position)
    else for (const each of touched) this.#touch(each, position)
    this.#advance(position)
    this.#basis = basis
    stream.sentAtMs = sentAtMs
    // It was sent at this time or later, if both clocks run alike; and not after it has arrived.
    const sentMs = Math.min(this.#now(), stream.askedAtMs + (sentAtMs - stream.firstSentAtMs))
    this.#knownUntilMs = sentMs + Math.min(validForMs, this.#stalenessMs)
    for (const listener of this.#listeners) listener()
  }

  /** What the hub said may be wrong. */
  distrust(): void {
    this.#knownUntilMs = Number.NEGATIVE_INFINITY
    this.#recent.touchAll()
    this.#touched.everything++
    this.#told.clear()
    this.#followed = undefined
    this.#stream = undefined
  }

  #expectForward({ position, sentAtMs, validForMs, touched, basis }: HubResponse): Stream {
    if (!(validForMs >= 0) || !(sentAtMs >= 0)) throw new WrongHub('it says a time that is none')
    const { sequence, atMs } = position
    const stream = this.#stream
    const known = this.#followed?.position
    const isEverything = touched.includes(undefined)
    if (stream === undefined) {
      if (known === undefined && !isEverything)
        throw new WrongHub('its first response does not say that everything is void')
      if (basis !== this.#basis && !isEverything)
        throw new WrongHub('it goes on from what rests on other keys')
      this.#stream = { askedAtMs: this.#askedAtMs, firstSentAtMs: sentAtMs, sentAtMs }
      return this.#stream
    }
    if (sentAtMs < stream.sentAtMs) throw new WrongHub('its clock goes backwards')
    if (isEverything || known === undefined) return stream
    if (sequence < known.sequence || (sequence === known.sequence && atMs !== known.atMs))
      throw new WrongHub('its positions go backwards')
    return stream
  }

  #startAgain(position: Position): void {
    this.#recent.touchAll()
    this.#touched.everything++
    this.#told.clear()
    // Who follows this sidecar must forget everything, too.
    this.#records.startAgain(position)
    this.#followed = { position, records: this.#records }
  }

  #touch(touched: Touched, position: Position): void {
    // A hub says by its rules that another matrix is in force.
    if (touched === undefined || touched === 'nothing' || touched.thing === 'matrix') return
    this.#recent.touch(touched.thing, touched.id)
    this.#touched[touched.thing]++
    // The hub does not say which account a change was about.
    this.#records.add({ ...position, account: '', touched })
  }

  #advance(position: Position): void {
    const { sequence, atMs } = position
    if (this.#records.placeAfter(position) === undefined)
      this.#records.add({ ...position, account: '', touched: 'nothing' })
    this.#followed = { position, records: this.#records }
    this.#told.delete(sequence)
    this.#told.set(sequence, atMs)
    if (this.#told.size > TOLD_MAX)
      for (const oldest of this.#told.keys()) {
        this.#told.delete(oldest)
        break
      }
  }
}
