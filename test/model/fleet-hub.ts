/** A hub of a simulated fleet. Its streams are the real ones; what it reads is not. */
import type { Followers } from '../../sidecar/contract/followers.ts'
import { RecentRecords } from '../../sidecar/directory/feed/recent-records.ts'
import type { Position } from '../../sidecar/directory/feed/touches.ts'
import { basisOf } from '../../sidecar/usecases/answer-basis.ts'
import { followersOf } from '../support/contract/followers.ts'
import type { FleetDirectory } from './fleet-directory.ts'
import type { State } from './fleet-tokens.ts'

/** The staleness bound of the hubs, in milliseconds. That of the follower is longer, and must not matter. */
export const BOUND_MS = 1_000

export class FleetHub {
  readonly followers: Followers
  readonly open: ReturnType<typeof followersOf>['open']
  readonly tell: () => void
  readonly #directory: FleetDirectory
  readonly #now: () => number
  readonly #followed: { position: Position; records: RecentRecords }
  /** The state of the directory that it has read last, and when. */
  state: State
  #readAtMs: number
  /** The history of the last reading. */
  #history: number
  cutOffUntilMs = 0

  constructor(directory: FleetDirectory, now: () => number) {
    const { position, state, history } = directory
    this.#directory = directory
    this.#now = now
    this.#followed = { position, records: new RecentRecords(position) }
    this.state = state
    this.#readAtMs = now()
    this.#history = history
    const { followers, open, tell } = followersOf({
      changes: {
        followed: this.#followed,
        knownForMs: () => this.knownForMs(),
        has: (told) => this.#has(told),
      },
      basis: () => this.#basis(),
      now: () => this.#now() + 5_000,
    })
    this.followers = followers
    this.open = open
    this.tell = tell
  }

  get of() {
    return { position: this.#followed.position, basis: this.#basis().name }
  }

  knownForMs(): number | undefined {
    const knownForMs = this.#readAtMs + BOUND_MS - this.#now()
    return knownForMs > 0 ? knownForMs : undefined
  }

  get isCutOff(): boolean {
    return this.#now() < this.cutOffUntilMs
  }

  /** Whether it does not use the directory, because that lacks what it has read. */
  get isRefused(): boolean {
    return this.#history !== this.#directory.history && !this.#directory.has(this.#followed.position)
  }

  /** Whether it answers a follower that knows this position. */
  answers(told: Position): boolean {
    try {
      return told.sequence === 0 || this.#has(told)
    } catch {
      return false
    }
  }

  read(): void {
    const { records, history, position, state } = this.#directory
    const followed = this.#followed
    if (this.#history === history)
      for (const record of records)
        if (record.sequence > followed.position.sequence) followed.records.add({ ...record, account: '' })
    if (this.#history !== history) followed.records.startAgain(position)
    this.#history = history
    followed.position = position
    this.state = state
    this.#readAtMs = this.#now()
  }

  /** Where it is cut off, it knows only what it has read. */
  #has(told: Position): boolean {
    if (this.#followed.records.placeAfter(told) !== undefined) return true
    if (this.isCutOff || this.isRefused) throw new Error('cut off')
    return this.#directory.has(told)
  }

  /** Withdrawn keys are read from a file, not from the feed. */
  #basis() {
    return basisOf([...this.state.keys], '')
  }
}
