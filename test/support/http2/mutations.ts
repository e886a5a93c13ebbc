/** Frames as clients send them, with some of their bytes changed. The same seed makes the same frames. */
import { gzipSync } from 'node:zlib'
import { callOf, END_HEADERS, FRAME, field, frame } from './frames.ts'

const END_STREAM = 0x1

/** A generator of pseudo-random numbers (xorshift): quick, and always the same. */
class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed * 2_654_435_761 || 1
  }

  /** From 0 to `below` - 1. */
  next(below: number): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) % below
  }
}

/** Frames that belong together, and how many they are. Their stream is 1. */
interface Talk {
  readonly bytes: Buffer
  readonly frames: number
}

function talk(...frames: Buffer[]): Talk {
  return { bytes: Buffer.concat(frames), frames: frames.length }
}

export class FrameMutator {
  readonly #random: Random
  readonly #talks = allTalks()
  #stream = -1
  /** How many frames were made. */
  frames = 0

  constructor(seed: number) {
    this.#random = new Random(seed)
  }

  /** The next connection begins with stream 1. */
  begin(): void {
    this.#stream = -1
  }

  /** Some frames: most often good ones, else with up to three bytes changed, cut off or repeated. */
  next(): Buffer {
    const random = this.#random
    const { bytes: original, frames } = this.#talks[random.next(this.#talks.length)] as Talk
    this.frames += frames
    this.#stream += 2
    const bytes = onStream(original, this.#stream)
    if (random.next(8) !== 0) return bytes
    for (let changes = 1 + random.next(3); changes > 0; changes--) {
      const at = random.next(bytes.length)
      bytes[at] = random.next(3) === 0 ? random.next(256) : bytes.readUInt8(at) ^ (1 << random.next(8))
    }
    switch (random.next(10)) {
      case 0:
        return bytes.subarray(0, random.next(bytes.length))
      case 1:
        return Buffer.concat([bytes, bytes])
      default:
        return bytes
    }
  }
}

/** The same frames, on another stream. */
function onStream(frames: Buffer, stream: number): Buffer {
  const bytes = Buffer.from(frames)
  for (let at = 0; at < bytes.length; at += HEADER_BYTES + bytes.readUIntBE(at, 3))
    if (bytes.readUInt32BE(at + 5) !== 0) bytes.writeUInt32BE(stream, at + 5)
  return bytes
}

const HEADER_BYTES = 9

/** Every talk that is changed, as bytes. */
export function talks(): Buffer[] {
  return allTalks().map(({ bytes }) => bytes)
}

function allTalks(): Talk[] {
  const request = callOf('/')
  const indexed = Buffer.concat([
    Buffer.of(0x82, 0x86, 0x84, 0x40, 1, 0x61, 1, 0x62),
    field('te', 'trailers'),
  ])
  const huffman = Buffer.from('828684418cf1e3c2e5f23a6ba0ab90f4ff', 'hex')
  const open = frame(FRAME.headers, { flags: END_HEADERS, stream: 1, payload: request })
  const end = frame(FRAME.data, { flags: END_STREAM, stream: 1 })
  const whole = (payload: Buffer) =>
    frame(FRAME.headers, { flags: END_HEADERS | END_STREAM, stream: 1, payload })
  const call = (path: string, more: Buffer = Buffer.alloc(0)) =>
    frame(FRAME.headers, { flags: END_HEADERS, stream: 1, payload: Buffer.concat([callOf(path), more]) })
  const message = frame(FRAME.data, { stream: 1, payload: Buffer.of(0, 0, 0, 0, 3, 1, 2, 3) })
  const compressed = gzipSync('compressed')
  const gzipped = Buffer.concat([Buffer.of(1, 0, 0, 0, compressed.length), compressed])
  const padded = Buffer.concat([Buffer.of(1, 0, 0, 0, 0, 16), request, Buffer.of(0)])
  const reset = frame(FRAME.rstStream, { stream: 1, payload: Buffer.of(0, 0, 0, 8) })
  const widen = (stream: number) => frame(0x8, { stream, payload: Buffer.of(0, 0, 16, 0) })
  return [
    talk(open, end),
    talk(whole(indexed)),
    talk(whole(huffman)),
    talk(
      frame(FRAME.headers, { flags: END_STREAM, stream: 1, payload: request.subarray(0, 30) }),
      frame(FRAME.continuation, { flags: END_HEADERS, stream: 1, payload: request.subarray(30) }),
    ),
    talk(frame(FRAME.headers, { flags: END_HEADERS | 0x28, stream: 1, payload: padded }), end),
    talk(open, frame(FRAME.data, { stream: 1, payload: Buffer.alloc(50) }), end),
    talk(open, frame(FRAME.data, { flags: 0x8, stream: 1, payload: Buffer.of(2, 1, 0, 0) }), end),
    talk(open, frame(0x2, { stream: 1, payload: Buffer.alloc(5) }), end),
    talk(open, reset),
    ...['/unary', '/later', '/fails', '/stream', '/bidi'].map((path) => talk(call(path), message, end)),
    talk(call('/bidi'), message, message, end),
    talk(call('/unary', field('grpc-timeout', '10m')), message),
    talk(
      call('/unary', field('grpc-encoding', 'gzip')),
      frame(FRAME.data, { stream: 1, payload: gzipped }),
      end,
    ),
    talk(open, widen(1), end, widen(0)),
    talk(frame(FRAME.settings, { payload: Buffer.of(0, 4, 0, 0, 16, 0, 0, 1, 0, 0, 0, 0) })),
    talk(frame(FRAME.ping, { payload: Buffer.alloc(8) }), widen(0)),
    talk(frame(0x7, { payload: Buffer.alloc(8) })),
    talk(frame(0x42, { payload: Buffer.alloc(3) })),
  ]
}
