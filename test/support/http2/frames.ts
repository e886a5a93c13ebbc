/** HTTP/2 frames by hand (RFC 9113): what no client library would send. */

/** Types of frames, by their numbers (§6). */
export const FRAME = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  rstStream: 0x3,
  settings: 0x4,
  ping: 0x6,
  goAway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
} as const

/** Flags (§6): the same bit means another thing in another frame. */
export const ACK = 0x1
export const END_STREAM = 0x1
export const END_HEADERS = 0x4
export const PADDED = 0x8

/** The length of what precedes a payload (§4.1). */
const HEADER_BYTES = 9

/** A client's first bytes (§3.4), with settings that change nothing. */
export const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(FRAME.settings)])

export interface FrameFields {
  readonly flags?: number
  readonly stream?: number
  readonly payload?: Buffer
}

export function frame(
  type: number,
  { flags = 0, stream = 0, payload = Buffer.alloc(0) }: FrameFields = {},
): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUIntBE(payload.length, 0, 3)
  header.writeUInt8(type, 3)
  header.writeUInt8(flags, 4)
  header.writeUInt32BE(stream, 5)
  return Buffer.concat([header, payload])
}

/**
 * A field of a header block that is written out and never indexed (RFC 7541, §6.2.2), of at most 126 bytes a
 * part.
 */
export function field(name: string, value: string): Buffer {
  const parts = [name, value].map((text) =>
    Buffer.concat([Buffer.of(Buffer.byteLength(text)), Buffer.from(text)]),
  )
  return Buffer.concat([Buffer.of(0), ...parts])
}

/** The header block of a gRPC call. */
export function callOf(path: string): Buffer {
  return Buffer.concat([
    field(':method', 'POST'),
    field(':scheme', 'http'),
    field(':path', path),
    field(':authority', 'localhost'),
    field('content-type', 'application/grpc'),
    field('te', 'trailers'),
  ])
}

/** RST_STREAM by a client that needs no answer (§7). */
export function cancel(stream: number): Buffer {
  return frame(FRAME.rstStream, { stream, payload: uint32(0x8) })
}

/** A call that goes on, one that is whole, and one that is cancelled at once. */
export function open(stream: number, payload: Buffer = callOf('/')): Buffer {
  return frame(FRAME.headers, { flags: END_HEADERS, stream, payload })
}

export function whole(stream: number, payload: Buffer = callOf('/')): Buffer {
  return frame(FRAME.headers, { flags: END_HEADERS | END_STREAM, stream, payload })
}

export function cancelled(stream: number): Buffer {
  return Buffer.concat([open(stream), cancel(stream)])
}

/** So many of them, one after the other. */
export function many(count: number, made: (index: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => made(index)))
}

/** A message of gRPC with its prefix. */
export function messageFrame(message: Uint8Array, compressed = 0): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt8(compressed)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

/** A number of four bytes: of WINDOW_UPDATE, of RST_STREAM. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Settings by their numbers (§6.5.2). */
export function settingsOf(settings: Readonly<Record<number, number>>): Buffer {
  return Buffer.concat(
    Object.entries(settings).map(([id, value]) => Buffer.concat([Buffer.of(0, Number(id)), uint32(value)])),
  )
}

/** Reads frames from bytes as they arrive, cut anywhere. */
export function frameReader(seen: (frame: Buffer) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= HEADER_BYTES && rest.length >= HEADER_BYTES + rest.readUIntBE(0, 3)) {
      const length = HEADER_BYTES + rest.readUIntBE(0, 3)
      seen(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
  }
}
