/** Frames as clients send them, with some of their bytes changed. The same seed makes the same frames. */
import { callOf, END_HEADERS, FRAME, field, frame } from '../http2-frames.ts'

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

export class FrameMutator {
  readonly #random: Random
  readonly #frames: Buffer[]
  #stream = 1

  constructor(seed: number) {
    this.#random = new Random(seed)
    const request = callOf('/')
    const indexed = Buffer.concat([
      Buffer.of(0x82, 0x86, 0x84, 0x40, 1, 0x61, 1, 0x62),
      field('te', 'trailers'),
    ])
    const huffman = Buffer.of(
      0x82,
      0x86,
      0x84,
      0x41,
      0x8c,
      0xf1,
      0xe3,
      0xc2,
      0xe5,
      0xf2,
      0x3a,
      0x6b,
      0xa0,
      0xab,
      0x90,
      0xf4,
      0xff,
    )
    this.#frames = [
      frame(FRAME.headers, { flags: END_HEADERS, stream: 1, payload: request }),
      frame(FRAME.headers, { flags: END_HEADERS | END_STREAM, stream: 1, payload: indexed }),
      frame(FRAME.headers, { flags: END_HEADERS | END_STREAM, stream: 1, payload: huffman }),
      frame(FRAME.headers, { flags: END_STREAM, stream: 1, payload: request.subarray(0, 30) }),
      frame(FRAME.continuation, { flags: END_HEADERS, stream: 1, payload: request.subarray(30) }),
      frame(FRAME.headers, {
        flags: END_HEADERS | 0x28,
        stream: 1,
        payload: Buffer.concat([Buffer.of(1, 0, 0, 0, 0, 16), request, Buffer.of(0)]),
      }),
      frame(FRAME.data, { stream: 1, payload: Buffer.alloc(50) }),
      frame(FRAME.data, { flags: END_STREAM, stream: 1, payload: Buffer.alloc(5) }),
      frame(FRAME.data, { flags: 0x8, stream: 1, payload: Buffer.of(2, 1, 0, 0) }),
      frame(0x2, { stream: 1, payload: Buffer.alloc(5) }),
      frame(FRAME.rstStream, { stream: 1, payload: Buffer.of(0, 0, 0, 8) }),
      frame(FRAME.settings, { payload: Buffer.of(0, 4, 0, 0, 0, 100, 0, 1, 0, 0, 0, 0) }),
      frame(FRAME.ping, { payload: Buffer.alloc(8) }),
      frame(0x7, { payload: Buffer.alloc(8) }),
      frame(0x8, { payload: Buffer.of(0, 0, 1, 0) }),
      frame(0x8, { stream: 1, payload: Buffer.of(0, 0, 1, 0) }),
      frame(0x42, { payload: Buffer.alloc(3) }),
    ]
  }

  /** One frame: a good one half of the time, else with up to three bytes changed, cut off or repeated. */
  next(): Buffer {
    const random = this.#random
    const bytes = Buffer.from(this.#frames[random.next(this.#frames.length)] as Buffer)
    // Streams follow each other, so that many frames are good ones.
    if (bytes.readUInt32BE(5) !== 0) {
      if (bytes.readUInt8(3) === FRAME.headers) this.#stream += 2
      bytes.writeUInt32BE(random.next(20) === 0 ? random.next(50) : this.#stream, 5)
    }
    if (random.next(2) === 0) return bytes
    for (let changes = 1 + random.next(3); changes > 0; changes--)
      bytes[random.next(bytes.length)] =
        random.next(3) === 0
          ? random.next(256)
          : (1 << random.next(8)) ^ (bytes[random.next(bytes.length)] ?? 0)
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
