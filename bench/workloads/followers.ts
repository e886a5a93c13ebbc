/** Followers: streams of `WatchChanges`, many on each connection, as the hosts of a fleet have them. */
import { WatchChangesRequest, WatchChangesResponse } from '../../proto/gen/portcullis/v1/authorization.ts'
import { RepeatedFields } from '../../sidecar/transports/http2/hpack/encoder.ts'
import { FrameConnection } from '../harness/frames.ts'

const PATH = '/portcullis.v1.AuthorizationService/WatchChanges'
const PREFIX_BYTES = 5
const NOTHING = Buffer.alloc(0)

/** A connection has at most this number of streams. */
export const STREAMS_PER_CONNECTION = 100

interface Told {
  readonly position: WatchChangesResponse['position']
  readonly validForMs: number
}

/** One follower: its last notification, and when it came. */
class Follower {
  #partial = NOTHING
  told: Told | undefined
  /** The text that it waits for, and the function to call then. */
  waiting: { readonly text: Buffer; readonly done: () => void } | undefined
  onFirst: (() => void) | undefined
  isOver = false

  /** Parts of messages, as they arrive. */
  data(bytes: Buffer, start: number, end: number): void {
    const part = bytes.subarray(start, end)
    const all = this.#partial.length === 0 ? part : Buffer.concat([this.#partial, part])
    let at = 0
    while (all.length - at >= PREFIX_BYTES) {
      const next = at + PREFIX_BYTES + all.readUInt32BE(at + 1)
      if (next > all.length) break
      this.#take(all.subarray(at + PREFIX_BYTES, next))
      at = next
    }
    this.#partial = at === all.length ? NOTHING : Buffer.from(all.subarray(at))
  }

  #take(message: Buffer): void {
    const { waiting, onFirst } = this
    if (onFirst !== undefined) {
      const { position, validFor } = WatchChangesResponse.decode(message)
      const validForMs = (validFor?.seconds ?? 0) * 1_000 + (validFor?.nanos ?? 0) / 1e6
      this.told = { position, validForMs }
      this.onFirst = undefined
      onFirst()
    }
    if (waiting === undefined || !message.includes(waiting.text)) return
    this.waiting = undefined
    waiting.done()
  }
}

/** Followers of one sidecar. */
export class Followers {
  readonly #address: string
  readonly #fields: RepeatedFields
  readonly #connections: FrameConnection[] = []
  readonly #all: Follower[] = []

  /** @param callerToken of a caller with the right to follow */
  constructor(address: string, callerToken: string) {
    this.#address = address
    this.#fields = new RepeatedFields(
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', PATH],
      [':authority', address],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['authorization', `Bearer ${callerToken}`],
    )
  }

  get size(): number {
    return this.#all.length
  }

  /** Opens several. Resolves when each has its first response. @param told the position that they know */
  async open(count: number, told?: Told): Promise<void> {
    const request = Buffer.from(WatchChangesRequest.encode({ accounts: [], after: told?.position }).finish())
    const framed = Buffer.alloc(PREFIX_BYTES + request.length)
    framed.writeUInt32BE(request.length, 1)
    request.copy(framed, PREFIX_BYTES)
    for (let left = count; left > 0; left -= STREAMS_PER_CONNECTION) {
      const connection = await FrameConnection.open(this.#address)
      connection.onFailure = () => {}
      this.#connections.push(connection)
      const followers = Array.from({ length: Math.min(left, STREAMS_PER_CONNECTION) }, () => new Follower())
      this.#all.push(...followers)
      const { promise, resolve } = Promise.withResolvers<void>()
      let silent = followers.length
      connection.turn(() => {
        for (const follower of followers) {
          follower.onFirst = () => {
            if (--silent === 0) resolve()
          }
          const stream = connection.begin(this.#fields, {
            data: (bytes, start, end) => follower.data(bytes, start, end),
            ended: () => {
              follower.isOver = true
            },
          })
          connection.send(stream, framed, true)
        }
      })
      await promise
    }
  }

  /** The position that the first one knows. */
  get told(): Told | undefined {
    return this.#all[0]?.told
  }

  get isOver(): boolean {
    return this.#all.some(({ isOver }) => isOver)
  }

  /**
   * Resolves when each has been notified of a change, with the times of it, in milliseconds of
   * `performance.now()`.
   *
   * @param text that a response has then: an id
   */
  async hear(text: string): Promise<number[]> {
    const bytes = Buffer.from(text)
    const times: number[] = []
    await new Promise<void>((resolve) => {
      for (const follower of this.#all)
        follower.waiting = {
          text: bytes,
          done: () => {
            if (times.push(performance.now()) === this.#all.length) resolve()
          },
        }
    })
    return times
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }
}
