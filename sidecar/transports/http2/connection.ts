/** A connection: its socket, its turns and its age. The session knows the protocol. */
import type { Duplex } from 'node:stream'
import type { Budget } from '../../base/net/buffer-budget.ts'
import { connectionSource, type HeldConnection } from '../../base/net/connection-table.ts'
import { muchSinceMs } from '../../base/net/held-bytes.ts'
import type { Application, Peer } from './application.ts'
import type { Parts } from './connection-parts.ts'
import type { FrameWriter } from './frame-writer.ts'
import { Frames } from './frames.ts'
import { HeaderBlocks } from './header-blocks.ts'
import type { Host } from './host.ts'
import type { Limits } from './limits.ts'
import { type Bound, ConnectionError, ERROR, FLAG, FRAME } from './protocol.ts'
import { Rates } from './rates.ts'
import { readInto } from './read-buffer.ts'
import { ReceiveWindow } from './receive-window.ts'
import { type Sharer, Standing } from './relief.ts'
import type { Schedule, Worker } from './schedule.ts'
import { Sender } from './sender.ts'
import { Session } from './session.ts'
import type { Stream } from './stream.ts'
import { StreamIds } from './stream-ids.ts'
import { StreamTable } from './stream-table.ts'
import { heldBytesMax, StreamWindows } from './stream-windows.ts'
import { Turn } from './turn.ts'

/** The part of the server that a connection needs. */
export interface ConnectionOwner<Head> {
  readonly app: Application<Head>
  readonly limits: Limits
  readonly budget: Budget
  readonly writer: FrameWriter
  readonly nowMs: number
  exceeded(bound: Bound): void
  readonly schedule: Schedule
  closed(connection: Connection<Head>): void
}

/** Payloads of pings: whether the peer lives, and whether it has read that the connection ends. */
const SIGN_OF_LIFE = Buffer.from('alive?!?')
const END_READ = Buffer.from('the end!')

/** How long a connection that has ended waits for the peer to read that and close it, in milliseconds. */
const LINGER_MS = 1_000

/**
 * A client that says nothing may wait for the settings, although it should not (RFC 9113, §3.4). The time
 * after which it gets them, in milliseconds.
 */
const SETTINGS_MS = 50

/** How much the age of connections differs, so that those that began together do not end together. */
const AGE_SPREAD = 0.2

export class Connection<Head> implements Host, HeldConnection, Sharer, Worker {
  readonly #owner: ConnectionOwner<Head>
  readonly #socket: Duplex
  readonly #parts: Parts<Head>
  readonly #session: Session<Head>
  readonly #frames: Frames<Head>
  readonly peer: Peer
  readonly source: string
  readonly #endsAtMs: number
  /** When something arrived last, when a stream was in use last, and when the peer read something last. */
  #heardMs: number
  #usedMs: number
  #readMs: number
  #readBytes = 0
  #lastStream = 0
  /** When something was asked or answered last, as far as is known, and how much had been by then. */
  #activeMs: number
  #activity = 0
  holdsMuchSinceMs = Number.POSITIVE_INFINITY
  favours = 0
  readonly #standing = new Standing()
  /** The bytes that the frames and the socket hold, as the budget knows them. */
  #bufferedBytes = 0
  #askedMs = 0
  #announcedMs = 0
  #endedMs = 0
  /** Whether it has waited, so that it may work on the next bytes at once. */
  #isNext = false

