/**
 * Streams that never end by themselves: how many there may be, and how all of them learn of a change. They
 * are notified a few at a time, so that checks are answered meanwhile, and nothing is added for a client that
 * has not read the last response.
 */
import { type CallError, callError } from '../base/call-error.ts'
import { connectionSource } from '../base/net/connection-table.ts'
import type { Callers } from '../usecases/callers.ts'
import type { CallContext, Responses } from './call.ts'
import { callerCredentialsIn, nameOfConnection } from './handler.ts'

/** Most watches: of a connection, of a caller or a source without one, and of all clients. */
export interface WatchBounds {
  readonly ofConnection: number
  readonly ofSource: number
  readonly ofAll: number
}

/** Of watches that every client may have. */
const BOUNDS: WatchBounds = { ofConnection: 100, ofSource: 1_000, ofAll: 2_000 }

/** How long watches are notified of a change before other calls have their turn, in milliseconds. */
const SLICE_MS = 2

/** Most bytes that all watches together have not read. Beyond that the others wait for their turn. */
const UNREAD_BYTES_MAX = 33_554_432

/**
 * How long a client may leave a response unread while others wait for theirs, or a newer one waits, in
 * milliseconds.
 */
const READER_MS_MAX = 20_000

/** Time between two looks at what was read, in milliseconds. */
const LOOK_MS = 50

interface Watch {
  readonly source: string
  readonly connection: string
  readonly responses: Responses
  /** Sends the messages that the client has not received yet, before the watch ends with the sidecar. */
  readonly sendRest: (() => void) | undefined
  /** When the response was written that is not known to be read. */
  unreadSinceMs: number
}

/** The watches of all topics, which share the bounds. */
export class Watches {
  readonly #callers: Callers
  readonly #reachable: boolean
  readonly #bounds: WatchBounds
  readonly #all = new Set<Watch>()
  readonly #ofSource = new Counts()
  readonly #ofConnection = new Counts()
  #ended = false

  /** @param reachable whether other machines can reach the listener */
  constructor(callers: Callers, reachable: boolean, bounds = BOUNDS) {
    this.#bounds = bounds
    this.#callers = callers
    this.#reachable = reachable
  }

  /**
   * Begins to watch. Where there are too many, the connection with the most watches loses its newest, which
   * may be this one.
   *
   * @throws CallError `WATCHES_EXHAUSTED`, or `STOPPING`
   */
  open(context: CallContext, responses: Responses, sendRest?: () => void): Watch {
    if (this.#ended) throw callError('STOPPING', {})
    const caller = this.#callers.findOrNobody(callerCredentialsIn(context, this.#reachable))
    const source = caller ? `caller ${caller.name}` : connectionSource(context.connection.address)
    const connection = nameOfConnection(context)
    const { ofConnection, ofSource, ofAll } = this.#bounds
    if (this.#ofConnection.of(connection) >= ofConnection) throw exhausted('this connection')
    if (this.#ofSource.of(source) >= ofSource) this.#makeRoom(connection, 'this client', source)
    if (this.#all.size >= ofAll) this.#makeRoom(connection, 'all clients', this.#ofSource.largest())
    const watch = { source, connection, responses, sendRest, unreadSinceMs: performance.now() }
    this.#all.add(watch)
    this.#ofSource.add(source, 1)
    this.#ofConnection.add(connection, 1)
    responses.onEnd(() => this.#close(watch))
    return watch
  }

  /** Ends all watches without an error, and lets no other begin: the sidecar is about to end. */
  end(): void {
    this.#ended = true
    for (const { responses, sendRest } of [...this.#all]) {
      sendRest?.()
      responses.end()
    }
  }

  #close(watch: Watch): void {
    if (!this.#all.delete(watch)) return
    this.#ofSource.add(watch.source, -1)
    this.#ofConnection.add(watch.connection, -1)
  }

  /** @throws CallError if no connection of the source has more watches than this one */
  #makeRoom(connection: string, whose: string, source: string): void {
    let newest: Watch | undefined
    let most = this.#ofConnection.of(connection) + 1
    for (const watch of this.#all) {
      const count = this.#ofConnection.of(watch.connection)
      if (watch.source !== source || count < most || (newest === undefined && count === most)) continue
      newest = watch
      most = count
    }
    if (newest === undefined) throw exhausted(whose)
    this.#close(newest)
    newest.responses.fail(exhausted('this connection'))
  }
}

function exhausted(whose: string) {
  return callError('WATCHES_EXHAUSTED', { whose })
}

class Counts {
  readonly #counts = new Map<string, number>()

  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  add(name: string, change: number): void {
    const count = this.of(name) + change
    if (count > 0) this.#counts.set(name, count)
    else this.#counts.delete(name)
  }

  largest(): string {
    let [largest, most] = ['', 0]
    for (const [name, count] of this.#counts) if (count > most) [largest, most] = [name, count]
    return largest
  }
}

/** The watched value. */
export class Topic {
  readonly #watches: Watches
  readonly #current: () => Buffer
  readonly #open = new Set<Watch>()
  /** Those that have not been notified of the last change. */
  #untold = new Set<Watch>()
  /** Those that were notified, and may not have read it. */
  readonly #reading = new Set<Watch>()
  /** Whether the next slice has its turn already. */
  #hasTurn = false
  #timer: NodeJS.Timeout | undefined

  /** @param current the response that says how it is now */
  constructor(watches: Watches, current: () => Buffer) {
    this.#watches = watches
    this.#current = current
  }

  /** Tells the client how it is now, and at each change. @throws CallError as `Watches.open` */
  open(context: CallContext, responses: Responses): void {
    const watch = this.#watches.open(context, responses, () => {
      if (this.#untold.has(watch) && this.#reading.size < this.#room) this.#tell(watch)
    })
    this.#open.add(watch)
    responses.onEnd(() => {
      this.#open.delete(watch)
      this.#untold.delete(watch)
      this.#reading.delete(watch)
    })
    this.#tell(watch)
  }

  changed(): void {
    this.#untold = new Set(this.#open)
    if (!this.#hasTurn) this.#tellSome()
  }

  /** Ends all watches of it: it cannot be said how it is now. */
  fail(error: CallError): void {
    for (const { responses } of [...this.#open]) responses.fail(error)
  }

  /** How many may have a response that they have not read. */
  get #room(): number {
    return Math.ceil(UNREAD_BYTES_MAX / this.#current().length)
  }

  #tell(watch: Watch): void {
    watch.unreadSinceMs = performance.now()
    this.#reading.add(watch)
    watch.responses.write(this.#current())
  }

  #tellSome(): void {
    clearTimeout(this.#timer)
    const endsMs = performance.now() + SLICE_MS
    this.#forgetReaders()
    const room = this.#room
    for (const watch of this.#untold) {
      if (this.#reading.size >= room) break
      // It gets the newest one when it has read the last one.
      if (watch.responses.unread) continue
      this.#untold.delete(watch)
      this.#tell(watch)
      if (performance.now() > endsMs) {
        this.#hasTurn = true
        setImmediate(() => {
          this.#hasTurn = false
          this.#tellSome()
        })
        return
      }
    }
    if (this.#untold.size > 0) this.#timer = setTimeout(() => this.#tellSome(), LOOK_MS).unref()
  }

  /** Those that have read their response are done, and those that have not for too long make room. */
  #forgetReaders(): void {
    const nowMs = performance.now()
    for (const watch of this.#reading)
      if (!watch.responses.unread) this.#reading.delete(watch)
      else if (nowMs - watch.unreadSinceMs >= READER_MS_MAX)
        watch.responses.fail(exhausted('clients that do not read'))
  }
}
