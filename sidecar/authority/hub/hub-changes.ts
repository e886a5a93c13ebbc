/**
 * The changes of a directory that another sidecar has, as that one sends them (`WatchChanges`). Its times
 * count from the moment when this process asked for the stream: a response that is late prolongs nothing.
 */
import { CallError, callError } from '../../base/call-error.ts'
import { elapsedMs } from '../../base/clock.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Changes, ChangesState, Followed } from '../../directory/feed/changes.ts'
import { KnownPosition } from '../../directory/feed/known-position.ts'
import { RecentChanges, type Remembered } from '../../directory/feed/recent-changes.ts'
import { RecentRecords } from '../../directory/feed/recent-records.ts'
import {
  type FeedRecord,
  type Position,
  readTouched,
  type TokenDependency,
  type Touched,
  type TrueOf,
} from '../../directory/feed/touches.ts'

/** A response of the hub. */
export interface HubResponse {
  readonly position: Position
  /** The facts that are void from now on. */
  readonly touched: readonly Touched[]
  /** For how long the hub knows that it misses nothing, in milliseconds; `undefined`: as it said before. */
  readonly validForMs: number | undefined
  /** When it was sent, on a clock of the hub, in milliseconds. */
  readonly sentAtMs: number
  /** Names what it knows of tokens besides the directory: keys, and the permissions of kinds. */
  readonly basis: string
}

/** The hub says what cannot be. */
export class WrongHub extends Error {
  override readonly name = 'WrongHub'
}

/** The hub does not have the changes that this sidecar received before, by this hub or another one. */
export class HubBehind extends Error {
  override readonly name = 'HubBehind'
}

/** A hub sends a response at least every second. One that is silent for longer is left. */
export const QUIET_MS_MAX = 2_000

/** Most positions that are known to have been received. An answer is a few changes old at most. */
const TOLD_MAX = 1_000

/**
 * That everything is void is put off for at most this part of the time for which memory counts anyway: the
 * rest is for the questions after it.
 */
const PUT_OFF_SHARE = 0.5

/** That everything is void, which counts from a time on. Later responses wait with it. */
interface PutOff {
  readonly untilMs: number
  /** As the last response says. */
  position: Position
  knownUntilMs: number
}

/** The stream that is read. */
interface Stream {
  /** When it was asked for, on the clock of this process. */
  readonly askedAtMs: number
  /** When its first response was sent, on the clock of the hub. */
  readonly firstSentAtMs: number
  sentAtMs: number
}

interface HubChangesOptions {
  /** The longest time for which memory counts without word from a hub, in milliseconds. */
  readonly stalenessMs: number
  /** The positions that this host has received, and will receive; default: none yet. */
  readonly known?: KnownPosition
  /** Asks the hub whether it has a position. */
  readonly ask?: (position: Position) => Promise<boolean>
  /**
   * A number from 0 to 1 for each time that everything is void, other ones on other hosts. They must not ask
   * about all of their tokens at the same moment. Default: 0, at once.
   */
  readonly spread?: () => number
  /** The clock of what is remembered (`elapsedMs`), in milliseconds. */
  readonly now?: () => number
}

export class HubChanges implements Changes {
  readonly #stalenessMs: number
  readonly #known: KnownPosition
  readonly #askHub: (position: Position) => Promise<boolean>
  readonly #spread: () => number
  readonly #now: () => number
  readonly #recent = new RecentChanges()
  readonly #listeners = new Set<() => void>()
  readonly #touched = { token: 0, user: 0, account: 0, project: 0, everything: 0 }
  /** The positions that were received since everything was void, the newest last. */
  readonly #told = new Map<number, number>()
  /** One list for as long as this runs: places in it are of those who follow this sidecar. */
  readonly #records = new RecentRecords({ sequence: 0, atMs: 0 })
  #followed: Followed | undefined
  #basis = ''
  #trusted: readonly string[] = []
  #stream: Stream | undefined
  #askedAtMs = 0
  #heardAtMs = Number.NEGATIVE_INFINITY
  /** The last failure of the hubs since a response of one. */
  #failure: CallError | undefined
  #knownUntilMs = Number.NEGATIVE_INFINITY
  #putOff: PutOff | undefined
  /** When everything was void last. */
  #voidAtMs = Number.NEGATIVE_INFINITY

  constructor({ stalenessMs, known, ask, spread = () => 0, now = elapsedMs }: HubChangesOptions) {
    this.#stalenessMs = stalenessMs
    this.#spread = spread
    this.#known = known ?? new KnownPosition()
    this.#askHub = ask ?? (() => Promise.reject(callError('DIRECTORY_UNAVAILABLE', {})))
    this.#now = now
  }