  constructor(owner: ConnectionOwner<Head>, accepted: Duplex, peer: Peer) {
    const { nowMs, limits } = owner
    this.#owner = owner
    this.#socket = readInto(accepted, (bytes) => this.#read(bytes))
    this.peer = peer
    this.source = connectionSource(peer.address)
    this.#heardMs = this.#usedMs = this.#readMs = this.#activeMs = nowMs
    this.#endsAtMs = nowMs + limits.ageMs * (1 + AGE_SPREAD * (Math.random() - 0.5))
    this.#parts = this.#newParts()
    this.#session = new Session(owner.app, this, this.#parts)
    this.#frames = new Frames(this.#session, this.#parts, (payload) => this.#pong(payload))
    const settings = setTimeout(() => this.#turn(() => this.#session.begin()), SETTINGS_MS).unref()
    const socket = this.#socket
    // A client that closes its half of the connection still reads.
    socket.allowHalfOpen = true
    socket.on('drain', () => this.#drained())
    // The peer sends nothing more. Answers that it waits for are still sent.
    socket.on('end', () => this.#ended())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(settings)
      this.#session.abandon()
      this.#frames.discard()
      this.#countBuffered(0)
      this.#parts.window.close()
      owner.closed(this)
    })
    socket.resume()
  }

  #newParts(): Parts<Head> {
    const { app, limits, budget, writer, schedule } = this.#owner
    const rates = new Rates(limits)
    return {
      ...{ rates, streams: new StreamTable<Stream<Head>>(), ids: new StreamIds(limits.streams) },
      blocks: new HeaderBlocks(limits.headerListBytes, (list) => app.readHead(list, this.peer)),
      window: new ReceiveWindow(heldBytesMax(limits), budget),
      windows: new StreamWindows(limits, ({ id }, bytes) =>
        this.#session.control(FRAME.windowUpdate, id, bytes),
      ),
      sender: new Sender(writer, this.#socket, budget, {
        onSent: (stream) => this.#session.sent(stream),
        onBytes: (bytes, parts) => rates.sent(bytes, parts),
      }),
      turn: new Turn(schedule),
    }
  }

  get limits(): Limits {
    return this.#owner.limits
  }

  get budget(): Budget {
    return this.#owner.budget
  }

  get writer(): FrameWriter {
    return this.#owner.writer
  }

  get turn(): Turn {
    return this.#parts.turn
  }

  get nowMs(): number {
    return this.#owner.nowMs
  }

  get isWorking(): boolean {
    return this.#parts.streams.list().some(({ busy }) => busy)
  }

  get sinceMs(): number {
    const { ids, rates } = this.#parts
    if (ids.last + rates.sentCount > this.#activity) {
      this.#activity = ids.last + rates.sentCount
      this.#activeMs = this.nowMs
    }
    return this.#activeMs
  }

  get hasAnswered(): boolean {
    return this.#parts.rates.sentCount > 0
  }

  get heldBytes(): number {
    const { window, sender } = this.#parts
    return window.held + sender.unsentBytes + this.#session.headBytes + this.#bufferedBytes
  }

  get isStarved(): boolean {
    return this.#standing.isStarved && !this.#session.over
  }

  get stalledSinceMs(): number {
    return this.#session.over ? Number.POSITIVE_INFINITY : this.#standing.stalledSinceMs
  }

  favour(isFavoured: boolean): void {
    this.#parts.window.favoured = isFavoured
    if (!isFavoured) return
    this.favours++
    this.wake()
  }

  exceeded(bound: Bound): void {
    this.#owner.exceeded(bound)
  }

  giveWay(): void {
    this.#fail(new ConnectionError(ERROR.NO_ERROR, 'another client needed the connection'))
    this.#socket.destroy()
  }

  releaseAll(): void {
    this.#fail(
      new ConnectionError(
        ERROR.ENHANCE_YOUR_CALM,
        'all connections together held too much',
        'buffered_bytes',
      ),
    )
  }

  #fail(error: ConnectionError): void {
    this.#turn(() => {
      throw error
    })
  }

  /** Answers of handlers that ended at the same time go out together. */
  wake(): void {
    this.#owner.schedule.wait(this)
  }

  /** Asks the peer to open no further streams, and closes the connection when the last one has ended. */
  drain(): void {
    if (this.#session.draining !== 'no') return
    this.#turn(() => {
      this.#announcedMs = this.nowMs
      this.#session.announceEnd()
      // Its answer shows that the peer knows, so that no stream is on its way that it expects an answer to.
      this.#parts.sender.control(FRAME.ping, FLAG.none, 0, END_READ)
    })
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /**
   * Looks at everything that depends on time.
   *
   * @param newSecond whether a second has passed since that was last said
   */
  tick(newSecond: boolean): void {
    const { nowMs, limits } = this
    if (newSecond) this.#parts.rates.newSecond()
    if (this.#endedMs > 0) {
      if (nowMs - this.#endedMs >= LINGER_MS) this.#socket.destroy()
      return
    }
    this.holdsMuchSinceMs = muchSinceMs(this, nowMs)
    const { streams, ids, window, sender } = this.#parts
    const reads = sender.unsentBytes === 0 && !this.#session.heldBack
    const heldBytes = window.held + sender.unsentBytes
    const goneBytes = window.released + sender.sentBytes
    this.#standing.tick(nowMs, { starved: window.starved, heldBytes, reads, goneBytes })
    if (streams.size > 0 || ids.last !== this.#lastStream) this.#usedMs = nowMs
    this.#lastStream = ids.last
    if (nowMs - this.#usedMs >= limits.idleMs || nowMs >= this.#endsAtMs) this.drain()
    this.#turn(() => {
      this.#frames.checkTimes(nowMs, limits.requestMs)
      this.#session.checkTimes(nowMs)
      this.#checkReader()
      this.#checkLife()
      // The peer has had the time to learn that the connection ends.
      if (this.#session.draining === 'announced' && nowMs - this.#announcedMs >= LINGER_MS) this.#tellEnd()
    })
  }

  #read(chunk: Buffer): void {
    // Bytes after the end are read and dropped, so that the peer can read why.
    if (this.#session.over) return
    this.#heardMs = this.nowMs
    this.#askedMs = 0
    if (this.#isNext || this.#owner.schedule.admits(this)) {
      this.#isNext = false
      this.#turn(() => this.#frames.read(chunk))
    } else {
      this.#frames.keep(chunk)
      this.#countBuffered()
      this.#wait()
    }
  }

  #countBuffered(bytes = this.#frames.heldBytes + this.#socket.writableLength): void {
    if (bytes === this.#bufferedBytes) return
    this.budget.add(bytes - this.#bufferedBytes)
    this.#bufferedBytes = bytes
  }

  #drained(): void {
    this.#parts.sender.full = false
    this.wake()
  }

  #wait(): void {
    this.#socket.pause()
    // Without room, it goes on when the peer has read something.
    if (!this.#parts.sender.full) this.wake()
  }

  /** Goes on with what is left of an earlier turn, and reads on if nothing is. */
  resume(): boolean {
    const { sender } = this.#parts
    this.#turn(() => {
      if (!sender.full) this.#frames.resume()
    })
    if (this.#frames.paused || this.turn.isBusy || !this.#socket.isPaused()) return false
    this.#isNext = true
    this.#socket.resume()
    return true
  }

  /** Does some work, and then sends what it has brought. */
  #turn(work: () => void): void {
    if (this.#socket.destroyed) return
    const session = this.#session
    session.beginTurn()
    try {
      work()
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error
      session.fail(error)
    } finally {
      this.#finish()
    }
  }

  #finish(): void {
    try {
      this.#session.endTurn()
    } catch (error) {
      // It must not stay in the buffer that all connections share.
      this.#owner.writer.clear()
      this.#socket.destroy()
      throw error
    }
    this.turn.end(this.#frames.paused || this.#session.interrupted)
    this.#countBuffered()
    if (this.#session.over) this.#end()
    else if (this.#frames.paused || this.turn.isBusy) this.#wait()
  }

  /** The last frame was written. */
  #end(): void {
    if (this.#endedMs > 0) return
    this.#endedMs = this.nowMs
    this.#frames.discard()
    this.#socket.end()
    this.#socket.resume()
  }

  #ended(): void {
    const { streams, sender } = this.#parts
    if (streams.size === 0) this.#turn(() => this.#session.abandon())
    else if (this.#session.draining === 'no') this.drain()
    // A client that no longer reads, either, is gone: its machine refuses what is sent.
    else this.#turn(() => sender.control(FRAME.ping, FLAG.none, 0, SIGN_OF_LIFE))
  }

  #tellEnd(): void {
    this.#session.tellLastStream('the connection has reached its age, was idle, or the server stops')
  }

  #pong(payload: Buffer): void {
    if (payload.equals(END_READ) && this.#session.draining === 'announced') this.#tellEnd()
  }

  /** @throws ConnectionError if the peer has left an answer unread for too long */
  #checkReader(): void {
    const { sender } = this.#parts
    const { writableLength } = this.#socket
    const readBytes = sender.writtenBytes - writableLength
    const hasRead = sender.unsentBytes === 0 && writableLength === 0 && !this.#session.heldBack
    if (readBytes !== this.#readBytes || hasRead) {
      this.#readBytes = readBytes
      this.#readMs = this.nowMs
    } else if (this.nowMs - this.#readMs >= this.limits.readerMs)
      throw new ConnectionError(
        ERROR.ENHANCE_YOUR_CALM,
        `an answer was left unread for ${this.limits.readerMs} ms`,
        'reader_time',
      )
  }

  /** Asks a silent peer for a sign of life, and gives up one that gives none. */
  #checkLife(): void {
    const silentMs = this.nowMs - this.#heardMs
    if (silentMs < this.limits.keepaliveMs) return
    if (this.#askedMs === 0) {
      this.#askedMs = this.nowMs
      this.#parts.sender.control(FRAME.ping, FLAG.none, 0, SIGN_OF_LIFE)
    } else if (this.nowMs - this.#askedMs >= this.limits.keepaliveTimeoutMs) this.#socket.destroy()
  }
}
