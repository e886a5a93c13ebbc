/**
 * A client that heeds the windows of the server (RFC 9113, §6.9): it sends bodies in equal shares, as fast as
 * the windows let it.
 */
import type { Application } from '../../../sidecar/transports/http2/application.ts'
import { constant } from './constant.ts'
import { FRAME, frame, open, PREFACE } from './frames.ts'
import { described, type TestPeer, type TestServer } from './peer.ts'

const ACK = frame(FRAME.settings, { flags: 0x1 })
const END_STREAM = 0x1
const INITIAL_WINDOW = 4
const FRAME_BYTES = 16_384

/**
 * Answers each request when all of its body is there, and keeps it until then.
 *
 * @param bytes how long bodies are
 */
export function collecting(bytes: number): Application<undefined> {
  const answers = constant(Buffer.from('hello'))
  return {
    ...answers,
    data: (stream, ...lent) => {
      if (stream.remoteEnded) answers.data(stream, ...lent)
      else stream.expect(bytes - stream.unreleased)
    },
  }
}

export class PoliteClient {
  readonly peer: TestPeer
  /** How each stream has ended, and whatever else the server has said about errors. */
  readonly heard: string[] = []
  readonly #left = new Map<number, number>()
  readonly #windows = new Map<number, number>()
  #initial = 65_535
  #window = 65_535
  #next = 1

  constructor(server: TestServer<undefined>) {
    this.peer = server.connect().send(PREFACE)
    this.#listen()
  }

  /** Begins this many requests at once. */
  request(count: number, bytes: number): void {
    for (let index = 0; index < count; index++, this.#next += 2) {
      this.#left.set(this.#next, bytes)
      this.#windows.set(this.#next, this.#initial)
      this.peer.send(open(this.#next))
    }
  }

  /** Sends a frame of each request, as far as it may. @returns whether it has sent anything */
  send(): boolean {
    this.#listen()
    return [...this.#left].filter(([stream, left]) => this.#send(stream, left)).length > 0
  }

  get answered(): number {
    return this.heard.filter((each) => each.endsWith('END_STREAM')).length
  }

  get errors(): readonly string[] {
    return this.heard.filter((each) => !each.endsWith('END_STREAM'))
  }

  /** @returns whether some of it may be sent */
  #send(stream: number, left: number): boolean {
    const window = this.#windows.get(stream) ?? 0
    const bytes = Math.min(left, this.#window, window, FRAME_BYTES)
    // As nghttp2 does: without a window it does not say that a request ends, either.
    if (this.#window <= 0 || window <= 0) return false
    this.#window -= bytes
    this.#windows.set(stream, window - bytes)
    if (left === 0) this.#left.delete(stream)
    else this.#left.set(stream, left - bytes)
    const flags = left === 0 ? END_STREAM : 0
    this.peer.send(frame(FRAME.data, { flags, stream, payload: Buffer.alloc(bytes) }))
    this.#listen()
    return true
  }

  #listen(): void {
    for (const received of this.peer.received()) {
      const { type, flags, stream, payload } = received
      const isSettings = type === FRAME.settings && (flags & 0x1) === 0
      if (isSettings) this.#settings(payload)
      else if (type === FRAME.windowUpdate && stream === 0) this.#window += payload.readUInt32BE(0)
      else if (type === FRAME.windowUpdate)
        this.#windows.set(stream, (this.#windows.get(stream) ?? 0) + payload.readUInt32BE(0))
      else if (/END_STREAM|RST_STREAM|GOAWAY/.test(described(received))) this.heard.push(described(received))
    }
    this.peer.forget()
  }

  #settings(payload: Buffer): void {
    for (let at = 0; at < payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== INITIAL_WINDOW) continue
      const change = payload.readUInt32BE(at + 2) - this.#initial
      this.#initial += change
      for (const [stream, window] of this.#windows) this.#windows.set(stream, window + change)
    }
    this.peer.send(ACK)
  }
}