  moment(): number | undefined {
    if (this.#putOff !== undefined) this.#catchUpIfDue()
    return this.#now() < this.#knownUntilMs ? this.#recent.moment : undefined
  }

  isTrue(remembered: Remembered): boolean {
    return this.#recent.isTrue(remembered)
  }

  get followed(): Followed | undefined {
    return this.#followed
  }

  /**
   * Whether everything is void and is still answered from memory for a moment, within the bound. It is as if
   * the response were late, except that what later ones name is void at once.
   */
  get isPutOff(): boolean {
    return this.#putOff !== undefined
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
    this.#catchUpIfDue()
    const knownForMs = this.#knownUntilMs - this.#now()
    return knownForMs > 0 && this.#followed !== undefined ? knownForMs : undefined
  }

  outage(): CallError | undefined {
    if (this.#failure?.row.lacksChanges) return this.#failure
    if (this.knownForMs() !== undefined) return undefined
    // A hub that is silent may be gone.
    const isSilent = this.#now() - this.#heardAtMs > QUIET_MS_MAX
    return this.#failure ?? (isSilent ? callError('DIRECTORY_UNAVAILABLE', {}) : undefined)
  }

  /** All hubs have failed. That changes are lost says more than that others are gone. */
  failed(errors: readonly unknown[]): void {
    if (this.#failure?.row.lacksChanges) return
    const lost = errors.find(isOfLostChanges)
    this.#failure = lost ?? callError('DIRECTORY_UNAVAILABLE', {}, { cause: errors.at(-1) })
  }

  latest(): Position | undefined {
    return this.#followed?.position
  }

  /** The highest position that this host received, before it was started, too. A hub must have it. */
  get told(): Position {
    return this.#known.last
  }

  has(position: Position): MaybePromise<boolean> {
    if (position.sequence > (this.#followed?.position.sequence ?? 0)) this.#catchUp()
    const { followed } = this
    if (followed?.records.placeAfter(position) !== undefined) return true
    // The stream of the hub may still bring it, so there is no answer yet.
    if (position.sequence > (followed?.position.sequence ?? 0)) throw callError('DIRECTORY_UNAVAILABLE', {})
    return this.#askHub(position)
  }

  /** The hub's basis for tokens besides the directory, as it named that last. */
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
   * Notes what was touched by a change that was made through this host. The stream will say so, too, but a
   * client that hears of the change must find it here.
   */
  touch(records: readonly Pick<FeedRecord, 'touches'>[]): void {
    for (const { touches } of records) {
      const touched = readTouched(touches)
      if (typeof touched === 'object' && touched.thing !== 'matrix')
        this.#recent.touch(touched.thing, touched.id)
      else this.#recent.touchAll()
    }
  }

  /**
   * Whether the stream has reached the position of an answer. Only then the answer may be remembered: the
   * stream will say when it is void. The process that answers may be another one than that of the stream.
   */
  wasTold({ position, basis }: TrueOf): boolean {
    return (
      position !== undefined && this.#told.get(position.sequence) === position.atMs && basis === this.#basis
    )
  }

  /** A stream is asked for now. Known facts count for as long as before. */
  begin(): void {
    // The hub is asked for what came after the last response.
    this.#catchUp()
    this.#stream = undefined
    this.#askedAtMs = this.#now()
  }

  /**
   * @throws WrongHub if the response cannot follow the one before
   * @throws HubBehind if the hub does not have the changes that this host received
   */
  hear(response: HubResponse): void {
    const { position, touched, validForMs, sentAtMs, basis } = response
    this.#catchUpIfDue()
    const stream = this.#expectForward(response)
    this.#known.note(position)
    stream.sentAtMs = sentAtMs
    this.#heardAtMs = this.#now()
    this.#failure = undefined
    // It was sent at this time or later, if both clocks run alike; and not after it has arrived.
    const sentMs = Math.min(this.#now(), stream.askedAtMs + (sentAtMs - stream.firstSentAtMs))
    const before = this.#putOff?.knownUntilMs ?? this.#knownUntilMs
    const knownUntilMs = validForMs === undefined ? before : sentMs + Math.min(validForMs, this.#stalenessMs)
    // Withdrawn keys count at once.
    if (basis !== this.#basis) this.#catchUp()
    if (this.#isPutOff(response)) this.#wait(response, knownUntilMs)
    else {
      if (touched.includes(undefined)) this.#startAgain(position)
      else for (const each of touched) this.#touch(each, position)
      this.#advance(position, knownUntilMs)
      this.#basis = basis
    }
    for (const listener of this.#listeners) listener()
  }

  /** A second time within the bound little is left that the hub would be asked about. */
  #isPutOff({ touched, basis, position }: HubResponse): boolean {
    if (this.#putOff !== undefined) return true
    const nowMs = this.#now()
    const isFirst = nowMs - this.#voidAtMs >= this.#stalenessMs
    if (!touched.includes(undefined) || basis !== this.#basis || !isFirst) return false
    const forMs = PUT_OFF_SHARE * this.#spread() * (this.#knownUntilMs - nowMs)
    if (!(forMs > 0)) return false
    this.#putOff = { untilMs: nowMs + forMs, position, knownUntilMs: this.#knownUntilMs }
    return true
  }

  #wait({ position, touched }: HubResponse, knownUntilMs: number): void {
    Object.assign(this.#putOff as PutOff, { position, knownUntilMs })
    for (const each of touched) if (isNamed(each)) this.#note(each)
    this.#noteTold(position)
  }

  #catchUpIfDue(): void {
    if (this.#putOff !== undefined && this.#now() >= this.#putOff.untilMs) this.#catchUp()
  }

  #catchUp(): void {
    if (this.#putOff === undefined) return
    const { position, knownUntilMs } = this.#putOff
    this.#putOff = undefined
    this.#startAgain(position)
    this.#advance(position, knownUntilMs)
  }

  /** The hub's answers may be wrong. */
  distrust(): void {
    this.#putOff = undefined
    this.#knownUntilMs = Number.NEGATIVE_INFINITY
    this.#recent.touchAll()
    this.#touched.everything++
    this.#told.clear()
    this.#followed = undefined
    this.#stream = undefined
  }

  #expectForward({ position, sentAtMs, validForMs = 0, touched, basis }: HubResponse): Stream {
    if (!(validForMs >= 0) || !(sentAtMs >= 0)) throw new WrongHub('it sends an invalid time')
    const { sequence, atMs } = position
    const { told } = this
    const stream = this.#stream
    const known = this.#followed?.position
    const isEverything = touched.includes(undefined)
    const isBehind = sequence < told.sequence || (sequence === told.sequence && atMs !== told.atMs)
    if (stream === undefined) {
      // A hub that says that everything is void may still lack a change.
      if (isBehind)
        throw new HubBehind(
          `it is at change ${sequence}, and this sidecar has received change ${told.sequence}`,
        )
      if (known === undefined && !isEverything)
        throw new WrongHub('its first response does not say that everything is void')
      if (basis !== this.#basis && !isEverything)
        throw new WrongHub('it goes on from what rests on other keys')
      this.#stream = { askedAtMs: this.#askedAtMs, firstSentAtMs: sentAtMs, sentAtMs }
      return this.#stream
    }
    if (sentAtMs < stream.sentAtMs) throw new WrongHub('its clock goes backwards')
    if (isBehind) throw new WrongHub('its positions go backwards')
    return stream
  }

  #startAgain(position: Position): void {
    this.#recent.touchAll()
    this.#voidAtMs = this.#now()
    this.#touched.everything++
    this.#told.clear()
    // The followers of this sidecar must forget everything, too.
    this.#records.startAgain(position)
    this.#followed = { position, records: this.#records }
  }

  #touch(touched: Touched, position: Position): void {
    if (!isNamed(touched)) return
    this.#note(touched)
    // The hub does not say which account a change was about.
    this.#records.add({ ...position, account: '', touched })
  }

  #note({ thing, id }: Named): void {
    this.#recent.touch(thing, id)
    this.#touched[thing]++
  }

  #advance(position: Position, knownUntilMs: number): void {
    if (this.#records.placeAfter(position) === undefined)
      this.#records.add({ ...position, account: '', touched: 'nothing' })
    this.#followed = { position, records: this.#records }
    this.#knownUntilMs = knownUntilMs
    this.#noteTold(position)
  }

  #noteTold({ sequence, atMs }: Position): void {
    this.#told.delete(sequence)
    this.#told.set(sequence, atMs)
    if (this.#told.size > TOLD_MAX)
      for (const oldest of this.#told.keys()) {
        this.#told.delete(oldest)
        break
      }
  }
}

/** Something that tokens depend on. */
interface Named {
  readonly thing: TokenDependency
  readonly id: string
}

function isNamed(touched: Touched): touched is Named {
  // A hub says by its rules that another matrix is in force.
  return typeof touched === 'object' && touched.thing !== 'matrix'
}

/** Whether a hub says that it does not have what it was asked for. */
export function isOfLostChanges(error: unknown): error is CallError {
  return error instanceof CallError && error.row.lacksChanges === true
}
