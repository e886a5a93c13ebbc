/**
 * The connections of a listener, and the evicted one where there are as many as there may be. A connection
 * that waits for its client is evicted for a new one: of the source with the most connections first. So a
 * client cannot block a listener for others by holding connections, and a client that holds few loses none.
 *
 * Clients of one source cannot be distinguished: on this machine, behind a proxy. Half of the places of a
 * source are for its oldest connections on which a client was answered, so that a later flood does not take
 * them. In the other half the one that has waited longest is evicted. So a flood pushes out its own, and a
 * new client has the time in which half of the places are taken anew.
 */
import { ipAddress, networkOf } from '../ip-address.ts'

export interface HeldConnection {
  /** Its source (`connectionSource`). */
  readonly source: string
  /**
   * Whether the server works for the client. Otherwise the client is waited for, with an open request or
   * without one.
   */
  readonly isWorking: boolean
  /**
   * When it was accepted, its last request began or its last answer was sent, in milliseconds of a clock that
   * only goes forward.
   */
  readonly sinceMs: number
  /** Whether a client was answered on it. */
  readonly hasAnswered: boolean
  /** Closes the connection, because a new one needs its place. */
  giveWay(): void
}

export interface TableLimits {
  readonly connections: number
  /** Of one source on another machine, or of all processes of this machine over loopback. */
  readonly connectionsPerSource: number
}

/** A bound that another connection would exceed. */
export type TableBound = 'connections' | 'connections_per_address'

/** The number of evictable connections that one look at all of them finds. */
const FOUND_AT_ONCE = 64

/** After a look that found none, there is no other one for this time, in milliseconds. */
const LOOK_AGAIN_MS = 5

/** Clients on Unix sockets. They look alike, and only the bound of all connections holds for them. */
const UNIX_SOCKETS = ''

/**
 * The source of a client's address. All of loopback is one source, because a process there chooses its
 * address, and so is a /64 network of IPv6.
 *
 * @param text as Node has it; undefined: a Unix socket, or the client is gone
 */
export function connectionSource(text: string | undefined): string {
  if (text === undefined) return UNIX_SOCKETS
  // This host knows the zone.
  const address = ipAddress(text.replace(/%.*$/, ''))
  return address === undefined ? 'unknown' : (networkOf(address) ?? 'this machine')
}

/** A connection that was found, as it was then. */
interface Candidate<C> {
  readonly connection: C
  readonly sinceMs: number
  /** How many connections its source has. */
  readonly count: number
  /** The older a connection with a kept place, the more; 0: it has none. */
  readonly kept: number
}

/** The part of the places of a source that is for its oldest connections. */
const KEPT_PART = 1 / 2

export class ConnectionTable<C extends HeldConnection> {
  readonly #limits: TableLimits
  readonly #open = new Set<C>()
  readonly #perSource = new Map<string, number>()
  /**
   * Those that are evicted next, the first one last: of any source, and of one source that has reached its
   * bound.
   */
  #anyCandidates: Candidate<C>[] = []
  readonly #ownCandidates = new Map<string, Candidate<C>[]>()
  #fruitlessMs = Number.NEGATIVE_INFINITY

  constructor(limits: TableLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#open.size
  }

  [Symbol.iterator](): IterableIterator<C> {
    return this.#open.values()
  }

  /**
   * Makes room for a connection, if need be by closing another one.
   *
   * @param onGivenWay called when another one was closed
   * @returns the bound that it would exceed; undefined: there is room
   */
  makeRoom(source: string, onGivenWay: (bound: TableBound) => void): TableBound | undefined {
    const { connections, connectionsPerSource } = this.#limits
    if (source !== UNIX_SOCKETS && this.#countOf(source) >= connectionsPerSource) {
      if (!this.#displace(source, true)) return 'connections_per_address'
      onGivenWay('connections_per_address')
    }
    // There may be some beyond the bound.
    while (this.#open.size >= connections) {
      if (!this.#displace(source, false)) return 'connections'
      onGivenWay('connections')
    }
    return undefined
  }

  add(connection: C): void {
    this.#open.add(connection)
    this.#perSource.set(connection.source, this.#countOf(connection.source) + 1)
  }

  /** @returns whether it was there */
  delete(connection: C): boolean {
    if (!this.#open.delete(connection)) return false
    const left = this.#countOf(connection.source) - 1
    if (left > 0) this.#perSource.set(connection.source, left)
    else {
      this.#perSource.delete(connection.source)
      this.#ownCandidates.delete(connection.source)
    }
    return true
  }

  #countOf(source: string): number {
    return this.#perSource.get(source) ?? 0
  }

  /** @param own whether only connections of the same source may be evicted */
  #displace(source: string, own: boolean): boolean {
    const known = own ? this.#ownCandidates.get(source) : this.#anyCandidates
    const found = this.#next(known ?? [], source) ?? this.#next(this.#look(source, own), source)
    if (found === undefined) return false
    this.delete(found)
    found.giveWay()
    return true
  }

  /** The first of the candidates that is still as it was. */
  #next(candidates: Candidate<C>[], source: string): C | undefined {
    for (let found = candidates.pop(); found !== undefined; found = candidates.pop()) {
      const { connection, sinceMs } = found
      const unchanged = this.#open.has(connection) && connection.sinceMs === sinceMs
      if (unchanged && !connection.isWorking && this.#mayLose(connection, source)) return connection
    }
    return undefined
  }

  /** A source with fewer connections than that of the new one loses none for it. */
  #mayLose({ source }: C, newcomer: string): boolean {
    return source === newcomer || this.#countOf(source) > this.#countOf(newcomer)
  }

  #look(source: string, own: boolean): Candidate<C>[] {
    const nowMs = performance.now()
    if (nowMs - this.#fruitlessMs < LOOK_AGAIN_MS) return []
    const found = this.#waiting().filter(
      ({ connection }) => (!own || connection.source === source) && this.#mayLose(connection, source),
    )
    if (found.length === 0) this.#fruitlessMs = nowMs
    found.sort((a, b) => b.count - a.count || a.kept - b.kept || a.sinceMs - b.sinceMs)
    // A later connection is evicted before those with a kept place.
    const firstKept = found.findIndex(({ kept }) => kept > 0)
    const free = firstKept < 0 ? found.length : Math.max(1, firstKept)
    const first = found.slice(0, Math.min(free, FOUND_AT_ONCE)).reverse()
    if (own) this.#ownCandidates.set(source, first)
    else this.#anyCandidates = first
    return first
  }

  /** All connections that wait for their clients. */
  #waiting(): Candidate<C>[] {
    const found: Candidate<C>[] = []
    const keptOf = new Map<string, number>()
    // The oldest ones come first.
    for (const connection of this.#open) {
      const { source, sinceMs, hasAnswered, isWorking } = connection
      const count = this.#countOf(source)
      const keptBefore = keptOf.get(source) ?? 0
      const isKept = hasAnswered && keptBefore < Math.floor(count * KEPT_PART)
      if (isKept) keptOf.set(source, keptBefore + 1)
      // Where all others are at work the newest of the kept ones is evicted first.
      if (!isWorking) found.push({ connection, sinceMs, count, kept: isKept ? count - keptBefore : 0 })
    }
    return found
  }
}
